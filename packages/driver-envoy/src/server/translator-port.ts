import type { Part, PartHash, ProxyPart } from '@osm-ts/driver-api'

import type { ProxyResources, ResourceDiff, ResourceSet } from '../resources/types.js'

/** Gives the part of a hash. Every part that is reachable from the proxy part is there. */
export type PartLookup = (hash: PartHash) => Part

/**
 * Marks of withdrawn access by id of the inbound part. A mark that changes makes Envoy close the connections of that inbound port after its drain
 * time, whether or not anything else of the listener changed.
 */
export type DrainEpochs = ReadonlyMap<string, string>

/** What the server needs of translation. Pure: equal arguments give sets of equal versions. */
export interface ResourceTranslator {
  translate(proxy: ProxyPart, parts: PartLookup, revision: number, drainEpochs?: DrainEpochs): ProxyResources
}

/** Compares two sets of one type by name and version. */
export type ResourceDiffer = (before: ResourceSet, after: ResourceSet) => ResourceDiff
