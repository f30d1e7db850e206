import type { PartRef, UpstreamPart } from '@osm-ts/driver-api'

import { encodedResource } from '../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../resources/types.js'
import { localCluster, passthroughCluster, upstreamCluster } from './cluster.js'
import { forwardProxyCluster } from './forward-proxy.js'
import type { Memo, MemoTable } from './memo.js'
import { names } from './names.js'
import type { Member } from './policy-reader.js'
import { probeClusters } from './probes.js'
import { metricsCluster } from './prometheus.js'
import type { ProxyView } from './proxy-view.js'
import type { Settings } from './settings.js'

/** Clusters of proxies: those of upstreams, which most of the mesh shares, and those of the proxy's own workload. */
export class ClusterTranslation {
  readonly #clusters: MemoTable<EncodedResource>
  readonly #layers: MemoTable<ResourceLayer>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo) {
    this.#clusters = memo.table()
    this.#layers = memo.table()
    this.#sets = memo.table()
  }

  translate(view: ProxyView): ResourceSet {
    const upstreams = `${view.proxy.upstreams ?? ''}|${view.settings.key}`
    const own = ownKey(view)
    return this.#sets.get(JSON.stringify([upstreams, own]), () => {
      const shared = this.#layers.get(JSON.stringify(['upstreams', upstreams]), () => this.#upstreams(view))
      const local = this.#layers.get(JSON.stringify(['own', own]), () => this.#own(view))
      return new LayeredResourceSet([shared, local])
    })
  }

  #upstreams({ proxy, reader, settings }: ProxyView): ResourceLayer {
    const { list } = reader.members(proxy.upstreams, 'upstream')
    return new ResourceLayer(list.map((member) => this.#upstream(member, settings)))
  }

  #upstream({ part, ref }: Member<UpstreamPart>, settings: Settings): EncodedResource {
    return this.#cluster([ref.hash, settings.key], part.id, [ref, ...settings.sources], () =>
      upstreamCluster(part, settings),
    )
  }

  #own(view: ProxyView): ResourceLayer {
    const { proxy, settings, served } = view
    const { admin } = proxy.listen
    const resources = served.map(({ binding, part, sources: [source] }) =>
      this.#cluster(
        ['local', part.id, binding.local, part.protocol, settings.key],
        names.localCluster(part.id),
        [...(source === undefined ? [] : [source]), ...settings.sources],
        () => localCluster(part.id, binding.local, part.protocol, settings),
      ),
    )
    if (settings.mesh.egressEnabled) {
      const [name, encode] =
        proxy.mode === 'transparent'
          ? ([names.passthroughCluster, passthroughCluster] as const)
          : ([names.forwardProxyCluster, forwardProxyCluster] as const)
      resources.push(this.#cluster([name, settings.key], name, settings.sources, () => encode(settings)))
    }
    if (hasMetrics(view) && admin !== undefined) {
      resources.push(this.#cluster(['metrics', admin], names.metricsCluster, [], () => metricsCluster(admin)))
    }
    for (const { name, value } of probeClusters(proxy.probes, proxy.ipFamilies)) {
      resources.push(encodedResource(name, value, []))
    }
    return new ResourceLayer(resources)
  }

  #cluster(
    key: readonly unknown[],
    name: string,
    sources: readonly PartRef[],
    build: () => Uint8Array,
  ): EncodedResource {
    return this.#clusters.get(JSON.stringify(key), () => encodedResource(name, build(), sources))
  }
}

/** True if the proxy gives its metrics to scrapers: it needs both an address for that and an administration interface to read them from. */
export function hasMetrics({ proxy }: ProxyView): boolean {
  return proxy.listen.metrics !== undefined && proxy.listen.admin !== undefined
}

/** Everything that {@link ClusterTranslation} reads for the proxy's own clusters. */
function ownKey(view: ProxyView): readonly unknown[] {
  const { proxy, settings, served } = view
  return [
    proxy.mode,
    settings.key,
    served.map(({ binding, part }) => [part.id, binding.local.address, binding.local.port, part.protocol]),
    hasMetrics(view) ? proxy.listen.admin : undefined,
    proxy.probes,
    proxy.ipFamilies,
  ]
}
