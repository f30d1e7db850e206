import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

const PORT = 8080
const WS = 8081
/** Ports of a server that refuses streams: one that is declared as HTTP/2, and one as HTTP. */
const REFUSING = { 'kubernetes.io/h2c': 8082, http: 8083 } as const
const app = (name: string): string => fileURLToPath(new URL(`./support/apps/${name}.mjs`, import.meta.url))
const mode = (isPermissive: boolean): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isPermissive, enableEgress: false } })
const head = (...lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`
const request = (line: string, ...fields: readonly string[]): string => head(line, 'Host: web.shop', ...fields)

// What real programs send and the clients of the corpus do not. Servers answer with the request as they have seen it.
describe('HTTP that a mesh has no reason to refuse', () => {
  let mesh: TestMesh
  let namespace: string

  const inClient = (script: string, argument: string): string =>
    run('ip', ['netns', 'exec', namespace, process.execPath, app(script), argument])
  /** What returns until it has `until`. */
  const heard = (until: string, ...say: readonly string[]): string =>
    inClient('raw-client', JSON.stringify({ host: 'web.shop', port: PORT, say, until })).toLowerCase()

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [mode(true)],
        'shop.yaml': [
          ...['client', 'web', 'socket', 'refusing'].map((name) => account(`shop/${name}`)),
          workload('shop/client', { program: programs.idle }),
          workload('shop/web', { program: app('raw-http-server'), port: PORT, env: { PORT: String(PORT) } }),
          service('shop/web', 'web', PORT, { protocol: 'http' }),
          workload('shop/socket', { program: app('http2-websocket-server'), port: WS, env: { PORT: String(WS) } }),
          service('shop/socket', 'socket', WS, { protocol: 'kubernetes.io/h2c' }),
          ...Object.entries(REFUSING).flatMap(([protocol, port]) => [
            workload(`shop/refusing-${port}`, {
              account: 'refusing',
              program: app('http2-refusing-server'),
              port,
              env: { PORT: String(port) },
            }),
            service(`shop/refusing-${port}`, `refusing-${port}`, port, { protocol }),
          ]),
        ],
        'policy.yaml': [
          routeGroup('shop/routes', [{ name: 'get', methods: ['GET'] }]),
          trafficTarget('shop/web', {
            to: 'shop/web',
            from: ['shop/client'],
            rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['get'] }],
          }),
        ],
      },
      { mode: 'transparent' },
    )
    namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
    await eventually(
      () => Promise.resolve(heard('web.shop', request('GET / HTTP/1.1'))),
      (answer) => answer.startsWith('http/1.1 200'),
      { what: 'an answer' },
    )
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('passes early hints on before the answer', () => {
    const answer = heard('GET /hints', request('GET /hints HTTP/1.1'))
    expect(answer).toMatch(/^http\/1\.1 103 [^]*link: <\/style\.css>; rel=preload[^]*http\/1\.1 200 ok/)
  })

  it('passes the first of several informational answers on, and the answer', () => {
    const answer = heard('GET /progress', request('GET /progress HTTP/1.1'))
    expect(answer).toMatch(/^http\/1\.1 102 [^]*step: 1\r\n[^]*http\/1\.1 200 ok/)
    expect(answer).not.toContain('step: 2')
  })

  it('answers requests that change nothing although the server ends connections without saying so', () => {
    const many = Array.from({ length: 150 }, (_, index) =>
      request(`${index % 2 === 0 ? 'GET' : 'OPTIONS'} /once HTTP/1.1`),
    )
    const answers = heard('get /last', ...many, request('GET /last HTTP/1.1'))
    expect(answers).not.toContain('503')
    expect(answers.split('http/1.1 200 ok')).toHaveLength(many.length + 2)
  })

  it.each([
    ['of gRPC', 'http', 'application/grpc'],
    ['of gRPC', 'kubernetes.io/h2c', 'application/grpc'],
    ['of HTTP/2', 'kubernetes.io/h2c', 'text/plain'],
  ] as const)(
    'repeats a request %s that the server refused, on a port of protocol %s',
    (_what, protocol, contentType) => {
      const port = REFUSING[protocol]
      const requests = { url: `http://refusing-${port}.shop:${port}/`, count: 60, contentType, size: 20_000 }
      expect(JSON.parse(inClient('http2-posts-client', JSON.stringify(requests)))).toEqual({ '200 20000': 60 })
    },
  )

  it('forwards a response that arrives before the request body, and announces the end of the connection', () => {
    const answer = heard(
      'before the body',
      request('POST /early HTTP/1.1', 'Content-Length: 1000000'),
      'x'.repeat(1000),
    )
    expect(answer).toMatch(/^http\/1\.1 200 ok/)
    expect(answer).toContain('connection: close')
  })

  it('leaves the answer to "Expect: 100-continue" to the server', () => {
    const fields = ['Expect: 100-continue', 'Content-Length: 4']
    const accepted = heard('\r\n\r\nbody', request('PUT /take HTTP/1.1', ...fields), 'body')
    expect(accepted).toMatch(/^http\/1\.1 100 continue\r\n\r\nhttp\/1\.1 200 ok/)
    expect(accepted).toContain('expect: 100-continue')
    expect(heard('\r\n\r\n', request('PUT /refuse HTTP/1.1', ...fields))).toMatch(/^http\/1\.1 417 /)
  })

  it.each(['BAN', 'FOO', 'VERSION-CONTROL', 'QUERY', 'PROPFIND'])('passes the method %s on', (method) => {
    // Servers refuse a QUERY that does not say what it sends, and Envoy does it for them.
    const fields = ['Content-Type: text/plain', 'Content-Length: 4']
    const answer = heard('\r\n\r\nbody', request(`${method} /x HTTP/1.1`, ...fields) + 'body')
    expect(answer).toContain(`${method.toLowerCase()} /x http/1.1`)
  })

  it('gives a request of HTTP/1.0 without a host the name of the service that was dialled', () => {
    const answer = heard('web.shop', head('OPTIONS / HTTP/1.0'))
    expect(answer).toMatch(/^http\/1\.0 200 ok/)
    expect(answer).toContain('host: web.shop')
  })

  it.each(['websocket', 'WebSocket', 'SPDY/3.1', 'tcp'])('lets a server switch to %s', (protocol) => {
    const fields = ['Connection: Upgrade', `Upgrade: ${protocol}`]
    const answer = heard('hello', request('GET /switch HTTP/1.1', ...fields), 'hello')
    expect(answer).toMatch(/^http\/1\.1 101 /)
    expect(answer).toMatch(/\r\n\r\nhello$/)
  })

  it.each(['TLS/1.2', 'h2c', 'foo'])('answers in HTTP/1.1 where a client would switch to %s', (protocol) => {
    const fields = ['Connection: Upgrade', `Upgrade: ${protocol}`, 'Content-Length: 4']
    const answer = heard('\r\n\r\nbody', request('POST /x HTTP/1.1', ...fields) + 'body')
    expect(answer).toMatch(/^http\/1\.1 200 ok/)
    expect(answer).not.toContain('upgrade:')
  })

  it('carries a WebSocket over HTTP/2', () => {
    expect(inClient('http2-websocket-client', `http://socket.shop:${WS}`)).toBe('200 hello')
  })

  it('has a rule for GET open no other method, whatever its spelling', async () => {
    await mesh.write('config.yaml', mode(false))
    const status = (method: string): string => heard('\r\n\r\n', request(`${method} /x HTTP/1.1`)).split(' ')[1] ?? ''
    await eventually(
      () => Promise.resolve(status('BAN')),
      (answer) => answer === '403',
      { what: 'a refusal in SMI mode' },
    )
    expect(status('GET')).toBe('200')
    for (const method of ['get', 'GETS', 'PROPFIND']) expect(status(method)).toBe('403')
  })
})
