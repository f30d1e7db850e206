/** `address:port`; IPv6 addresses have brackets. */
export type SocketText = string

/** Where an upstream's addresses come from. */
export type Addresses =
  | {
      readonly kind: 'endpoints'
      /** By priority, the best first: a list is checked when all before it are found unreachable. */
      readonly priorities: readonly (readonly { readonly address: SocketText; readonly weight: number }[])[]
    }
  /** The address that the workload dialled, with another port if one is given. */
  | { readonly kind: 'dialled'; readonly port?: number }
  /** What the request, or the server name of a TLS connection, names. */
  | { readonly kind: 'named'; readonly port: number }

/** How an upstream is spoken to. */
export interface Upstream {
  readonly http2: boolean
  readonly addresses: Addresses
  /** Absent: `outsideTls`, or else in plaintext; towards destinations outside the mesh only. */
  readonly tls?: UpstreamTls
  /** TLS towards a server outside the mesh. Without what it needs there is no connection. */
  readonly outsideTls?: OutsideTls
  readonly connectTimeoutMs: number
  readonly maxConnections?: number
  readonly maxRequests?: number
  readonly maxPending?: number
  readonly maxRetries?: number
  readonly maxRequestsPerConnection?: number
  readonly breaker?: Breaker
  readonly balancing: 'round-robin' | 'least-request' | 'hash'
  /** Endpoints are asked by the sidecar itself, and left out while they do not answer. */
  readonly check?: Check
}

/** How an endpoint is asked whether it is there. */
export interface Check {
  /** `http`: by a request that is to be answered 200. `tcp`: by a connection, with its handshake. */
  readonly kind: 'http' | 'tcp'
  readonly path: string
  /** Marks the request, by its value `1`. */
  readonly header: string
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Failures in a row after which an endpoint is left out. */
  readonly unhealthyThreshold: number
  /** Successes in a row after which it is used again. */
  readonly healthyThreshold: number
}

/** Mutual TLS towards a service of the mesh. */
export interface UpstreamTls {
  readonly serverName: string
  /** The server must be one of them. */
  readonly principals: readonly string[]
}

/** Key of a credential among those that a document carries besides the sidecar's own, see `PipyCredentials`. */
export type CredentialKey = string

/** TLS towards a server outside the mesh. */
export interface OutsideTls {
  /** Absent for servers that are named by an address: those are not server names. */
  readonly serverName?: string
  /** One of these DNS names, in lower case, or of `addresses` must be in the certificate of the server. */
  readonly names: readonly string[]
  /** IP addresses as hexadecimal bytes. */
  readonly addresses: readonly string[]
  /** What is shown to the server; absent: nothing. `own` is the certificate of the sidecar's identity. */
  readonly shows?: 'own' | { readonly credential: CredentialKey }
  /** What has signed the server's certificate: roots of the mesh, of the system, or those that come with a credential. */
  readonly roots: 'mesh' | 'system' | { readonly credential: CredentialKey }
}

/** A statistical circuit breaker. */
export interface Breaker {
  readonly windowMs: number
  readonly minRequests: number
  readonly openMs: number
  readonly slowMs?: number
  readonly slowAmount?: number
  readonly slowRatio?: number
  readonly errorAmount?: number
  readonly errorRatio?: number
  readonly status: number
  readonly body: string
}
