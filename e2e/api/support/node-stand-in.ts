import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import { connect, type Socket } from 'node:net'

import { listen } from '@osm-ts/driver-testkit/testing'
import { apiVersionOf, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

/** Where the processes are that stand for the containers of a pod: `<namespace>/<pod>` and a port give an address. */
export type PodPorts = (pod: string, port: number) => { readonly host: string; readonly port: number } | undefined

/**
 * A node that runs nothing and forwards ports, as a kubelet does: the API server connects to it for `pods/portforward`. The programs behind it are
 * real, and so is all before it. The cluster tests have real kubelets.
 */
export class NodeStandIn {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
    server.on('secureConnection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  /** Starts it and makes it known to the API server by a name. */
  static async start(options: {
    readonly api: KubernetesApi
    readonly name: string
    readonly address: string
    readonly certificate: { readonly cert: string; readonly key: string }
    readonly ports: PodPorts
    readonly signal: AbortSignal
  }): Promise<NodeStandIn> {
    const { api, name, address, certificate, ports, signal } = options
    const server = createServer(certificate, (_request, response) => response.writeHead(400).end('upgrade required'))
    server.on('upgrade', (request, socket) => {
      const url = new URL(request.url ?? '/', 'https://node')
      const [, , namespace = '', pod = ''] = url.pathname.split('/')
      forward(socket as Socket, request.headers['sec-websocket-key'] ?? '', {
        port: Number(url.searchParams.get('port') ?? url.searchParams.get('ports')),
        target: (port) => ports(`${namespace}/${pod}`, port),
      })
    })
    const port = await listen(server, address, 0)
    await api.apply(
      resourceTypes.Node,
      { apiVersion: apiVersionOf(resourceTypes.Node), kind: 'Node', metadata: { name } },
      { fieldManager: 'test', force: true, signal },
    )
    const status = {
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    }
    await api.mergePatch(resourceTypes.Node, { namespace: '', name }, { status }, { signal, subresource: 'status' })
    return new NodeStandIn(server)
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}

const DATA = 0
const COMPLAINTS = 1

function forward(
  socket: Socket,
  key: string,
  { port, target }: { readonly port: number; readonly target: (port: number) => ReturnType<PodPorts> },
): void {
  const accepted = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${accepted}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n`,
  )
  const portBytes = Buffer.from([port & 0xff, port >> 8])
  for (const channel of [DATA, COMPLAINTS]) socket.write(frame(channel, portBytes))
  const place = target(port)
  if (place === undefined) {
    socket.write(frame(COMPLAINTS, Buffer.from(`port ${String(port)} of the pod: connection refused`)))
    return
  }
  const upstream = connect(place.port, place.host)
  upstream.on('data', (chunk: Buffer) => socket.write(frame(DATA, chunk)))
  upstream.on('error', ({ message }) => socket.write(frame(COMPLAINTS, Buffer.from(message))))
  upstream.on('end', () => socket.end(Buffer.of(0x88, 0)))
  let waiting = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk])
    for (let next = takeFrame(waiting); next !== undefined; next = takeFrame(waiting)) {
      waiting = next.rest
      if (next.opcode === 2 && next.payload[0] === DATA) upstream.write(next.payload.subarray(1))
      if (next.opcode === 8) socket.end()
    }
  })
  for (const [one, other] of [
    [socket, upstream],
    [upstream, socket],
  ] as const)
    one.on('close', () => other.destroy())
  socket.on('error', () => upstream.destroy())
}

/** A binary message of a server. */
function frame(channel: number, bytes: Buffer): Buffer {
  const size = bytes.length + 1
  const head =
    size < 126
      ? Buffer.of(0x82, size)
      : size < 65_536
        ? Buffer.of(0x82, 126, size >> 8, size & 0xff)
        : Buffer.concat([Buffer.of(0x82, 127, 0, 0, 0, 0), uint32(size)])
  return Buffer.concat([head, Buffer.of(channel), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The first message of a client, which is masked; undefined before all of it is there. */
function takeFrame(
  bytes: Buffer,
): { readonly opcode: number; readonly payload: Buffer; readonly rest: Buffer<ArrayBuffer> } | undefined {
  if (bytes.length < 2) return undefined
  const short = bytes.readUInt8(1) & 0x7f
  const start = short === 126 ? 4 : 2
  if (short === 127) throw new Error('no request of these tests is that large')
  if (bytes.length < start + 4) return undefined
  const size = short === 126 ? bytes.readUInt16BE(2) : short
  const mask = bytes.subarray(start, start + 4)
  const end = start + 4 + size
  if (bytes.length < end) return undefined
  const payload = Buffer.from(bytes.subarray(start + 4, end).map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return { opcode: bytes.readUInt8(0) & 0x0f, payload, rest: Buffer.from(bytes.subarray(end)) }
}
