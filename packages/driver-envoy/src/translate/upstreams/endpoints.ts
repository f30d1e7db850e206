import {
  compareBy,
  compareText,
  type EndpointsPart,
  type Locality,
  type PolicyEndpoint,
} from '@osm-ts/driver-api/policy'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import type { LocalityLbEndpointsSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_components_pb.js'

import { socketAddress } from '../encoding/address.js'
import { encode, type Init } from '../encoding/encode.js'
import { PLAINTEXT_MATCH } from './plaintext.js'

interface Group {
  readonly priority: number
  readonly distance: number
  readonly locality: Locality
  readonly endpoints: PolicyEndpoint[]
}

/** The addresses of an upstream, by priority and locality, as a proxy of some locality uses them. */
export function loadAssignment(part: EndpointsPart, own: Locality): Uint8Array {
  const groups = new Map<string, Group>()
  for (const endpoint of part.endpoints.filter(isUsable)) {
    const { priority, locality } = endpoint
    const distance = part.preferClose === true ? distanceOf(locality, own) : 0
    const key = JSON.stringify([priority, locality.region, locality.zone, locality.subZone])
    const group = groups.get(key) ?? { priority, distance, locality, endpoints: [] }
    group.endpoints.push(endpoint)
    groups.set(key, group)
  }
  return encode(ClusterLoadAssignmentSchema, {
    clusterName: part.id,
    endpoints: ranked([...groups.values()]).map(([priority, group]) => localityEndpoints(priority, group)),
  })
}

/** 0: the same zone; 1: the same region; 2: elsewhere, or no one knows. */
function distanceOf(there: Locality, here: Locality): number {
  const same = (part: 'region' | 'zone'): boolean => here[part] !== '' && here[part] === there[part]
  const otherRegion = here.region !== '' && there.region !== '' && here.region !== there.region
  // Names of zones may be told apart by their region alone.
  if (same('zone') && !otherRegion) return 0
  return same('region') ? 1 : 2
}

/** Envoy's priorities start at 0 and leave out none. */
function ranked(groups: readonly Group[]): readonly (readonly [number, Group])[] {
  const order = compareBy<Group>(
    (a, b) => a.priority - b.priority,
    (a, b) => a.distance - b.distance,
    (a, b) => compareText(JSON.stringify(placeOf(a)), JSON.stringify(placeOf(b))),
  )
  const sorted = [...groups].sort(order)
  const ranks = [...new Set(sorted.map(rankOf))]
  return sorted.map((group) => [ranks.indexOf(rankOf(group)), group] as const)
}

function placeOf({ locality: { region, zone, subZone } }: Group): readonly string[] {
  return [region, zone, subZone]
}

function rankOf({ priority, distance }: Group): string {
  return `${priority} ${distance}`
}

/**
 * Envoy's weights start at 1, so an endpoint without weight is left out. So is one behind a gateway that is reached in its own way, or by a path: the
 * upstream's TLS would not fit it, and nothing of a service of the mesh goes out otherwise.
 */
function isUsable(endpoint: PolicyEndpoint): boolean {
  return endpoint.weight > 0 && (endpoint.tls === undefined || isPlaintext(endpoint)) && endpoint.path === undefined
}

/** True for a workload of the own cluster without a sidecar. */
function isPlaintext({ tls, cluster }: PolicyEndpoint): boolean {
  return cluster === '' && tls?.mode === 'none'
}

/**
 * What makes the cluster choose plaintext. A cluster whose upstream allows none does not look at it, and its handshake fails. No one there answers the
 * health checks of sidecars.
 */
const plaintextEndpoint = {
  metadata: { filterMetadata: { 'envoy.transport_socket_match': PLAINTEXT_MATCH } },
  healthCheckConfig: { disableActiveHealthCheck: true },
}

function localityEndpoints(priority: number, { locality, endpoints }: Group): Init<typeof LocalityLbEndpointsSchema> {
  const order = compareBy<PolicyEndpoint>(
    (a, b) => compareText(a.address, b.address),
    (a, b) => a.port - b.port,
  )
  return {
    priority,
    locality,
    lbEndpoints: [...endpoints].sort(order).map((endpoint) => {
      const inTheClear = isPlaintext(endpoint)
      const { healthCheckConfig, metadata } = plaintextEndpoint
      return {
        hostIdentifier: {
          case: 'endpoint' as const,
          value: { address: socketAddress(endpoint), ...(inTheClear ? { healthCheckConfig } : {}) },
        },
        loadBalancingWeight: endpoint.weight,
        ...(inTheClear ? { metadata } : {}),
      }
    }),
  }
}
