import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, request as httpRequest } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { connect as connectTcp, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { envoyBinary } from './support/mesh.js'

const golden = new URL('../../packages/driver-envoy/src/testdata/out/probes.json', import.meta.url)

/** Ports of the golden, by what is behind them. */
const workload = { http: 8080, https: 8443, silent: 3306, greeting: 6379, grpc: 9000 } as const
const sidecar = { liveness: 15901, readiness: 15902, startup: 15903 } as const
type Name = keyof typeof workload | keyof typeof sidecar
/** The end of a request line, and a host that a leak would show. */
const livenessProbe = '/osm-liveness-probe HTTP/1.1\r\nhost: past'

describe('probes that a real Envoy answers for the workload', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-probes-'))
  const heard: string[] = []
  const ports = new Map<Name, number>()
  const servers = new Map<Name, Server>()
  let envoy: ChildProcess
  let log = ''

  const url = (name: Name, path: string): string => `http://127.0.0.1:${String(ports.get(name))}${path}`
  const ask = async (name: Name, path: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await fetch(url(name, path), { headers, signal: AbortSignal.timeout(5_000) })
    await response.text() // a kubelet reads the answer to its end, and one without an end is a failure
    return response.status
  }

  async function open(name: Name, server: Server, port = 0): Promise<void> {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    servers.set(name, server)
    ports.set(name, (server.address() as AddressInfo).port)
  }

  async function close(name: Name): Promise<void> {
    const server = servers.get(name)
    if (server === undefined) return
    const closed = once(server, 'close')
    server.close()
    await closed
  }

  beforeAll(async () => {
    const note = ({ url: path = '', headers }: IncomingMessage): void => {
      for (const name of ['serviceidentity', 'x-forwarded-client-cert', 'x-envoy-original-dst-host'])
        if (headers[name] !== undefined) heard.push(`${name} was heard`)
      heard.push(`${path} ${headers.host ?? ''} ${String(headers['x-probe'])}`)
    }
    await open(
      'http',
      createHttpServer((request, response) => {
        note(request)
        response.writeHead(request.headers['x-probe'] === 'sick' ? 500 : 204).end()
      }),
    )
    const { chain, privateKey } = testAuthority('unknown').issue('somebody.else', { dns: ['somebody.else'] })
    const tls = { cert: chain, key: privateKey }
    const secure = (name: Name): Promise<void> =>
      open(
        name,
        createHttpsServer({ ...tls, minVersion: 'TLSv1.3' }, (request, response) => {
          note(request)
          response.end('secure')
        }),
      )
    await secure('https')
    // Says nothing, and goes on when the other side has ended: the answer must not wait for it.
    await open(
      'silent',
      createTcpServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => undefined).on('data', (data) => heard.push(`silent heard ${data.toString()}`))
      }),
    )
    await open(
      'greeting',
      createTcpServer((socket) => {
        socket.on('error', () => undefined).write('server first')
      }),
    )
    const grpc = createHttp2Server()
    grpc.on('stream', (stream, headers) => {
      heard.push(`grpc ${String(headers[':path'])}`)
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.resume().on('end', () => stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1])))
    })
    await open('grpc', grpc)
    for (const name of Object.keys(sidecar) as (keyof typeof sidecar)[]) {
      await open(name, createTcpServer())
      await close(name)
    }
    const admin = join(folder, 'admin')
    const bootstrap = join(folder, 'bootstrap.json')
    writeFileSync(bootstrap, JSON.stringify(bootstrapOf(ports)))
    envoy = spawn(
      envoyBinary(),
      [
        ['--config-path', bootstrap],
        ['--admin-address-path', admin],
        ['--concurrency', '1'],
        ['--log-level', 'error'],
        ['--disable-hot-restart'],
      ].flat(),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    envoy.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
    await eventually(
      async () => {
        if (envoy.exitCode !== null) throw new Error(`Envoy has ended: ${log}`)
        try {
          return (await fetch(`http://${readFileSync(admin, 'utf8')}/ready`)).status
        } catch {
          return 0
        }
      },
      (status) => status === 200,
      { what: 'a live Envoy' },
    )
  })

  afterAll(async () => {
    const ended = once(envoy, 'exit')
    envoy.kill('SIGKILL')
    await ended
    for (const server of servers.values()) server.close()
    rmSync(folder, { recursive: true })
  })

  it('asks an HTTP workload by its own path, with the headers of the probe, and gives its answer', async () => {
    await expect(ask('liveness', '/osm-liveness-probe', { 'x-probe': 'well', host: 'app.example' })).resolves.toBe(204)
    expect(heard).toContainEqual(expect.stringMatching(/^\/alive\?deep=1 .* well$/))
    await expect(ask('liveness', '/osm-liveness-probe', { 'x-probe': 'sick' })).resolves.toBe(500)
    await expect(ask('liveness', '/alive')).resolves.toBe(404)
  })

  it('probes an HTTPS workload by TLS without verifying its certificate, like a kubelet', async () => {
    await expect(ask('readiness', '/osm-readiness-probe')).resolves.toBe(200)
    expect(heard).toContainEqual(expect.stringMatching(/^\/ready /))
  })

  it('answers a TCP probe by whether the workload accepts a connection, and sends it nothing', async () => {
    await expect(ask('startup', '/osm-startup-probe')).resolves.toBe(200)
    await expect(ask('liveness', '/osm-liveness-probe/cache')).resolves.toBe(200)
    expect(heard.filter((line) => line.startsWith('silent'))).toEqual([])
  })

  it('fails a TCP probe as soon as no process listens on its port', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => undefined))
    const port = ports.get('greeting') ?? 0
    await close('greeting')
    await expect(ask('liveness', '/osm-liveness-probe/cache')).resolves.toBe(503)
    await open('greeting', server, port)
    await expect(ask('liveness', '/osm-liveness-probe/cache')).resolves.toBe(200)
  })

  it('takes from who asks nothing that an application might believe about a caller', async () => {
    const claims = { serviceidentity: 'bank.victim', 'x-forwarded-client-cert': 'By=x', 'x-probe': 'claims' }
    await expect(ask('liveness', '/osm-liveness-probe', claims)).resolves.toBe(204)
    await expect(ask('readiness', '/osm-readiness-probe', claims)).resolves.toBe(200)
    expect(heard.filter((line) => line.endsWith('claims'))).toHaveLength(2)
    expect(heard.filter((line) => line.endsWith('was heard'))).toEqual([])
  })

  it.each<readonly [string, Name, string, string?]>([
    ['another method', 'liveness', `POST ${livenessProbe}`],
    ['a body of a given length', 'liveness', `GET ${livenessProbe}\r\ncontent-length: 4`, 'past'],
    ['a body in chunks', 'liveness', `GET ${livenessProbe}\r\ntransfer-encoding: chunked`, '4\r\npast\r\n0\r\n\r\n'],
    ['a query', 'liveness', 'GET /osm-liveness-probe?past=1 HTTP/1.1\r\nhost: past'],
    ['an empty query', 'liveness', 'GET /osm-liveness-probe? HTTP/1.1\r\nhost: past'],
    ['a whole URL', 'liveness', 'GET http://past/alive HTTP/1.1\r\nhost: past'],
    ['a path below that of the probe', 'liveness', 'GET /osm-liveness-probe/../past HTTP/1.1\r\nhost: past'],
    ['an upgrade', 'liveness', `GET ${livenessProbe}\r\nconnection: upgrade\r\nupgrade: websocket`],
    ['a tunnel', 'liveness', 'CONNECT past:80 HTTP/1.1\r\nhost: past'],
    ['another method by TLS', 'readiness', 'PUT /osm-readiness-probe HTTP/1.1\r\nhost: past'],
    [
      'another method of a TCP probe',
      'startup',
      'POST /osm-startup-probe HTTP/1.1\r\nhost: past\r\ncontent-length: 4',
      'past',
    ],
    ['gRPC by HTTP/1.1', 'readiness', 'POST /grpc.health.v1.Health/Check HTTP/1.1\r\nhost: past'],
    ['no HTTP', 'startup', '*1\r\n$4\r\nPING'],
  ])('lets nothing but probes reach the workload: %s', async (_what, name, head, body = '') => {
    const before = heard.length
    const socket = connectTcp(ports.get(name) ?? 0, '127.0.0.1')
    let answer = ''
    const closed = new Promise((resolve) => socket.once('close', resolve).once('error', resolve))
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
    socket.write(`${head}\r\nconnection: close\r\n\r\n${body}`)
    await closed
    expect(answer).toMatch(/^(HTTP\/1\.1 4[0-9][0-9] |$)/)
    expect(heard.slice(before)).toEqual([])
  })

  it('lets no body by HTTP/2 reach the workload, which needs no word about it', async () => {
    const before = heard.length
    const client = connectHttp2(url('readiness', ''))
    try {
      const stream = client.request({ ':method': 'GET', ':path': '/osm-readiness-probe' }, { endStream: false })
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
      expect(headers[':status']).toBe(404)
      expect(heard.slice(before)).toEqual([])
    } finally {
      client.destroy()
    }
  })

  it('answers HEAD as GET', async () => {
    const asked = httpRequest(url('liveness', '/osm-liveness-probe'), { method: 'HEAD', agent: false })
    const [response] = (await once(asked.end(), 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(204)
    response.destroy()
  })

  it('passes gRPC probes on beside HTTP ones on a port', async () => {
    const client = connectHttp2(url('readiness', ''))
    try {
      const stream = client.request({
        ':method': 'POST',
        ':path': '/grpc.health.v1.Health/Check',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      const answer: Buffer[] = []
      stream.on('data', (chunk: Buffer) => answer.push(chunk)).end(Buffer.from([0, 0, 0, 0, 0]))
      const [trailers] = (await once(stream, 'trailers')) as [Record<string, string>]
      expect(trailers['grpc-status']).toBe('0')
      expect(Buffer.concat(answer)).toEqual(Buffer.from([0, 0, 0, 0, 2, 8, 1]))
      expect(heard).toContain('grpc /grpc.health.v1.Health/Check')
    } finally {
      client.destroy()
    }
  })
})

/** The listeners and clusters of the golden as a bootstrap configuration, with ports that are free here. */
function bootstrapOf(ports: ReadonlyMap<Name, number>): unknown {
  let text = readFileSync(golden, 'utf8')
  for (const [name, port] of Object.entries({ ...workload, ...sidecar }))
    text = text.replaceAll(`"portValue": ${String(port)}`, `"portValue": ${String(ports.get(name as Name))}`)
  const { listener, cluster } = JSON.parse(text.replaceAll('0.0.0.0', '127.0.0.1')) as {
    readonly listener: Readonly<Record<string, { readonly name: string }>>
    readonly cluster: Readonly<Record<string, unknown>>
  }
  return {
    admin: { address: { socketAddress: { address: '127.0.0.1', portValue: 0 } } },
    staticResources: {
      listeners: Object.values(listener).filter(({ name }) => /probe|liveness|readiness|startup/.test(name)),
      clusters: Object.values(cluster),
    },
  }
}
