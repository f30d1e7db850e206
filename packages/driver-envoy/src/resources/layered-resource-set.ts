import { contentVersion } from './encoded-resource.js'
import type { EncodedResource, ResourceSet } from './types.js'

/** Resources that come and go together, sorted and indexed once for all sets that they are part of. */
export class ResourceLayer {
  /** Sorted by name. */
  readonly resources: readonly EncodedResource[]
  /** Places in {@link resources}; layers that differ in versions only share it. */
  readonly #places: ReadonlyMap<string, number>
  #version: string | undefined

  /** @param resources - in any order, no name twice */
  constructor(resources: Iterable<EncodedResource>)
  /** @param renewed - a layer with the same names, whose order and index are shared; `resources` are in its order */
  constructor(resources: readonly EncodedResource[], renewed: ResourceLayer)
  constructor(resources: Iterable<EncodedResource>, renewed?: ResourceLayer) {
    const list = [...resources]
    if (renewed === undefined) list.sort((a, b) => (a.name < b.name ? -1 : 1))
    this.resources = list
    this.#places = renewed === undefined ? new Map(list.map(({ name }, place) => [name, place])) : renewed.#places
  }

  /** Content hash, made when it is first requested. */
  get version(): string {
    // Neither names nor versions hold a NUL, so that two layers never have one text.
    return (this.#version ??= contentVersion(
      this.resources.map(({ name, version }) => `${name}\0${version}\0`).join(''),
    ))
  }

  get(name: string): EncodedResource | undefined {
    const place = this.#places.get(name)
    return place === undefined ? undefined : this.resources[place]
  }

  /** The layer with those resources in place of what it has by their names. Names that it does not have are left out. */
  with(renewed: readonly EncodedResource[]): ResourceLayer {
    const resources = [...this.resources]
    for (const resource of renewed) {
      const place = this.#places.get(resource.name)
      if (place !== undefined) resources[place] = resource
    }
    return new ResourceLayer(resources, this)
  }
}

/**
 * A set made of layers that other sets share: what thousands of proxies have in common is sorted, indexed and hashed once. The version covers the
 * layers' versions in their order; the same policy is always cut into the same layers.
 */
export class LayeredResourceSet implements ResourceSet {
  readonly size: number
  readonly layers: readonly ResourceLayer[]
  #version: string | undefined

  /** @param layers - no name occurs in two of them */
  constructor(layers: readonly ResourceLayer[]) {
    this.layers = layers
    this.size = layers.reduce((size, layer) => size + layer.resources.length, 0)
  }

  get version(): string {
    return (this.#version ??= contentVersion(this.layers.map((layer) => layer.version).join('\0')))
  }

  get(name: string): EncodedResource | undefined {
    for (const layer of this.layers) {
      const resource = layer.get(name)
      if (resource !== undefined) return resource
    }
    return undefined
  }

  *[Symbol.iterator](): Iterator<EncodedResource> {
    const { layers } = this
    const positions = layers.map(() => 0)
    for (let left = this.size; left > 0; left -= 1) {
      let first = -1
      let next: EncodedResource | undefined
      // Without a function for each resource: this is read for each proxy that connects.
      for (let index = 0; index < layers.length; index += 1) {
        const candidate = layers[index]?.resources[positions[index] ?? 0]
        if (candidate === undefined || (next !== undefined && next.name < candidate.name)) continue
        first = index
        next = candidate
      }
      if (next === undefined) return
      positions[first] = (positions[first] ?? 0) + 1
      yield next
    }
  }
}
