import type { PartRef } from '@osm-ts/driver-api/policy'
import type { SecretCredentialRef } from '@osm-ts/driver-api/toolkit'

/** The xDS types that translation produces. Secrets are not among them: they come from credential streams, never from policy. */
export type TranslatedType = 'cluster' | 'endpoints' | 'listener' | 'extension' | 'route'

/** One xDS resource, encoded once and shared by every stream that needs it. */
export interface EncodedResource {
  readonly name: string
  /** Content hash of {@link value}. */
  readonly version: string
  /** The encoded message: the `value` of a `google.protobuf.Any`. Never mutated. */
  readonly value: Uint8Array
  /** The policy parts that it was made of, for tracing a rejection back to its objects. */
  readonly sources: readonly PartRef[]
  /** Present: a proxy that has it is sent a change of it before the listeners that begin to use what is new in it. */
  readonly leads?: true
}

/** An immutable set of resources of one type, shared by all proxies whose policy yields the same one. */
export interface ResourceSet {
  /** Content hash over names and versions of all members: the `version_info` of state-of-the-world responses. */
  readonly version: string
  readonly size: number
  get(name: string): EncodedResource | undefined
  /** Sorted by name. */
  [Symbol.iterator](): Iterator<EncodedResource>
}

/** What changed between two sets. */
export interface ResourceDiff {
  readonly changed: readonly EncodedResource[]
  readonly removed: readonly string[]
  /** What is in {@link changed}, by name. */
  readonly changedByName: ReadonlyMap<string, EncodedResource>
}

/** Endpoints of all proxies that may call the same services from one locality. Those that come and go change what {@link current} is. */
export interface LiveEndpoints {
  readonly current: ResourceSet
  /** What made the current set of the one before: nearly all streams have that one. Absent until something changes. */
  readonly change?: EndpointsChange | undefined
}

/** See {@link LiveEndpoints}. */
export interface EndpointsChange {
  readonly before: ResourceSet
  readonly diff: ResourceDiff
}

/** Everything that one proxy is to be sent for one revision of its policy. */
export interface ProxyResources {
  readonly revision: number
  /** Endpoints are those of {@link endpoints} at the moment. */
  readonly types: Readonly<Record<TranslatedType, ResourceSet>>
  readonly endpoints: LiveEndpoints
  /** Secrets that hold nothing secret: who may finish a handshake with each TCP port that the proxy serves. Sorted by name. */
  readonly callers: readonly EncodedResource[]
  /** Client certificates that clusters show to servers outside the mesh. What they are comes by streams of their own. */
  readonly credentials: readonly SecretCredentialRef[]
  /** Present: the proxy takes its service certificate from a Workload API, and is sent none. */
  readonly workloadApi?: true
}

/** SDS name of the proxy's own service certificate; one constant, so that cluster bytes do not differ between downstreams. */
export const SERVICE_CERT_SECRET = 'service-cert'
/** What the SDS names of callers of TCP ports start with; the id of the served port follows. */
export const CALLERS_SECRET_PREFIX = 'callers|'
/** SDS name of the roots that service certificates are verified against. */
export const ROOT_CERT_SECRET = 'root-cert-for-mtls'

/** SDS name of a client certificate of a Secret. */
export function egressCertSecret({ namespace, name }: SecretCredentialRef): string {
  return `egress-cert|${namespace}/${name}`
}

/** SDS name of the roots that come with it. */
export function egressRootsSecret({ namespace, name }: SecretCredentialRef): string {
  return `egress-root-cert|${namespace}/${name}`
}
