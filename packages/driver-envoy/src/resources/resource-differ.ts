import { LayeredResourceSet, type ResourceLayer } from './layered-resource-set.js'
import type { EncodedResource, ResourceDiff, ResourceSet } from './types.js'

/** What both sets and layers offer to a comparison. */
interface Indexed {
  readonly resources: Iterable<EncodedResource>
  get(name: string): EncodedResource | undefined
}

/** What all proxies that move from one set to another have in common. */
export class SharedDiff implements ResourceDiff {
  readonly changed: readonly EncodedResource[]
  readonly removed: readonly string[]
  #byName: ReadonlyMap<string, EncodedResource> | undefined

  constructor(changed: readonly EncodedResource[], removed: readonly string[]) {
    this.changed = changed
    this.removed = removed
  }

  get changedByName(): ReadonlyMap<string, EncodedResource> {
    return (this.#byName ??= new Map(this.changed.map((resource) => [resource.name, resource])))
  }
}

/**
 * Compares sets, and remembers results as long as both sides exist: when 2,000 proxies move from one shared set to the next, the work is done once.
 */
export class ResourceDiffer {
  readonly #sets = new WeakMap<ResourceSet, WeakMap<ResourceSet, ResourceDiff>>()
  readonly #layers = new WeakMap<ResourceLayer, WeakMap<ResourceLayer, ResourceDiff>>()

  /** What leads from one set of a type to another: resources that are new or have another version, and names that are gone, both sorted by name. */
  diff(before: ResourceSet, after: ResourceSet): ResourceDiff {
    return remembered(this.#sets, before, after, () => this.#compare(before, after))
  }

  #compare(before: ResourceSet, after: ResourceSet): ResourceDiff {
    const layers = pairs(before, after)
    if (layers === undefined) return compare(indexed(before), indexed(after))
    const diffs = layers
      .filter(([old, now]) => old !== now)
      .map(([old, now]) => remembered(this.#layers, old, now, () => compare(old, now)))
    if (diffs.length === 1 && diffs[0] !== undefined) return diffs[0]
    // A name that moved from one layer to another is neither new nor gone.
    return new SharedDiff(
      diffs
        .flatMap(({ changed }) => changed)
        .filter(({ name, version }) => before.get(name)?.version !== version)
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      diffs
        .flatMap(({ removed }) => removed)
        .filter((name) => after.get(name) === undefined)
        .sort(),
    )
  }
}

/** The two sets layer by layer; undefined if they are not cut alike. */
function pairs(
  before: ResourceSet,
  after: ResourceSet,
): readonly (readonly [ResourceLayer, ResourceLayer])[] | undefined {
  if (!(before instanceof LayeredResourceSet) || !(after instanceof LayeredResourceSet)) return undefined
  if (before.layers.length !== after.layers.length) return undefined
  return before.layers.flatMap((old, index) => {
    const now = after.layers[index]
    return now === undefined ? [] : [[old, now] as const]
  })
}

function remembered<K extends object>(
  memory: WeakMap<K, WeakMap<K, ResourceDiff>>,
  before: K,
  after: K,
  compute: () => ResourceDiff,
): ResourceDiff {
  let row = memory.get(before)
  if (row === undefined) memory.set(before, (row = new WeakMap()))
  let diff = row.get(after)
  if (diff === undefined) row.set(after, (diff = compute()))
  return diff
}

function indexed(set: ResourceSet): Indexed {
  return { resources: set, get: (name) => set.get(name) }
}

function compare(before: Indexed, after: Indexed): ResourceDiff {
  const changed = [...after.resources].filter(({ name, version }) => before.get(name)?.version !== version)
  const removed = [...before.resources].map(({ name }) => name).filter((name) => after.get(name) === undefined)
  return new SharedDiff(changed, removed)
}
