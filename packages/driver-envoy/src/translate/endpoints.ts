import { compareBy, compareText, type EndpointsPart, type PolicyEndpoint } from '@osm-ts/driver-api'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import type { LocalityLbEndpointsSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_components_pb.js'

import { socketAddress } from './address.js'
import { encode, type Init } from './encode.js'

/** The addresses of an upstream, by priority and locality. */
export function loadAssignment(part: EndpointsPart): Uint8Array {
  const groups = new Map<string, PolicyEndpoint[]>()
  for (const endpoint of part.endpoints.filter(isUsable)) {
    const { region, zone, subZone } = endpoint.locality
    const key = JSON.stringify([endpoint.priority, region, zone, subZone])
    groups.set(key, [...(groups.get(key) ?? []), endpoint])
  }
  return encode(ClusterLoadAssignmentSchema, {
    clusterName: part.id,
    endpoints: [...groups.entries()].sort(([a], [b]) => compareText(a, b)).flatMap(([, endpoints]) => group(endpoints)),
  })
}

/**
 * Envoy's weights start at 1, so an endpoint without weight is left out. So is one behind a remote cluster's gateway: multi-cluster is not declared, and
 * the upstream's own TLS settings would not fit it.
 */
function isUsable(endpoint: PolicyEndpoint): boolean {
  return endpoint.weight > 0 && endpoint.tls === undefined && endpoint.path === undefined
}

function group(endpoints: readonly PolicyEndpoint[]): Init<typeof LocalityLbEndpointsSchema>[] {
  const [first] = endpoints
  if (first === undefined) return []
  const order = compareBy<PolicyEndpoint>(
    (a, b) => compareText(a.address, b.address),
    (a, b) => a.port - b.port,
  )
  return [
    {
      priority: first.priority,
      locality: first.locality,
      lbEndpoints: [...endpoints].sort(order).map((endpoint) => ({
        hostIdentifier: { case: 'endpoint' as const, value: { address: socketAddress(endpoint) } },
        loadBalancingWeight: endpoint.weight,
      })),
    },
  ]
}
