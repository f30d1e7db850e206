import type { Branded } from '../../identity.js'

/** Content address of a part: the first 192 bits of SHA-256 over its canonical JSON, base64url (32 characters). */
export type PartHash = Branded<string, 'PartHash'>

/** A plain JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * Application protocol of a port, from `appProtocol`, else the port name, else `http`; never from sniffing.
 *
 * `http` is HTTP/1.1 (upgrades included), `http2` and `grpc` use prior knowledge, `https` is the application's own TLS passed through,
 * `tcp-server-first` promises that nothing waits for the client's first byte.
 */
export type Protocol = 'http' | 'http2' | 'grpc' | 'https' | 'tcp' | 'tcp-server-first'

/** Where something listens or is reached by IP. */
export interface SocketAddress {
  /** An IP address, v4 or v6, without brackets. */
  readonly address: string
  /** 1 to 65535. */
  readonly port: number
}

/** Where something is reached by name. */
export interface HostAddress {
  /** DNS name or IP address, without brackets. */
  readonly host: string
  /** 1 to 65535. */
  readonly port: number
}

/** An inclusive set of addresses, such as `10.0.0.0/8` or `fd00::/8`. */
export type Cidr = string

/** Where a workload runs; empty strings where unknown. */
export interface Locality {
  /** Largest unit. */
  readonly region: string
  /** Unit inside the region. */
  readonly zone: string
  /** Unit inside the zone. */
  readonly subZone: string
}

/**
 * A credential that the host provides by `credentials(proxy, ref)`, only while that proxy's policy contains the reference.
 *
 * `service` is the proxy's own service certificate; the others name material that policy objects mention.
 */
export type CredentialRef =
  /** The certificate of the proxy's own identity. */
  | { readonly kind: 'service' }
  /** What the host keeps for servers outside the mesh, such as the value of a header; `name` is chosen by the host. */
  | { readonly kind: 'egress'; readonly name: string }
  /** A secret of the mesh spec. */
  | { readonly kind: 'secret'; readonly namespace: string; readonly name: string }

/** One HTTP header. */
export interface HttpHeader {
  /** As it is written on the wire; compared without regard to case. */
  readonly name: string
  /** Verbatim. */
  readonly value: string
}
