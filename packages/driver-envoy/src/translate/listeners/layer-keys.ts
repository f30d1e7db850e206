import { egressDrainId, FORWARD_PROXY_DRAIN } from '../../resources/drain-ids.js'
import type { ProxyView } from '../proxy-view.js'
import { workloadMetadata } from '../telemetry/request-metrics.js'
import { hasMetrics } from '../upstreams/clusters.js'

/** True if the forward proxy of explicit mode may have to resolve hosts outside the mesh. */
export function isEgressAllowed({ proxy, settings }: ProxyView): boolean {
  return settings.mesh.egressEnabled || proxy.egress !== undefined
}

/** Ids of the upstreams that connections without HTTP reach by their server name. */
export function namedByServers({ proxy, reader }: ProxyView): ReadonlySet<string> {
  if (!reader.members(proxy.egress, 'egress').list.some(({ part }) => part.protocol === 'https')) return new Set()
  const upstreams = reader.members(proxy.upstreams, 'upstream').list
  return new Set(upstreams.flatMap(({ part }) => (part.discovery.kind === 'forwardProxy' ? [part.id] : [])))
}

/** Everything that the listeners of what a proxy calls are made of. */
export function outboundKey(view: ProxyView): readonly unknown[] {
  const { proxy, reader, settings } = view
  const { outbound, outboundHttp } = proxy.listen
  const listen = proxy.mode === 'explicit' ? outboundHttp : outbound
  // Short host names are in routes, so that proxies of all namespaces can share one listener.
  const chains = proxy.mode === 'explicit' ? '' : reader.members(proxy.outbound, 'outbound').contents
  const egress = proxy.mode === 'explicit' ? isEgressAllowed(view) : (proxy.egress ?? '')
  const resolved = proxy.mode === 'explicit' ? [] : [...namedByServers(view)]
  const { key: egressGatewayRoutes } = view.egressGatewayRoutes
  // What breaks them is in routes.
  const { byCluster } = view.breakers
  const broken = proxy.mode === 'explicit' ? byCluster.size > 0 : [...byCluster.keys()]
  const plaintext = proxy.mode === 'explicit' ? '' : view.plaintext.key
  const ways = proxy.mode === 'explicit' ? [FORWARD_PROXY_DRAIN] : egressDrainIds(view)
  const epochs = ways.flatMap((id) => view.drainEpochs.get(id) ?? [])
  const shared = [
    proxy.mode,
    epochs.length === 0 ? '' : [ways, epochs],
    listen,
    proxy.ipFamilies,
    chains,
    egress,
    resolved,
    egressGatewayRoutes,
    broken,
    plaintext,
  ]
  return [...shared, settings.key, metadataKey(view)]
}

/** Ids of the drain epochs of ways out; none while nothing was closed, which is most of the time. */
function egressDrainIds({ proxy, reader, drainEpochs }: ProxyView): readonly string[] {
  if (drainEpochs.size === 0) return []
  const ids = reader.members(proxy.egress, 'egress').list.map(({ part }) => egressDrainId(part))
  return [...new Set(ids)].filter((id) => drainEpochs.has(id)).sort()
}

/** Everything that the listeners of what a proxy serves, and of its own ports, are made of. */
export function ownKey(view: ProxyView): readonly unknown[] {
  const { proxy, settings, served, servedOutside, drainEpochs } = view
  return [
    proxy.mode,
    proxy.ipFamilies,
    settings.key,
    proxy.listen.inbound,
    [served, servedOutside].map((list) =>
      list.map(({ binding, part }) => [binding.part, binding.listen, drainEpochs.get(part.id)]),
    ),
    proxy.outboundBindings,
    proxy.outboundBindings.length > 0 ? proxy.outbound : '',
    hasMetrics(view) ? proxy.listen.metrics : undefined,
    proxy.probes,
    metadataKey(view),
  ]
}

/** With metrics of requests listeners name their workload, so that no two proxies have the same. */
function metadataKey({ proxy }: ProxyView): unknown {
  return workloadMetadata(proxy) ?? ''
}
