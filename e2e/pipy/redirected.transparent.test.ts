import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import type { InsideAnswer, Question } from '../dataplane/support/inside.js'
import { kernelTestObstacle } from '../dataplane/support/kernel.js'
import { principalOf, SERVICE } from './support/base-config.js'
import { EXCLUDED, type Place, NetnsTopology } from './support/netns-topology.js'

const cut: InsideAnswer = { error: expect.stringMatching(/^(closed|ECONNRESET)$/) as unknown as string }

describe('real sidecars whose connections are redirected to them', () => {
  let topology: NetnsTopology

  const http = (dial: string, host: string, extra: { port?: number; path?: string } = {}): Question => ({
    kind: 'http',
    dial,
    port: 80,
    host,
    ...extra,
  })
  const tls = (dial: Place, host: string): Question => ({
    kind: 'https',
    dial: topology.address(dial),
    port: 443,
    host,
  })
  const tcp = (dial: string, port = 9000, say?: string): Question => ({
    kind: 'tcp',
    dial,
    port,
    ...(say === undefined ? {} : { say }),
  })
  const books = (path = '/books/1'): Question => http(topology.vip, 'server.demo', { port: 8080, path })

  const meshUpstream = (port: number): PipyConfig['upstreams'][string] => ({
    http2: false,
    addresses: { kind: 'endpoints', priorities: [[{ address: `${topology.address('server')}:${port}`, weight: 1 }]] },
    tls: { serverName: SERVICE, principals: [principalOf('server')] },
    connectTimeoutMs: 2_000,
    balancing: 'round-robin',
  })
  const clientConfig = (extra: Partial<PipyConfig> = {}): Partial<PipyConfig> => ({
    called: [
      {
        id: 'demo/server|8080',
        port: 8080,
        addresses: [`${topology.vip}:8080`],
        hosts: ['server', 'server.demo'],
        routes: [{ match: {}, shares: [{ upstream: 'http', weight: 1 }] }],
      },
      {
        id: 'demo/server|9000',
        port: 9000,
        addresses: [`${topology.vip}:9000`],
        hosts: ['server.demo'],
        shares: [{ upstream: 'tcp', weight: 1 }],
      },
    ],
    ...extra,
    upstreams: { http: meshUpstream(8080), tcp: meshUpstream(9000), ...extra.upstreams },
  })
  const serverConfig = (extra: Partial<PipyConfig> = {}, callers = 'client'): Partial<PipyConfig> => ({
    served: [
      {
        id: 'demo/server|8080',
        port: 8080,
        serverNames: [SERVICE],
        local: '127.0.0.1:8080',
        protocol: 'http',
        rules: { kind: 'http', allow: [{ match: { path: { prefix: '/books' } }, callers }], limits: [] },
      },
      {
        id: 'demo/server|9000',
        port: 9000,
        serverNames: [SERVICE],
        local: '127.0.0.1:9000',
        protocol: 'tcp',
        rules: { kind: 'tcp', callers },
      },
    ],
    ...extra,
  })

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    topology = await NetnsTopology.open()
    await topology.give('client', clientConfig())
    await topology.give('other', clientConfig())
    await topology.give('server', serverConfig())
  })
  afterAll(async () => {
    await topology.stop()
  })

  // The first test: Pipy itself does not know where the first connection of a listener was to go.
  it('take the very first connection to where it was to go', async () => {
    expect(await topology.ask('client', books())).toEqual({ status: 200, server: 'server' })
  })

  it('take a request to the service that was dialled, whatever host it names', async () => {
    for (const host of [`${topology.vip}:8080`, 'www.example.com', 'localhost:18080'])
      expect(
        await topology.ask('client', { kind: 'http', dial: topology.vip, port: 8080, host, path: '/books' }),
      ).toMatchObject({
        status: 200,
      })
  })

  it('know callers by their certificates, by HTTP and by TCP', async () => {
    expect(await topology.ask('client', books('/admin'))).toEqual({ status: 403 })
    expect(await topology.ask('other', books())).toEqual({ status: 403 })
    expect(await topology.ask('client', tcp(topology.vip))).toEqual({ line: '220 server' })
    expect(await topology.ask('other', tcp(topology.vip))).toEqual(cut)
  })

  it('take no plain text for a port that wants mutual TLS, nor for one that is not served', async () => {
    const server = topology.address('server')
    expect(await topology.ask('good', http(server, 'server.demo', { port: 8080, path: '/books/1' }))).toEqual(cut)
    expect(await topology.ask('good', tcp(server, 9000, 'hello'))).toEqual(cut)
    expect(await topology.ask('good', tcp(server, 4711, 'hello'))).toEqual(cut)
  })

  it('leave alone what is excluded, in both directions', async () => {
    const aside = http(topology.address('server'), 'x', { port: EXCLUDED.inbound })
    expect(await topology.ask('good', aside)).toEqual({ status: 200, server: 'server' })
    const away = http(topology.address('evil'), 'x', { port: EXCLUDED.outbound })
    expect(await topology.ask('client', away)).toEqual({ status: 200, server: 'evil' })
  })

  it('let nothing out that nothing names while egress is closed', async () => {
    expect(await topology.ask('client', tcp(topology.address('good')))).toEqual(cut)
    expect(await topology.ask('client', tls('good', 'good.outside'))).toEqual(cut)
    // A service is reached by its own address only, not past its name by that of a pod.
    expect(await topology.ask('client', http(topology.address('server'), 'server.demo', { port: 8080 }))).toEqual(cut)
  })

  it('let everything out where egress is open, to where it was to go', async () => {
    await topology.give('client', clientConfig({ egress: true }))
    expect(await topology.ask('client', tcp(topology.address('good')))).toEqual({ line: '220 good' })
    expect(await topology.ask('client', http(topology.address('evil'), 'good.outside'))).toEqual({
      status: 200,
      server: 'evil',
    })
    expect(await topology.ask('client', tls('evil', 'good.outside'))).toEqual({ status: 200, server: 'evil' })
    expect(await topology.ask('client', books())).toEqual({ status: 200, server: 'server' })
  })

  it('let everybody of the mesh in where the rules say so', async () => {
    const everybody = { callers: { mesh: { domain: 'cluster.local' } } }
    await topology.give('server', serverConfig(everybody, 'mesh'))
    expect(await topology.ask('other', books())).toEqual({ status: 200, server: 'server' })
    expect(await topology.ask('other', tcp(topology.vip))).toEqual({ line: '220 server' })
    const stranger = http(topology.address('server'), 'server.demo', { port: 8080, path: '/books/1' })
    expect(await topology.ask('good', stranger)).toEqual(cut)
    await topology.give('server', serverConfig())
    expect(await topology.ask('other', books())).toEqual({ status: 403 })
  })

  describe('with rules for destinations outside', () => {
    const upstream = (addresses: PipyConfig['upstreams'][string]['addresses']): PipyConfig['upstreams'][string] => ({
      http2: false,
      addresses,
      connectTimeoutMs: 1_000,
      balancing: 'round-robin',
    })
    const to = (name: string) => [{ upstream: name, weight: 1 }]

    beforeAll(async () => {
      await topology.give(
        'client',
        clientConfig({
          outside: [
            {
              id: 'hosts',
              port: 80,
              protocol: 'http',
              hosts: ['good.outside', '*.far.outside'],
              cidrs: [],
              routes: [{ match: { path: { prefix: '/read' } }, shares: to('web') }],
            },
            { id: 'names', port: 443, protocol: 'https', hosts: ['secure.outside'], cidrs: [], shares: to('secure') },
            {
              id: 'ranges',
              port: 9000,
              protocol: 'tcp',
              hosts: [],
              cidrs: [`${topology.address('good')}/32`],
              shares: to('range'),
            },
          ],
          upstreams: {
            web: upstream({ kind: 'named', port: 80 }),
            secure: upstream({ kind: 'named', port: 443 }),
            range: upstream({ kind: 'dialled' }),
          },
        }),
      )
    })

    it.each(['good.outside', 'good.outside:80'])(
      'take a request for %s there, wherever it was dialled to',
      async (host) => {
        for (const dial of ['good', 'evil'] as const)
          expect(await topology.ask('client', http(topology.address(dial), host, { path: '/read' }))).toEqual({
            status: 200,
            server: 'good',
          })
      },
    )

    it.each([
      ['evil.outside', '/read'],
      ['good.outside:443', '/read'],
      ['good.outside', '/write'],
      ['127.0.0.1:15000', '/ready'],
    ])('answer 404 to a request for %s%s', async (host, path) => {
      expect(await topology.ask('client', http(topology.address('good'), host, { path }))).toEqual({ status: 404 })
    })

    it('take TLS to the server that its name is of, and end it with any other name', async () => {
      for (const dial of ['good', 'evil'] as const) {
        expect(await topology.ask('client', tls(dial, 'secure.outside'))).toEqual({ status: 200, server: 'good' })
        expect(await topology.ask('client', tls(dial, 'other.outside'))).toEqual(cut)
      }
    })

    it('open a range of addresses to those whom the rule is for, and let the server speak first', async () => {
      expect(await topology.ask('client', tcp(topology.address('good')))).toEqual({ line: '220 good' })
      expect(await topology.ask('client', tcp(topology.address('evil')))).toEqual(cut)
      expect(await topology.ask('other', tcp(topology.address('good')))).toEqual(cut)
    })
  })

  it('never call themselves', async () => {
    await topology.give('client', clientConfig({ egress: true }))
    const before = topology.opened('client')
    for (const dial of ['127.0.0.1', topology.address('client')])
      for (const port of [15_001, 15_003]) {
        expect(await topology.ask('client', tcp(dial, port, 'hello'))).toEqual(cut)
        expect(await topology.ask('client', http(dial, `${dial}:${port}`, { port }))).toEqual(cut)
      }
    expect(await topology.ask('client', books())).toEqual({ status: 200, server: 'server' })
    // One of the program, and perhaps one of the sidecar, for each question.
    expect(topology.opened('client') - before).toBeLessThan(30)
  })
})
