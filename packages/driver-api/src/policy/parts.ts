/**
 * The parts of a ProxyPolicy.
 *
 * A part is a frozen, JSON-safe value. Its hash covers its canonical JSON (see `canonicalJson`), so that equal hashes mean equal bytes on every
 * replica. Parts that a translation must read together refer to each other by hash; parts that only need to name each other (a route its upstream,
 * an upstream its endpoints) do so by id, so that a change of endpoints does not change the hashes of routes and upstreams.
 *
 * Lists without significant order are sorted by the producer with `compareText` and have no duplicates; ordered lists say so. Durations
 * are integer milliseconds, counts and weights integers from 0 to 4,294,967,295. Parts contain no secrets: credentials are references.
 */
import type { EndpointsPart, OutboundPart, UpstreamPart } from './parts/called-parts.js'
import type { ClientRulesPart, DnsPart, EgressPart, ExtensionPart } from './parts/client-parts.js'
import type { MeshPart, PrincipalsPart, TrustPart } from './parts/mesh-parts.js'
import type { ProxyPart } from './parts/proxy-part.js'
import type { InboundPart, IngressPart } from './parts/served-parts.js'
import type { SetPart } from './parts/set-part.js'

export type * from './parts/called-parts.js'
export type * from './parts/client-parts.js'
export type * from './parts/limits.js'
export type * from './parts/matching.js'
export type * from './parts/mesh-parts.js'
export type * from './parts/proxy-part.js'
export type * from './parts/served-parts.js'
export type * from './parts/set-part.js'
export type * from './parts/values.js'

/** Any part. */
export type Part =
  | ProxyPart
  | TrustPart
  | MeshPart
  | PrincipalsPart
  | InboundPart
  | IngressPart
  | OutboundPart
  | UpstreamPart
  | EndpointsPart
  | ClientRulesPart
  | EgressPart
  | DnsPart
  | ExtensionPart
  | SetPart

/** Discriminator of {@link Part}. */
export type PartKind = Part['kind']

/** The part of a kind. */
export type PartOf<K extends PartKind> = Extract<Part, { readonly kind: K }>
