import { once } from 'node:events'
import { request } from 'node:http'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger, LoopWatch, Metrics } from '@osm-ts/core'
import { debugLimits, listen } from '@osm-ts/program'
import { OsmError } from '@osm-ts/driver-api'
import type { FastifyInstance } from 'fastify'

import { debugPages, type DebugSources } from './debug-pages.js'
import { debugServer } from './debug-server.js'

const metrics = new Metrics()
const logger = createLogger('test', 'disabled', { write: () => undefined })

describe('the debug server', () => {
  let server: FastifyInstance
  let port: number

  beforeAll(async () => {
    const page = async () => ({ status: 200, contentType: 'text/plain', body: 'secret\n' })
    const script = async () => ({ status: 200, contentType: 'text/html', body: '<script>alert(1)</script>' })
    const early = async () => ({ status: 101, contentType: 'text/plain', body: '' })
    const pages = new Map([
      ['/debug/page', page],
      ['/debug/script', script],
      ['/debug/early', early],
    ])
    const loop = new LoopWatch({ metrics, logger })
    server = debugServer(() => pages, loop, ['osm-controller.osm-system.svc'])
    port = await listen(server, { host: '0.0.0.0', port: 0 }, { name: 'debug', limits: debugLimits, metrics, logger })
  })
  afterAll(() => server.close())

  async function statusFor(host: string): Promise<number | undefined> {
    const asking = request({ host: '127.0.0.1', port, path: '/debug/page', headers: { host }, agent: false }).end()
    const [response] = (await once(asking, 'response')) as [{ readonly statusCode?: number; resume(): void }]
    response.resume()
    return response.statusCode
  }

  it.each([
    'localhost',
    'LOCALHOST:9092',
    '127.0.0.1:9092',
    '127.8.9.10',
    '[::1]:9092',
    'osm-controller.osm-system.svc:9092',
  ])('answers requests for %s', async (host) => {
    expect(await statusFor(host)).toBe(200)
  })

  it.each([
    'attacker.example',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example:9092',
    '10.1.2.3:9092',
    'osm-controller.osm-system.svc.attacker.example',
    '[::2]',
    'user@localhost',
  ])('refuses requests for "%s", which a page of another server may have a browser send', async (host) => {
    expect(await statusFor(host)).toBe(421)
  })

  it('has browsers run no script of a page, whatever its type', async () => {
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/debug/script`)
    expect(status).toBe(200)
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none';.* sandbox$/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('answers in place of a page whose status announces another answer', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/debug/early`, { signal: AbortSignal.timeout(5_000) })
    expect(answer.status).toBe(502)
  })
})

describe('the debug pages', () => {
  it('are those of the controller where a driver has one of the same path', async () => {
    const foreign = async () => ({ status: 200, contentType: 'text/plain', body: 'forged' })
    const host = {
      debugHandlers: new Map([
        ['/debug/drivers', foreign],
        ['/debug/toy', foreign],
      ]),
    }
    // Nothing else is read for these two pages.
    const pages = debugPages({ host, drivers: () => [] } as unknown as DebugSources)
    const bodyOf = async (path: string) => (await pages.get(path)?.({ path, query: {} }))?.body
    expect(await bodyOf('/debug/drivers')).toBe('{"drivers":[]}\n')
    expect(await bodyOf('/debug/toy')).toBe('forged')
  })

  const proxy = { commonName: 'gone', state: 'participant' }
  /** Takes longer than a turn may. */
  function* slowly<T>(result: T) {
    for (let at = 0; at < 5; at += 1) {
      const until = performance.now() + 15
      while (performance.now() < until);
      yield
    }
    return result
  }
  const catalog = {
    participationInSteps: () => slowly({ proxies: [proxy], endpointsWithoutProxy: [] }),
    listParticipants: () => [proxy],
    getServicesFromProxyCertificate: () => {
      throw new OsmError('OSM_PROXY_UNKNOWN', 'the workload has ended meanwhile')
    },
    listEndpoints: () => slowly({ endpoints: [], changed: true }),
  }
  const issued = Array.from({ length: 200 }, (_, at) => ({
    kind: 'service',
    issuingCA: { chain: 'root' },
    toJSON: () => {
      const until = performance.now() + 0.5
      while (performance.now() < until);
      return { commonName: `a${at}` }
    },
  }))
  const certificates = {
    listCertificates: () => issued,
    getRootCertificate: () => ({ chain: 'root' }),
    trustBundle: () => [],
  }
  const others = {
    certificates,
    provider: { name: 'file', faults: () => [] },
    workloadApiRoots: () => [],
    rotation: undefined,
  }
  const host = { debugHandlers: new Map(), reportInSteps: () => slowly({ proxies: [], refused: [] }) }

  it.each([
    [
      '/debug/participants',
      {
        proxies: [{ ...proxy, memberOf: [] }],
        endpointsWithoutProxy: [],
        summary: { expected: 1, participants: 1, endpointsWithoutProxy: 0 },
      },
    ],
    ['/debug/status', expect.objectContaining({ proxies: [], refused: [], settled: true })],
    ['/debug/endpoints', { endpoints: [], changed: true }],
    ['/debug/certs', expect.objectContaining({ certificates: issued.map((_, at) => ({ commonName: `a${at}` })) })],
  ])('lets others have their turn while %s is made of a large mesh', async (path, page) => {
    let turns = 0
    const { signal } = new AbortController()
    // Nothing else is read for these pages.
    const pages = debugPages({ ...others, host, catalog, signal, settled: () => true } as unknown as DebugSources)
    const counting = setInterval(() => (turns += 1), 1)
    const answer = await pages.get(path)?.({ path, query: { account: 'shop/buyer' } })
    clearInterval(counting)
    expect(turns).toBeGreaterThanOrEqual(4)
    expect(JSON.parse(answer?.body ?? '')).toEqual(page)
  })
})
