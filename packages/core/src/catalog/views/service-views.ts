import type { MeshService } from '@osm-ts/driver-api'

import type { WeightedCluster } from '../catalog-types.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { nameKey, sortedUnique, targetPortKey } from '../policy/parts/keys.js'
import { outboundPart } from '../policy/routing/outbound.js'
import { serviceModel } from '../policy/upstreams/services.js'
import { upstreamOfPort } from '../policy/upstreams/upstreams.js'
import type { PolicyComputation } from '../policy-computation.js'

/** Weight of a service that is a backend of no split. */
const WHOLE = 100

/**
 * Host names by which workloads of one service can call another, each also with every port: the short one only within a namespace.
 */
export function resolvableHostNames(
  computation: PolicyComputation,
  downstream: MeshService,
  upstream: MeshService,
): readonly string[] {
  const ports = computation.read(serviceModel, upstream)?.ports ?? []
  const names = ports.flatMap(({ port }) => {
    const part = computation.read(outboundPart, { ...upstream, port })?.part
    if (part === undefined) return []
    const hosts = downstream.namespace === upstream.namespace ? [part.shortHost, ...part.hosts] : part.hosts
    return hosts.flatMap((host) => [host, `${host}:${port}`])
  })
  return sortedUnique(names)
}

/** The share of the traffic of its apexes that a service gets. */
export function weightedCluster(computation: PolicyComputation, service: MeshService): WeightedCluster {
  const ports = computation.read(serviceModel, service)?.ports ?? []
  const upstreams = ports.flatMap(({ port }) => computation.read(upstreamOfPort, { ...service, port }) ?? [])
  return {
    service,
    weight: splitWeight(computation.state, service),
    upstreams: sortedUnique(upstreams.map(targetPortKey)),
  }
}

function splitWeight(state: CatalogState | undefined, service: MeshService): number {
  const [first] = state?.indexes.find('splitsByBackend', nameKey(service)) ?? []
  const split = first && state?.snapshot.get('TrafficSplit', first.namespace, first.name)
  if (split === undefined) return WHOLE
  const weights = split.spec.backends.filter((backend) => backend.service === service.name).map(({ weight }) => weight)
  return weights.reduce((sum, weight) => sum + Math.max(weight, 0), 0)
}
