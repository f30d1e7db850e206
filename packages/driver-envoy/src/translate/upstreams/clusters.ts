import type { PartRef, PartInSet, UpstreamPart } from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { accessLogCluster } from '../telemetry/access-log.js'
import { localCluster, passthroughCluster, upstreamCluster } from './cluster.js'
import { externalAuthorizationCluster } from '../access/external-authorization.js'
import { rateLimitCluster, rateLimitServices } from '../limits/global-rate-limits.js'
import { forwardProxyCluster } from '../egress/forward-proxy.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import { probeClusters } from '../inbound/probes.js'
import { metricsCluster } from '../telemetry/prometheus.js'
import type { ProxyView } from '../proxy-view.js'
import { quitCluster } from './quit.js'
import type { Settings } from '../settings.js'
import { tracingCluster } from '../telemetry/tracing.js'
import { tunnelledCluster, tunnelledPassthrough } from '../egress/tunnel.js'

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

  #upstream({ part, ref }: PartInSet<UpstreamPart>, settings: Settings): EncodedResource {
    return this.#cluster([ref.hash, settings.key], part.id, [ref, ...settings.sources], () =>
      upstreamCluster(part, settings),
    )
  }

  #own(view: ProxyView): ResourceLayer {
    const { proxy, settings } = view
    const { admin } = proxy.listen
    const resources = [
      ...this.#local(view),
      ...this.#authorizations(view),
      ...this.#rateLimits(view),
      ...this.#tunnelled(view),
    ]
    if (settings.mesh.egressEnabled) resources.push(this.#passthrough(view))
    const tracing = tracingCluster(settings.mesh)
    const accessLog = accessLogCluster(settings.mesh)
    if (accessLog !== undefined) resources.push(encodedResource(names.accessLogCluster, accessLog, settings.sources))
    if (tracing !== undefined) resources.push(encodedResource(names.tracingCluster, tracing, settings.sources))
    if (hasMetrics(view) && admin !== undefined) {
      resources.push(this.#cluster(['metrics', admin], names.metricsCluster, [], () => metricsCluster(admin)))
    }
    if (proxy.workloadEnded === true && admin !== undefined) {
      resources.push(this.#cluster(['quit', admin], names.quitCluster, [], () => quitCluster(admin)))
    }
    for (const { name, value } of probeClusters(proxy.probes, proxy.ipFamilies)) {
      resources.push(encodedResource(name, value, []))
    }
    return new ResourceLayer(resources)
  }

  /** A port that is served inside and outside has one cluster. */
  #local({ served, servedOutside, settings }: ProxyView): readonly EncodedResource[] {
    const ports = new Map([...servedOutside, ...served].map((service) => [service.part.id, service]))
    return [...ports.values()].map(({ binding, part, sources: [source] }) =>
      this.#cluster(
        ['local', binding.part, binding.local, settings.key],
        names.localCluster(part.id),
        [...(source === undefined ? [] : [source]), ...settings.sources],
        () => localCluster(part.id, binding.local, part.protocol, settings),
      ),
    )
  }

  #authorizations({ served, servedOutside, settings }: ProxyView): readonly EncodedResource[] {
    const services = [...served, ...servedOutside].flatMap(({ part }) => part.externalAuthorization ?? [])
    const byName = new Map(services.map((service) => [names.externalAuthorizationCluster(service), service]))
    return [...byName].map(([name, service]) =>
      this.#cluster([name, settings.key], name, settings.sources, () =>
        externalAuthorizationCluster(service, settings),
      ),
    )
  }

  #rateLimits({ served, servedOutside, settings }: ProxyView): readonly EncodedResource[] {
    const services = [...served, ...servedOutside].flatMap(({ part }) => rateLimitServices(part.rateLimits))
    const byName = new Map(services.map((service) => [names.rateLimitCluster(service), service]))
    return [...byName].map(([name, service]) =>
      this.#cluster([name, settings.key], name, settings.sources, () => rateLimitCluster(service, settings)),
    )
  }

  #passthrough({ proxy, settings, egressGatewayRoutes: { others, sources } }: ProxyView): EncodedResource {
    const [name, encode] =
      proxy.mode === 'transparent'
        ? ([names.passthroughCluster, passthroughCluster] as const)
        : ([names.forwardProxyCluster, forwardProxyCluster] as const)
    if (others === undefined) return this.#cluster([name, settings.key], name, settings.sources, () => encode(settings))
    const value = tunnelledPassthrough(name, others, settings)
    return encodedResource(names.tunnelledCluster(name, others.name), value, [...sources, ...settings.sources])
  }

  /** One for each upstream and tunnel that lead to a destination together. */
  #tunnelled({ proxy, reader, settings, egressGatewayRoutes }: ProxyView): readonly EncodedResource[] {
    if (egressGatewayRoutes.byPart.size === 0) return []
    const upstreams = new Map(
      reader.members(proxy.upstreams, 'upstream').list.map((member) => [member.part.id, member]),
    )
    const clusters = new Map<string, EncodedResource>()
    for (const { part } of reader.members(proxy.egress, 'egress').list) {
      const tunnel = egressGatewayRoutes.byPart.get(part.id)?.tunnel
      for (const { upstream } of [...part.targets, ...part.routes.flatMap(({ targets }) => targets)]) {
        const member = upstreams.get(upstream)
        if (tunnel === undefined || member === undefined) continue
        const name = names.tunnelledCluster(upstream, tunnel.name)
        const sources = [member.ref, ...egressGatewayRoutes.sources, ...settings.sources]
        clusters.set(name, encodedResource(name, tunnelledCluster(member.part, tunnel, settings), sources))
      }
    }
    return [...clusters.values()]
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
  const { proxy, settings, served, servedOutside, egressGatewayRoutes } = view
  return [
    proxy.mode,
    settings.key,
    [...served, ...servedOutside].map(({ binding }) => [binding.part, binding.local.address, binding.local.port]),
    hasMetrics(view) || proxy.workloadEnded === true ? proxy.listen.admin : undefined,
    proxy.workloadEnded === true,
    proxy.probes,
    proxy.ipFamilies,
    egressGatewayRoutes.key,
    ...(egressGatewayRoutes.byPart.size > 0 ? [proxy.upstreams, proxy.egress] : []),
  ]
}
