import { once } from 'node:events'
import { request } from 'node:http'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger, LoopWatch, Metrics } from '@osm-ts/core'
import { debugLimits, listen } from '@osm-ts/program'
import type { FastifyInstance } from 'fastify'

import { debugServer } from './debug-server.js'

const metrics = new Metrics()
const logger = createLogger('test', 'disabled', { write: () => undefined })

describe('the debug server', () => {
  let server: FastifyInstance
  let port: number

  beforeAll(async () => {
    const page = async () => ({ status: 200, contentType: 'text/plain', body: 'secret\n' })
    const loop = new LoopWatch({ metrics, logger })
    server = debugServer(() => new Map([['/debug/page', page]]), loop, ['osm-controller.osm-system.svc'])
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
})
