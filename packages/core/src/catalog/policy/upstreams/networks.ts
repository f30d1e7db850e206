import { compareText, type PolicyEndpoint } from '@osm-ts/driver-api/policy'

import type { Endpoint, NetworkGateway } from '../../../endpoints/index.js'
import { networkKey, targetPortKey, type TargetPortRef } from '../parts/keys.js'

/** Endpoints of a port of workloads, as proxies of one network reach them. */
export interface EndpointsRef extends TargetPortRef {
  /** Network of the proxies; absent for that of the mesh. */
  readonly network?: string
}

/** Key of the queries about endpoints. */
export function endpointsKey(ref: EndpointsRef): string {
  return `${targetPortKey(ref)}${networkKey(ref.network)}`
}

/** Stands for the network of the mesh where its gateway is told from the workloads behind it. */
const MESH_NETWORK = 'mesh'

/** How the endpoints of a port are reached. */
export interface Reach {
  /** Network of the callers; absent for that of the mesh. */
  readonly network: string | undefined
  /** Gateway of the network of the mesh. */
  readonly meshGateway: NetworkGateway | undefined
  /** Lowest port of the service that leads to the port. */
  readonly servicePort: number
  /** True if a server name says which port of the workload is meant: the service leads to one only. */
  readonly isOnlyPort: boolean
  /** True for one instance of a service. Gateways are told the service alone. */
  readonly isInstance: boolean
}

/** An endpoint, and how policies name it where it is reached by its own address. */
export interface ReachedEndpoint {
  readonly endpoint: Endpoint
  readonly direct: PolicyEndpoint
}

/** Between the network of callers and that of an endpoint; undefined where callers reach the endpoint itself. */
export function gatewayTo(
  { network, cluster }: Endpoint,
  { network: own, meshGateway }: Pick<Reach, 'network' | 'meshGateway'>,
): NetworkGateway | undefined {
  if (cluster !== '' || network?.name === own) return undefined
  return network === undefined ? meshGateway : network.gateway
}

/** Why connections through a gateway do not arrive at an endpoint; undefined if they do. */
export function gatewayObstacle(
  gateway: NetworkGateway,
  { sidecar }: Endpoint,
  { isOnlyPort }: Pick<Reach, 'isOnlyPort'>,
): 'plaintext' | 'port' | undefined {
  if (sidecar === undefined) return 'plaintext'
  return gateway.port !== undefined && !isOnlyPort ? 'port' : undefined
}

/**
 * The endpoints as callers of a network reach them; sorted by address and port, each pair once. Workloads behind one gateway are one endpoint with their
 * weights together: the gateway chooses among them. What its server name alone does not lead to is left out.
 */
export function reachedEndpoints(endpoints: readonly ReachedEndpoint[], reach: Reach): readonly PolicyEndpoint[] {
  const places = new Map(
    endpoints.map((each) => [`${each.direct.address} ${each.direct.port} ${each.endpoint.network?.name ?? ''}`, each]),
  )
  const reached = new Map<string, PolicyEndpoint>()
  for (const { endpoint, direct } of places.values()) {
    const gateway = gatewayTo(endpoint, reach)
    if (gateway !== undefined && (reach.isInstance || gatewayObstacle(gateway, endpoint, reach) !== undefined)) continue
    const found = gateway === undefined ? direct : throughGateway(gateway, endpoint, direct, reach)
    const key = `${found.address} ${found.port}`
    const before = reached.get(key)
    reached.set(key, gateway === undefined || before === undefined ? found : together(before, found))
  }
  return [...reached.values()].sort((a, b) => compareText(a.address, b.address) || a.port - b.port)
}

function throughGateway(
  { address, port }: NetworkGateway,
  { network }: Endpoint,
  direct: PolicyEndpoint,
  { servicePort }: Reach,
): PolicyEndpoint {
  return { ...direct, address, port: port ?? servicePort, cluster: network?.name ?? MESH_NETWORK }
}

/** What the two do not share is not said of the gateway. */
function together(a: PolicyEndpoint, b: PolicyEndpoint): PolicyEndpoint {
  const { identity, class: sidecar, ...rest } = a
  return {
    ...rest,
    weight: a.weight + b.weight,
    priority: Math.min(a.priority, b.priority),
    ...(identity !== undefined && identity === b.identity && { identity }),
    ...(sidecar !== undefined && sidecar === b.class && { class: sidecar }),
  }
}
