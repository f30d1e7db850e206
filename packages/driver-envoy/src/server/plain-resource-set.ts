import type { EncodedResource, ResourceSet } from '../resources/types.js'
import { hashVersions } from './content-hash.js'

/** A set made of the given resources; a later one replaces an earlier one of its name. */
export function plainResourceSet(resources: Iterable<EncodedResource>): ResourceSet {
  const byName = new Map<string, EncodedResource>()
  for (const resource of resources) byName.set(resource.name, resource)
  const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    version: hashVersions(new Map(sorted.map(({ name, version }) => [name, version]))),
    size: sorted.length,
    get: (name) => byName.get(name),
    [Symbol.iterator]: () => sorted[Symbol.iterator](),
  }
}
