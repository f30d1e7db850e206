import { contentVersion } from './encoded-resource.js'
import type { EncodedResource, ResourceSet } from './types.js'

/** Resources that come and go together, sorted and indexed once for all sets that they are part of. */
export class ResourceLayer {
  readonly version: string
  /** Sorted by name. */
  readonly resources: readonly EncodedResource[]
  readonly #byName: ReadonlyMap<string, EncodedResource>

  /** @param resources - in any order, no name twice */
  constructor(resources: Iterable<EncodedResource>) {
    this.resources = [...resources].sort((a, b) => (a.name < b.name ? -1 : 1))
    this.#byName = new Map(this.resources.map((resource) => [resource.name, resource]))
    // Neither names nor versions hold a NUL, so that two layers never have one text.
    this.version = contentVersion(this.resources.map(({ name, version }) => `${name}\0${version}\0`).join(''))
  }

  get(name: string): EncodedResource | undefined {
    return this.#byName.get(name)
  }
}

/**
 * A set made of layers that other sets share: what thousands of proxies have in common is sorted, indexed and hashed once. The version covers the
 * layers' versions in their order; the same policy is always cut into the same layers.
 */
export class LayeredResourceSet implements ResourceSet {
  readonly version: string
  readonly size: number
  readonly layers: readonly ResourceLayer[]

  /** @param layers - no name occurs in two of them */
  constructor(layers: readonly ResourceLayer[]) {
    this.layers = layers
    this.size = layers.reduce((size, layer) => size + layer.resources.length, 0)
    this.version = contentVersion(layers.map((layer) => layer.version).join('\0'))
  }

  get(name: string): EncodedResource | undefined {
    for (const layer of this.layers) {
      const resource = layer.get(name)
      if (resource !== undefined) return resource
    }
    return undefined
  }

  *[Symbol.iterator](): Iterator<EncodedResource> {
    const positions = this.layers.map(() => 0)
    for (let left = this.size; left > 0; left -= 1) {
      let first = -1
      let next: EncodedResource | undefined
      this.layers.forEach((layer, index) => {
        const candidate = layer.resources[positions[index] ?? 0]
        if (candidate === undefined || (next !== undefined && next.name < candidate.name)) return
        first = index
        next = candidate
      })
      if (next === undefined) return
      positions[first] = (positions[first] ?? 0) + 1
      yield next
    }
  }
}
