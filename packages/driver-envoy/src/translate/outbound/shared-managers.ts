import type { Any } from '@bufbuild/protobuf/wkt'
import { TypedExtensionConfigSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'

import { contentVersion, encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { encode } from '../encoding/encode.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import type { ProxyView } from '../proxy-view.js'
import { choosingManager, routedManager } from '../routing/http-manager.js'
import type { Settings } from '../settings.js'
import { outboundManager } from './outbound-chain.js'
import { closableFilters, DIALLED_ADDRESS, needsOwnChain, type SharedChain, WITHOUT_HOST } from './shared-chains.js'

const NONE: ResourceSet = new LayeredResourceSet([])

/**
 * Connection managers of shared filter chains, each a resource of its own: a listener with one more address does not send them again.
 *
 * The content is part of the name, so what a name stands for never changes. A manager with other settings is another filter chain, and Envoy drains the
 * connections of the previous one.
 */
export class SharedManagerTranslation {
  readonly #bases: MemoTable<Any>
  readonly #managers: MemoTable<EncodedResource>
  readonly #chains: MemoTable<readonly SharedChain[]>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo) {
    this.#bases = memo.table()
    this.#managers = memo.table()
    this.#chains = memo.table()
    this.#sets = memo.table()
  }

  /** The managers of all shared chains of a proxy. A service that joins a chain changes nothing in them. */
  translate(view: ProxyView): ResourceSet {
    const { proxy, settings } = view
    if (proxy.mode !== 'transparent' || proxy.listen.outbound === undefined) return NONE
    const chains = this.#chainsOf(view)
    if (chains.length === 0) return NONE
    return this.#sets.get(JSON.stringify([chains.map(({ key }) => key), settings.key]), () => {
      const managers = chains.map((chain) => this.managerOf(chain, settings))
      return new LayeredResourceSet([new ResourceLayer(managers)])
    })
  }

  /** The manager of one chain: the same for all proxies with those settings. */
  managerOf({ port, shard, key }: SharedChain, settings: Settings): EncodedResource {
    return this.#managers.get(`${key} ${settings.key}`, () => {
      const base = this.#bases.get(JSON.stringify([port, settings.key]), () =>
        outboundManager(port, settings.mesh, closableFilters()),
      )
      const routed = routedManager(base, names.sharedRoutes(port, shard), WITHOUT_HOST)
      const typedConfig = choosingManager(routed, DIALLED_ADDRESS)
      const name = names.sharedManager(port, shard, contentVersion(typedConfig.value))
      // Nothing of it depends on who is trusted.
      const sources = settings.sources.filter(({ kind }) => kind === 'mesh')
      return encodedResource(name, encode(TypedExtensionConfigSchema, { name, typedConfig }), sources)
    })
  }

  #chainsOf(view: ProxyView): readonly SharedChain[] {
    const { proxy, reader, breakers, plaintext, sharedChains } = view
    const { contents } = reader.members(proxy.outbound, 'outbound')
    const key = JSON.stringify([contents, [...breakers.byCluster.keys()], plaintext.key])
    return this.#chains.get(key, () => {
      const chains = new Map<string, SharedChain>()
      for (const { part } of reader.members(proxy.outbound, 'outbound').list) {
        const shared = sharedChains.of(part)
        if (shared === undefined || part.addresses.length === 0 || needsOwnChain(part, view)) continue
        chains.set(shared.key, shared)
      }
      return [...chains].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, chain]) => chain)
    })
  }
}
