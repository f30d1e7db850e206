import type { MeshPart, PartRef, TrustPart } from '@osm-ts/driver-api/policy'

import type { Fragments } from './encoding/fragments.js'

/** Limits of HTTP that keep one peer from holding more memory than its share. */
export interface HttpLimits {
  /** Size of all request headers together, in kibibytes. */
  readonly requestHeadersKiB: number
  /** Number of request headers, and of response headers of workloads. */
  readonly headers: number
  /** Requests that a caller may have under way on one HTTP/2 connection to a served port. Callers of the mesh open another one beyond that. */
  readonly concurrentStreams: number
}

/** Above what servers of applications take by default: 8 KiB in Tomcat, 16 KiB in Node.js, 32 KiB in nginx, 1 MiB in Go without a limit of their number. */
export const DEFAULT_HTTP_LIMITS: HttpLimits = { requestHeadersKiB: 256, headers: 1000, concurrentStreams: 1000 }

/** The settings of the mesh, with those of the class, and with what of them only some identities have. */
export interface MeshSettings extends MeshPart {
  readonly httpLimits: HttpLimits
  /** What spans say that they come from, for providers that do not take it from the bootstrap. */
  readonly serviceName?: string
  /** What is encoded once for everything that is made with these settings. */
  readonly fragments: Fragments
}

/** What peers are verified by, with what of it only some identities have. */
export interface MeshTrust extends TrustPart {
  /** Present: the own certificate has this SPIFFE ID, and comes from the Workload API beside the proxy. */
  readonly workloadApiId?: string
}

/** What every translation may depend on besides its own part. */
export interface Settings {
  readonly mesh: MeshSettings
  readonly trust: MeshTrust
  /** Pins both; goes into the keys of whatever is made with them. */
  readonly key: string
  /** The two parts, for tracing rejections. */
  readonly sources: readonly PartRef[]
}
