/** What the runner of scenarios and the actors that play workloads say to each other: one JSON object on a line. */

/** How an actor's ports answer. */
export type App =
  'http' | 'http2' | 'https' | 'grpc' | 'grpc-tls' | 'tcp' | 'tcp-server-first' | 'connect-proxy' | 'socks-proxy'

/** A certificate with its key, as PEM. */
export interface Certificate {
  readonly chain: string
  readonly privateKey: string
}

/** Where a call connects to. */
export interface Target {
  readonly host: string
  readonly port: number
  /** True: it is a forward proxy, which wants the whole URL. */
  readonly absolute?: boolean
  /** Local address of the connection. */
  readonly source?: string
  /** Milliseconds of silence after which there is no answer; 10,000 when left out. */
  readonly timeoutMs?: number
}

/** TLS that the caller speaks itself. */
export interface CallTls {
  readonly serverName?: string
  readonly alpn?: readonly string[]
  readonly certificate?: Certificate
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3'
}

interface CallBase {
  readonly target: Target
  readonly tls?: CallTls
}

interface RequestBase extends CallBase {
  readonly scheme: 'http' | 'https'
  readonly authority: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Something that an actor is to do. */
export type Call =
  | (RequestBase & { readonly kind: 'http'; readonly method: string; readonly version: '1.1' | '2' })
  | (RequestBase & { readonly kind: 'grpc' })
  /** Upgrades a request to a stream, and sends a line over it. */
  | (RequestBase & { readonly kind: 'upgrade'; readonly send?: string; readonly keep?: string })
  /** Opens a connection and sends a line over it. */
  | (CallBase & { readonly kind: 'tcp'; readonly send?: string; readonly keep?: string })
  /** Sends a line over a connection that was kept. */
  | { readonly kind: 'kept'; readonly keep: string; readonly send?: string }

/** What came of a call. */
export interface CallAnswer {
  /** HTTP status; 0 if there was no answer, and for connections that speak no HTTP. */
  readonly status: number
  /** Status of gRPC. */
  readonly code?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The line that a connection answered. */
  readonly received?: string
  /** True if the connection has ended. */
  readonly closed?: boolean
  readonly error?: string
}

/** The first line of an actor. */
export interface Hello {
  /** The workload, as namespace/name. */
  readonly actor: string
  /** The one instance of it, likewise. */
  readonly instance: string
  /** IPv4 address by which others reach it, where that is not the loopback address. */
  readonly address?: string
}

/** Every further line of the runner, and of the actor. */
export interface Asked {
  readonly id: number
  readonly call: Call
}
export interface Answered {
  readonly id: number
  readonly answer: CallAnswer
}
