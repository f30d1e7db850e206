import type { Readable } from 'node:stream'

import type { Dispatcher, Pool, WebSocket } from 'undici'
import { errorMessage } from '@osm-ts/driver-api/toolkit'
import { Deadline } from '@osm-ts/core'

import { isKubernetesError, KubernetesError, systemCode } from '../kubernetes-error.js'
import type { ClusterAccess, ClusterCredentials, ClusterTls } from './cluster-access.js'
import { dispatchWhole, type WholeAnswer } from './whole-answer.js'

/** A request to the API server. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. */
  readonly path: string
  readonly body?: string
  readonly contentType?: string
  /** Absent: JSON. */
  readonly accept?: string
  readonly signal: AbortSignal
  /** Names the request in errors. */
  readonly what: string
}

/** The head of an answer that continues for as long as it likes, and its body to be read. */
export interface TransportAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
  /** Has to be called when the body was read, or is not to be read to its end. */
  release(): void
}

/** The part of undici that is used; handed in so that nothing loads it before it is needed. */
export interface Undici {
  readonly Pool: new (origin: string, options: Pool.Options) => Dispatcher
  readonly WebSocket: typeof WebSocket
}

/** Time for the API server to accept a request whose answer is endless. */
const ACCEPT_TIMEOUT_MS = 30_000
/** Time to the end of an answer that is not endless; as long as the API server itself works on a request. */
const ANSWER_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 10_000
/** Below the idle timeout of the API server and of usual load balancers. */
const IDLE_TIMEOUT_MS = 30_000
const TCP_KEEPALIVE_MS = 15_000
/** Requests at one time, watches apart. */
const CONNECTIONS = 16

/** Connections that share TLS options. */
interface Connections {
  readonly tls: ClusterTls
  /** For requests that end soon; a bound keeps bursts off the API server. */
  readonly short: Dispatcher
  /** For watches, each of which keeps a connection: a bound would starve them. */
  readonly endless: Dispatcher
}

/**
 * Sends requests with the credentials of the moment.
 *
 * A 401 is answered by reading the credentials again and asking once more. New TLS options, as after a rotation of the CA
 * of the cluster, get new connections; the old ones end with their last request.
 */
export class Transport {
  readonly #access: ClusterAccess
  readonly #undici: Undici
  readonly #userAgent: string
  /** Scheme, host and port of the API server. */
  readonly server: string
  readonly #basePath: string
  #connections: Connections | undefined

  constructor(access: ClusterAccess, userAgent: string, undici: Undici) {
    const url = serverUrl(access.server)
    this.#access = access
    this.#undici = undici
    this.#userAgent = userAgent
    this.server = url.origin
    this.#basePath = url.pathname.replace(/\/+$/, '')
  }

  /** Sends the request and reads an answer of up to `maxBytes`, which may have any status. */
  async exchange(request: TransportRequest, maxBytes: number): Promise<WholeAnswer> {
    const attempt = (rejected: boolean): Promise<WholeAnswer> =>
      this.#attempt(request, rejected, (options, { short }) =>
        dispatchWhole(short, options, { ...request, timeoutMs: ANSWER_TIMEOUT_MS, maxBytes }),
      )
    const answer = await attempt(false)
    return answer.status === 401 ? attempt(true) : answer
  }

  /** Sends a request whose answer has no end; it may have any status. */
  async open(request: TransportRequest): Promise<TransportAnswer> {
    const attempt = (rejected: boolean): Promise<TransportAnswer> =>
      this.#attempt(request, rejected, (options, { endless }) => openEndless(endless, options, request.signal))
    const answer = await attempt(false)
    if (answer.status !== 401) return answer
    answer.release()
    return attempt(true)
  }

  /** A WebSocket that is being opened. Why it does not open, a request for the same path tells better than it. */
  async webSocket(path: string, protocol: string): Promise<WebSocket> {
    const { headers, tls } = await this.#access.credentials(false)
    return new this.#undici.WebSocket(`${this.server.replace(/^http/, 'ws')}${this.#basePath}${path}`, {
      protocols: [protocol],
      dispatcher: this.#connect(tls).endless,
      headers: { 'user-agent': this.#userAgent, ...headers },
    })
  }

  async #attempt<T>(
    request: TransportRequest,
    rejected: boolean,
    dispatch: (options: Dispatcher.RequestOptions, connections: Connections) => Promise<T>,
  ): Promise<T> {
    const credentials = await this.#access.credentials(rejected)
    request.signal.throwIfAborted()
    const connections = this.#connect(credentials.tls)
    const options = this.#optionsOf(request, credentials)
    try {
      return await dispatch(options, connections)
    } catch (error) {
      request.signal.throwIfAborted()
      // The API server may have closed an idle connection at the moment of its reuse. Reading twice does no harm.
      if (request.method !== 'GET' || !isBrokenConnection(error)) throw this.#failure(request, error)
    }
    try {
      return await dispatch(options, connections)
    } catch (error) {
      request.signal.throwIfAborted()
      throw this.#failure(request, error)
    }
  }

  #failure({ what }: TransportRequest, error: unknown): KubernetesError {
    return isKubernetesError(error) ? error : unreachable(what, this.server, error)
  }

  #optionsOf(request: TransportRequest, credentials: ClusterCredentials): Dispatcher.RequestOptions {
    const { method, path, body, contentType, accept = 'application/json' } = request
    return {
      method,
      path: `${this.#basePath}${path}`,
      headers: {
        accept,
        'user-agent': this.#userAgent,
        ...credentials.headers,
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
      },
      body: body ?? null,
      // There are deadlines of our own instead.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
  }

  #connect(tls: ClusterTls): Connections {
    if (this.#connections !== undefined && sameTls(this.#connections.tls, tls)) return this.#connections
    const old = this.#connections
    const options = {
      pipelining: 1,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
      connect: { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: TCP_KEEPALIVE_MS },
    }
    this.#connections = {
      tls,
      short: new this.#undici.Pool(this.server, { ...options, connections: CONNECTIONS }),
      endless: new this.#undici.Pool(this.server, { ...options, connections: null }),
    }
    // Both end by themselves when their last request has; no one has to wait for that.
    old?.short.close().catch(() => undefined)
    old?.endless.close().catch(() => undefined)
    return this.#connections
  }
}

async function openEndless(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
  signal: AbortSignal,
): Promise<TransportAnswer> {
  const deadline = new Deadline(signal, ACCEPT_TIMEOUT_MS)
  try {
    const answer = await dispatcher.request({ ...options, signal: deadline.signal })
    deadline.lift()
    const release = (): void => {
      deadline.release()
      // A caller that releases a body early does not need its error.
      answer.body.on('error', () => undefined).destroy()
    }
    return { status: answer.statusCode, headers: answer.headers, body: answer.body, release }
  } catch (error) {
    deadline.release()
    throw error
  }
}

function serverUrl(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw new KubernetesError('OSM_KUBERNETES_CONFIG', `the address of the API server, ${server}, is not an http(s) URL`)
}

function sameTls(one: ClusterTls, other: ClusterTls): boolean {
  if (one === other) return true
  const fields = ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized'] as const
  return fields.every((field) => String(one[field]) === String(other[field]))
}

function isBrokenConnection(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(systemCode(error) ?? '')
}

/** The error for an answer that did not come, or broke off. */
export function unreachable(what: string, server: string, error: unknown): KubernetesError {
  const code = systemCode(error)
  const reason = errorMessage(error) === '' ? (code ?? 'no answer') : errorMessage(error)
  return new KubernetesError('OSM_KUBERNETES_UNREACHABLE', `${what} at ${server}: ${reason}`, {
    cause: error,
    ...(code === undefined ? {} : { reason: code }),
  })
}
