import { Duplex } from 'node:stream'

import type { WebSocket } from 'undici'
import { onAbort } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, ObjectName } from '../api.js'
import { KubernetesError } from '../kubernetes-error.js'
import { resourceTypes } from '../resource-types.js'
import { objectPath, withQuery } from './request-path.js'
import type { Transport } from './transport.js'

/** Messages are bytes behind the number of a channel. */
const PROTOCOL = 'v4.channel.k8s.io'
/** Bytes of the connection, and complaints of the kubelet. */
const DATA = 0
const COMPLAINTS = 1
/** The first message of a channel repeats the port. */
const PORT_BYTES = 2
/** How much of a complaint is passed on. */
const MAX_COMPLAINT = 1_000
const OPEN_TIMEOUT_MS = 30_000

/**
 * A connection to a port inside a pod, by the subresource that `kubectl port-forward` uses. It ends in the network namespace of the pod: servers
 * there see a caller on loopback, and no sidecar intercepts it.
 *
 * The library that reads kubeconfigs has this as well, and brings the classes of all APIs along: 1.2 MB in every program.
 *
 * @throws KubernetesError; the reason of the signal if it aborts before there is a connection
 */
export async function connectToPod(
  { transport, api }: { readonly transport: Transport; readonly api: Pick<KubernetesApi, 'read'> },
  pod: ObjectName,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  signal.throwIfAborted()
  const what = `port-forward to port ${port} of Pod ${pod.namespace}/${pod.name}`
  const path = withQuery(objectPath(resourceTypes.Pod, pod, 'portforward'), { ports: port })
  const connection = new PodConnection(await transport.webSocket(path, PROTOCOL), what)
  const timeout = AbortSignal.timeout(OPEN_TIMEOUT_MS)
  if (await connection.opened(AbortSignal.any([signal, timeout]))) {
    connection.once(
      'close',
      onAbort(signal, () => connection.destroy(signal.reason as Error)),
    ) // only ever aborted with an error
    return connection
  }
  connection.destroy()
  signal.throwIfAborted()
  if (timeout.aborted) throw broken(what, `no answer within ${OPEN_TIMEOUT_MS / 1000} s`)
  // A WebSocket does not tell why it did not open. A request for the same path does.
  throw await refusalOf(what, api.read(path, signal))
}

async function refusalOf(what: string, asking: Promise<unknown>): Promise<Error> {
  try {
    const answer = await asking
    if (answer !== undefined) return broken(what, 'the API server did not accept it')
    return new KubernetesError('OSM_KUBERNETES_NOT_FOUND', `${what}: there is no such pod`, { status: 404 })
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    const { code, message, status, reason } = error
    return new KubernetesError(code, `${what}: ${message.replace(/^read \S+: /, '')}`, {
      ...(status !== undefined && { status }),
      ...(reason !== undefined && { reason }),
    })
  }
}

/** One forwarded connection. WebSockets here know no backpressure: what no one has read yet lies in memory. */
class PodConnection extends Duplex {
  readonly #socket: WebSocket
  readonly #what: string
  /** Channels of which the first message has come. */
  readonly #begun = new Set<number>()

  constructor(socket: WebSocket, what: string) {
    super()
    this.#socket = socket
    this.#what = what
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('message', ({ data }) => {
      if (data instanceof ArrayBuffer && data.byteLength > 0) this.#take(Buffer.from(data))
    })
    socket.addEventListener('close', () => this.push(null))
  }

  /** Resolves with false if it does not open before the signal aborts. */
  opened(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const release = onAbort(signal, () => resolve(false))
      const settle = (isOpen: boolean): void => {
        release()
        resolve(isOpen)
      }
      this.#socket.addEventListener('open', () => settle(true))
      this.#socket.addEventListener('error', () => settle(false))
      this.#socket.addEventListener('close', () => settle(false))
    })
  }

  override _read(): void {
    // Messages come when they come.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#socket.send(Buffer.concat([Buffer.of(DATA), chunk]))
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.close()
    done(error)
  }

  #take(message: Buffer): void {
    const channel = message.readUInt8(0)
    const bytes = message.subarray(this.#begun.has(channel) ? 1 : 1 + PORT_BYTES)
    this.#begun.add(channel)
    if (bytes.length === 0 || this.destroyed) return
    if (channel === DATA) this.push(bytes)
    if (channel === COMPLAINTS) this.destroy(broken(this.#what, bytes.toString('utf8').slice(0, MAX_COMPLAINT).trim()))
  }
}

function broken(what: string, reason: string): KubernetesError {
  return new KubernetesError('OSM_KUBERNETES_UNREACHABLE', `${what}: ${reason}`)
}
