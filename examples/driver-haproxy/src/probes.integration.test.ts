import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProbeBinding } from '@osm-ts/driver-api/policy'
import { testAuthority } from '@osm-ts/driver-testkit'

import { freePort, MeshFixture, type Sidecar } from '../test/mesh.js'

/** What a real HAProxy answers in place of a workload to those who have no certificate. */
describe('probes', () => {
  const fixture = new MeshFixture()
  const servers: (HttpServer | Server)[] = []
  const heard: string[] = []
  let sidecar: Sidecar
  let port = 0
  let closed = 0

  const open = async (server: HttpServer | Server, at = 0): Promise<number> => {
    servers.push(server)
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const binding = (container: string, at: number, path: string, target: ProbeBinding['target']): ProbeBinding => ({
    container,
    probe: 'liveness',
    listen: { address: '127.0.0.1', port: at },
    path,
    target,
    // Against hanging, not a measure of speed.
    timeoutMs: 20_000,
  })
  const status = async (path: string): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    await response.text()
    return response.status
  }

  beforeAll(async () => {
    await fixture.start()
    port = await freePort()
    closed = await freePort()
    const answer: RequestListener = ({ url = '', headers }, response) => {
      if (headers['serviceidentity'] !== undefined) heard.push('an identity was claimed')
      heard.push(`${url} ${headers.host ?? ''} ${String(headers['x-probe'])}`)
      response.writeHead(url === '/sick' ? 500 : 204).end()
    }
    const { chain: cert, privateKey: key } = testAuthority('unknown').issue('somebody.else')
    const secure = await open(createHttpsServer({ cert, key }, answer))
    const plain = await open(createHttpServer(answer))
    const grpc = createHttp2Server().on('stream', (stream, headers) => {
      heard.push(`grpc ${String(headers[':path'])}`)
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.resume().on('end', () => stream.end())
    })
    const silent = createServer((socket) => {
      socket.on('error', () => undefined).on('data', (data) => heard.push(`silent heard ${data.toString()}`))
    })
    const headers = [
      { name: 'Host', value: 'app.example' },
      { name: 'X-Probe', value: '100%[path] "a"' },
    ]
    fixture.certify('shop')
    sidecar = await fixture.sidecar('shop')
    const probes = [
      binding('well', port, '/well', { type: 'http', port: plain, path: '/alive?at=%20', headers }),
      binding('sick', port, '/ill', { type: 'http', port: plain, path: '/sick' }),
      binding('tls', port, '/tls', { type: 'https', port: secure, path: '/secure' }),
      binding('silent', port, '/silent', { type: 'tcp', port: await open(silent) }),
      binding('closed', port, '/closed', { type: 'tcp', port: closed }),
      binding('rpc', port, '/grpc.health.v1.Health/Check', { type: 'grpc', port: await open(grpc) }),
    ]
    await fixture.apply(sidecar, 'shop', { changes: { probes }, parts: [] })
  })
  afterAll(async () => {
    await fixture.stop()
    for (const server of servers) server.close()
  })

  it('ask the workload by the path and headers of the user, and give its answer', async () => {
    expect(await status('/well')).toBe(204)
    expect(heard).toContain('/alive?at=%20 app.example 100%[path] "a"')
    expect(await status('/ill')).toBe(500)
    expect(await status('/alive')).toBe(503)
  })

  it('ask by TLS whatever the certificate of the workload says', async () => {
    expect(await status('/tls')).toBe(204)
    expect(heard).toContainEqual(expect.stringMatching(/^\/secure /))
  })

  it('tell at once whether the workload takes connections, and send it nothing', async () => {
    expect(await status('/silent')).toBe(200)
    expect(await status('/closed')).toBe(503)
    await open(
      createServer((socket) => socket.on('error', () => undefined)),
      closed,
    )
    expect(await status('/closed')).toBe(200)
    expect(heard.filter((line) => line.startsWith('silent'))).toEqual([])
  })

  it('pass on what speaks gRPC', async () => {
    const client = connectHttp2(`http://127.0.0.1:${port}`)
    try {
      const stream = client.request({
        ':method': 'POST',
        ':path': '/grpc.health.v1.Health/Check',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      stream.end(Buffer.alloc(5))
      const [trailers] = (await once(stream.resume(), 'trailers')) as [Record<string, string>]
      expect(trailers['grpc-status']).toBe('0')
    } finally {
      client.destroy()
    }
  })

  it('let nothing else through: no other method, query, body or claim of an identity', async () => {
    const url = `http://127.0.0.1:${port}/well`
    const before = heard.length
    expect((await fetch(url, { method: 'POST' })).status).toBe(503)
    expect((await fetch(url, { method: 'PUT', body: 'past' })).status).toBe(503)
    expect((await fetch(`${url}?past=1`)).status).toBe(503)
    expect(heard).toHaveLength(before)
    expect((await fetch(url, { headers: { serviceidentity: 'bank.victim' } })).status).toBe(204)
    expect(heard).not.toContain('an identity was claimed')
  })
})
