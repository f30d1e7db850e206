import { connect as connectTls, type TLSSocket } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { EnvoyHost, literalTranslator } from '../../test/xds/envoy-host.js'
import { XdsClient } from '../../test/xds/xds-client.js'
import { ResourceDiffer } from '../resources/resource-differ.js'
import { attributeRejection } from '../translate/attribute-rejection.js'
import { limits } from './limits.js'
import { XdsServer } from './xds-server.js'
import { typeUrls } from './xds-types.js'

const [attacker, honest] = ['6e8a0b0e-0000-4000-8000-000000000001', '6e8a0b0e-0000-4000-8000-000000000002'] as const
const differ = new ResourceDiffer()
const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'

const Type = { data: 0, headers: 1, resetStream: 3, settings: 4, ping: 6, goAway: 7, continuation: 9 } as const
const END_HEADERS = 4
const REFUSED_STREAM = 7

/** RFC 9113, section 4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}

/** A field that is in no table (RFC 7541, section 6.2.2), with a name and a value of less than 127 bytes. */
function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)])
}

const request = Buffer.concat([
  field(':method', 'POST'),
  field(':scheme', 'https'),
  field(':path', PATH),
  field(':authority', 'ads'),
  field('content-type', 'application/grpc'),
  field('te', 'trailers'),
])
const open = (stream: number): Buffer => frame(Type.headers, END_HEADERS, stream, request)
const repeated = (count: number, make: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)))

/** Bytes that wait in the client once a server takes no more: more than both kernels' buffers hold of a round. */
const UNTAKEN_BYTES = 4 * 1024 * 1024
const none = Buffer.alloc(0)

/** Frames that are answered, by peers that do not read the answers. */
const unread = [
  { name: 'settings', next: repeated(2_000, () => frame(Type.settings, 0, 0)) },
  { name: 'pings', next: repeated(2_000, () => frame(Type.ping, 0, 0, Buffer.alloc(8))) },
] as const

/** What ends a connection. */
const deadly: readonly { readonly name: string; readonly first: Buffer; readonly next: (round: number) => Buffer }[] = [
  {
    name: 'streams that are reset at once',
    first: none,
    next: (round) =>
      repeated(100, (index) => {
        const stream = 2 * (100 * round + index) + 1
        return Buffer.concat([open(stream), frame(Type.resetStream, 0, stream, Buffer.from([0, 0, 0, 8]))])
      }),
  },
  {
    name: 'headers without an end',
    first: frame(Type.headers, 0, 1, request),
    next: () => repeated(100, () => frame(Type.continuation, 0, 1, field('x-more', 'y'.repeat(100)))),
  },
  {
    name: 'empty pieces of a body',
    first: open(1),
    next: () => repeated(1_000, () => frame(Type.data, 0, 1)),
  },
]

describe('HTTP/2 of the xDS server', () => {
  let host: EnvoyHost
  let server: XdsServer

  beforeAll(async () => {
    host = new EnvoyHost()
    server = new XdsServer(host.context(), {
      translator: literalTranslator,
      diff: differ.diff.bind(differ),
      trace: attributeRejection,
      times: { ageMs: 1_800_000, graceMs: 60_000, keepaliveMs: 30_000, drainMs: 0 },
    })
    await server.start()
    host.publish(attacker, { cluster: { a: '1' } })
    host.publish(honest, { cluster: { b: '1' } })
  })
  afterAll(async () => {
    host.stop()
    await server.close()
  })

  async function connected(): Promise<TLSSocket> {
    const { credential } = host.admit(attacker)
    const socket = connectTls({
      port: server.port,
      host: '127.0.0.1',
      servername: 'ads',
      ALPNProtocols: ['h2'],
      ca: host.controlPlane.certificate,
      cert: credential.chain,
      key: credential.privateKey,
    })
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(Type.settings, 0, 0)]))
    return socket
  }

  async function serves(): Promise<void> {
    const client = new XdsClient({
      port: server.port,
      roots: host.controlPlane.certificate,
      credential: host.admit(honest).credential,
    })
    try {
      const stream = client.delta()
      stream.send({ typeUrl: typeUrls.cluster })
      expect((await stream.next()).resources.map(({ name }) => name)).toEqual(['b'])
    } finally {
      client.close()
    }
  }

  it.each(unread)('takes no more $name than it can answer, and serves others', async ({ next }) => {
    const socket = await connected()
    socket.pause()
    const served = serves()
    while (socket.writableLength < UNTAKEN_BYTES && !socket.destroyed) {
      socket.write(next)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await served
    await serves()
    socket.destroy()
  })

  it.each(deadly)('ends a connection that sends $name, and serves others meanwhile', async ({ first, next }) => {
    const socket = await connected()
    let isOver = false
    followFrames(socket, (type) => {
      if (type === Type.goAway) isOver = true
    })
    socket.once('close', () => (isOver = true))
    const isEnded = (): boolean => isOver
    socket.write(first)
    const served = serves()
    for (let round = 0; !isEnded(); round += 1) {
      socket.write(next(round))
      await new Promise((resolve) => setImmediate(resolve))
    }
    socket.destroy()
    await served
    await serves()
  })

  it(`takes ${limits.maxConcurrentStreams} streams of a connection and refuses more`, async () => {
    const socket = await connected()
    const refused: number[] = []
    followFrames(socket, (type, stream, payload) => {
      if (type === Type.resetStream && payload.readUInt32BE(0) === REFUSED_STREAM) refused.push(stream)
    })
    socket.write(repeated(limits.maxConcurrentStreams + 2, (index) => open(2 * index + 1)))
    while (refused.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(refused).toEqual([8, 9].map((index) => 2 * index + 1))
    socket.destroy()
  })

  it('refuses a request whose headers are longer than 64 KiB', async () => {
    const socket = await connected()
    const ended = new Promise<boolean>((resolve) => {
      followFrames(socket, (type, stream) => {
        if ((type === Type.resetStream && stream === 1) || type === Type.goAway) resolve(true)
      })
      socket.once('close', () => resolve(true))
    })
    const long = repeated(120, (index) => field(`x-${index}`, 'y'.repeat(100)))
    const pieces = repeated(5, (index) =>
      frame(Type.continuation, index === 4 ? END_HEADERS : 0, 1, Buffer.concat([long])),
    )
    socket.write(Buffer.concat([frame(Type.headers, 0, 1, request), pieces]))
    expect(await ended).toBe(true)
    socket.destroy()
    await serves()
  })

  it('says nothing about a type that it does not serve', async () => {
    const client = new XdsClient({
      port: server.port,
      roots: host.controlPlane.certificate,
      credential: host.admit(honest).credential,
    })
    const stream = client.delta()
    stream.send({ typeUrl: 'type.googleapis.com/evil', resourceNamesSubscribe: ['x'] })
    stream.send({ typeUrl: typeUrls.cluster })
    expect((await stream.next()).typeUrl).toBe(typeUrls.cluster)
    client.close()
  })
})

/** Tells of every frame that comes in. */
function followFrames(socket: TLSSocket, tell: (type: number, stream: number, payload: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3)
      tell(rest[3] ?? 0, rest.readUInt32BE(5) & 0x7fffffff, rest.subarray(9, end))
      rest = rest.subarray(end)
    }
  })
}
