import { contentVersion } from '../../resources/encoded-resource.js'
import type { ResourceSet } from '../../resources/types.js'

/**
 * The version of a state that need not be that of a shared set: a hash over names and versions. A state that is that of the set has the set's version.
 */
export function stateVersion(versions: ReadonlyMap<string, string>, set: ResourceSet): string {
  const same = versions.size === set.size && [...set].every(({ name, version }) => versions.get(name) === version)
  if (same) return set.version
  const names = [...versions.keys()].sort()
  // Neither names nor versions hold a NUL, so that two states never have one text.
  return contentVersion(names.map((name) => `${name}\0${versions.get(name) ?? ''}\0`).join(''))
}
