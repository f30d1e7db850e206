import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { ConnectionRouteKind, GatewayRouteKind, KindMap, RequestRouteKind } from '../../spec/index.js'
import type { NamespacedName } from '../policy/parts/keys.js'

/** RFC 1035, section 2.3.4. */
const MAX_HOST_LENGTH = 253

/** Service account that a TrafficTarget opens. */
export function destinationOf(target: KindMap['TrafficTarget']): ServiceAccountRef {
  const { name, namespace = target.metadata.namespace } = target.spec.destination
  return { namespace, name }
}

/** Service accounts that a TrafficTarget lets in, in the order of the object. */
export function sourcesOf(target: KindMap['TrafficTarget']): readonly ServiceAccountRef[] {
  return target.spec.sources.map(({ name, namespace = target.metadata.namespace }) => ({ namespace, name }))
}

/**
 * The service whose traffic a TrafficSplit shares out; undefined if its host name names another namespace than the split's.
 *
 * `spec.service` may be a host name. Its first label is the service; a second one must be the namespace of the split, because a namespace must not
 * redirect the traffic of another.
 */
export function apexOf(split: KindMap['TrafficSplit']): MeshService | undefined {
  const { namespace } = split.metadata
  const [name = '', second] = split.spec.service.split('.')
  return second === undefined || second === namespace ? { namespace, name } : undefined
}

/** Services that share the traffic, in the order of the object; a service may be named more than once. */
export function backendsOf(split: KindMap['TrafficSplit']): readonly MeshService[] {
  const { namespace } = split.metadata
  return split.spec.backends.map(({ service }) => ({ namespace, name: service }))
}

/** Services of its own namespace that a route is attached to, in the order of the object. */
export function parentsOf({ metadata, spec }: KindMap[GatewayRouteKind]): readonly MeshService[] {
  return spec.parentRefs
    .filter((parent) => isService(parent) && (parent.namespace ?? metadata.namespace) === metadata.namespace)
    .map(({ name }) => ({ namespace: metadata.namespace, name }))
}

/** The namespace of a route that says how its own workloads call Services of others; none for other routes. */
export function consumersOf({ metadata, spec }: KindMap[GatewayRouteKind]): readonly string[] {
  const isOfOthers = spec.parentRefs.some(
    (parent) => isService(parent) && (parent.namespace ?? metadata.namespace) !== metadata.namespace,
  )
  return isOfOthers ? [metadata.namespace] : []
}

/** Services that get requests or copies from a route, in the order of the object; a service may be named more than once. */
export function routeBackendsOf({ metadata, spec }: KindMap[RequestRouteKind]): readonly MeshService[] {
  return spec.rules.flatMap(({ backendRefs = [], filters = [] }) =>
    [...backendRefs, ...filters.flatMap(({ requestMirror }) => requestMirror?.backendRef ?? [])]
      .filter(isService)
      .map(({ namespace = metadata.namespace, name }) => ({ namespace, name })),
  )
}

/** Services that get connections from a route, in the order of the object; a service may be named more than once. */
export function connectionBackendsOf({ metadata, spec }: KindMap[ConnectionRouteKind]): readonly MeshService[] {
  return spec.rules.flatMap(({ backendRefs }) =>
    backendRefs.filter(isService).map(({ namespace = metadata.namespace, name }) => ({ namespace, name })),
  )
}

/** True if a reference of a route is to a Service. */
export function isService({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === '' && kind === 'Service'
}

/** Services that an IngressBackend or AccessControl opens. */
export function openedServicesOf({
  metadata,
  spec,
}: KindMap['IngressBackend' | 'AccessControl']): readonly MeshService[] {
  return spec.backends.map(({ name }) => ({ namespace: metadata.namespace, name }))
}

/** Service account whose requests a Retry repeats. */
export function retrySourceOf(retry: KindMap['Retry']): ServiceAccountRef {
  return { namespace: retry.spec.source.namespace, name: retry.spec.source.name }
}

/**
 * Services that the host of an UpstreamTrafficSetting may stand for: which of them it does depends on the cluster domain, so anyone who looks here looks
 * at the host again.
 */
export function settingHostCandidates(setting: KindMap['UpstreamTrafficSetting']): readonly MeshService[] {
  const { namespace } = setting.metadata
  // A longer text is not a host name. The candidates together can be as long as the square of the host: each label may be the name of the namespace.
  if (setting.spec.host.length > MAX_HOST_LENGTH) return []
  const labels = setting.spec.host.toLowerCase().split('.')
  return labels.flatMap((label, index) =>
    index > 0 && label === namespace ? [{ namespace, name: labels.slice(0, index).join('.') }] : [],
  )
}

/** Service accounts that an Egress lets out, in the order of the object; an account may be named more than once. */
export function egressSourcesOf(egress: KindMap['Egress']): readonly ServiceAccountRef[] {
  return egress.spec.sources.map(({ namespace, name }) => ({ namespace, name }))
}

/** Egress objects whose traffic rules of an EgressGateway are about, in the order of the object; one may be named more than once. */
export function ruledEgressesOf({ spec }: KindMap['EgressGateway']): readonly NamespacedName[] {
  return (spec.rules ?? []).flatMap(({ egressPolicies }) =>
    egressPolicies.map(({ namespace, name }) => ({ namespace, name })),
  )
}

/** Services that an EgressGateway names as gateways, in the order of the object; a service may be named more than once. */
export function gatewayServicesOf({
  spec: { global = [], rules = [] },
}: KindMap['EgressGateway']): readonly MeshService[] {
  const entries = [...global, ...rules.flatMap(({ egressGateways }) => egressGateways)]
  return entries.map(({ namespace, service }) => ({ namespace, name: service }))
}
