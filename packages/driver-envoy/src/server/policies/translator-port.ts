import type {
  EndpointsPart,
  OutboundPart,
  Part,
  PartHash,
  PartLookup,
  PartRef,
  ProxyPart,
} from '@osm-ts/driver-api/policy'

import type {
  EncodedResource,
  LiveEndpoints,
  ProxyResources,
  ResourceDiff,
  ResourceSet,
} from '../../resources/types.js'

/**
 * Marks of withdrawn access by id of the inbound part. A mark that changes makes Envoy close the connections of that inbound port after its drain
 * time, whether or not anything else of the listener changed.
 */
export type DrainEpochs = ReadonlyMap<string, string>

/** What the server needs of translation. */
export interface ResourceTranslator {
  /**
   * Equal arguments give sets of equal versions.
   *
   * @param retired - called services that the policy no longer has, sorted by id: connections to them are drained
   */
  translate(
    proxy: ProxyPart,
    parts: PartLookup,
    revision: number,
    drainEpochs?: DrainEpochs,
    retired?: readonly OutboundPart[],
  ): ProxyResources
  /** Endpoints have become others, under the hashes that policies refer to them by. Gives every set that they are in. */
  renew(parts: Iterable<readonly [PartHash, EndpointsPart]>): readonly LiveEndpoints[]
  /** The resources of a proxy are not needed any more. Does nothing if newer ones were made for it. */
  release(proxyId: ProxyPart['id'], resources: ProxyResources): void
}

/** Finds the parts that a refusal of a resource is about, and the element in each where the words allow to tell. */
export type RefusalTracer = (
  message: string,
  resource: EncodedResource,
  lookup: (hash: PartHash) => Part | undefined,
) => readonly { readonly part: PartRef; readonly element?: string }[]

/** Compares two sets of one type by name and version. */
export type ResourceDiffer = (before: ResourceSet, after: ResourceSet) => ResourceDiff
