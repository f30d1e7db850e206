import { isHostOf } from '@osm-ts/core'
import type { EgressPart, OutboundPart } from '@osm-ts/driver-api/policy'

import { allowedRequests } from '../policy/allowed-requests.js'
import type { NamedThing } from '../policy-question.js'
import { membersOf, partOf } from '../proxy/find-parts.js'
import type { ExplainedPolicy } from '../state/debug-api.js'
import { failure, success, together, unknown, type Check } from './check.js'
import {
  checkNamespace,
  checkProxy,
  checkSidecar,
  noteOf,
  policyOf,
  readPod,
  told,
  type Told,
  type VerifiedMesh,
} from './meshed-pod.js'

/** What a pod is to reach in the mesh. */
export interface InsideDestination {
  readonly pod: NamedThing
  /** Name of the service, in the namespace of the pod. */
  readonly service: string
  readonly protocol: string
}

/** What a pod is to reach outside the mesh. */
export interface OutsideDestination {
  readonly host?: string
  readonly port: number
  readonly protocol: string
}

/** Verifies that a pod can call another one by a service. */
export async function verifyInside(mesh: VerifiedMesh, from: NamedThing, to: InsideDestination): Promise<Check> {
  const [source, destination] = await Promise.all([readPod(mesh, from), readPod(mesh, to.pod)])
  const [statuses, sourcePolicy, destinationPolicy] = await Promise.all([
    told(mesh.debug.statuses()),
    policyOf(mesh, source),
    policyOf(mesh, destination),
  ])
  const namespaces = [...new Set([from.namespace, to.pod.namespace])]
  const service = `${to.pod.namespace}/${to.service}`
  return together(
    `Verify that pod [${source.name}] can access pod [${destination.name}] by service [${service}]`,
    [
      ...(await Promise.all(namespaces.map((namespace) => checkNamespace(mesh, namespace)))),
      ...[source, destination].map(checkSidecar),
      ...[source, destination].map((pod) => checkProxy(pod, statuses)),
      checkWay(sourcePolicy, { source: source.name, service }),
      checkAccess(sourcePolicy, destinationPolicy, { source: source.name, destination: destination.name, service, to }),
    ],
    noteOf(statuses, mesh),
  )
}

/** Verifies that a pod can reach something outside the mesh. */
export async function verifyOutside(mesh: VerifiedMesh, from: NamedThing, to: OutsideDestination): Promise<Check> {
  const source = await readPod(mesh, from)
  const [statuses, policy] = await Promise.all([told(mesh.debug.statuses()), policyOf(mesh, source)])
  const shown = `${to.protocol} to ${to.host ?? 'any host'} port ${to.port}`
  return together(
    `Verify that pod [${source.name}] can reach ${shown} outside the mesh`,
    [
      await checkNamespace(mesh, from.namespace),
      checkSidecar(source),
      checkProxy(source, statuses),
      checkEgress(policy, to, `Verify that policy allows pod [${source.name}] to send ${shown}`),
    ],
    noteOf(statuses, mesh),
  )
}

/** The client's side: without a way its sidecar sends nothing. */
function checkWay(policy: Told<ExplainedPolicy>, { source, service }: { source: string; service: string }): Check {
  const context = `Verify that pod [${source}] has a route to service [${service}]`
  if ('fault' in policy) return unknown(context, policy.fault, policy.hint)
  const ways = membersOf(policy.value, 'outbound', policy.value.proxy.outbound)
  const own = ways.filter((way) => nameOf(way) === service)
  if (own.length > 0) return success(context, `on port ${own.map(({ port }) => port).join(', ')}`)
  const others = [...new Set(ways.map(nameOf))].join(', ')
  return failure(
    context,
    others === '' ? 'its policy has no routes' : `its policy has routes to ${others} only`,
    'check that the Service exists, and allow the call with a TrafficTarget; osm policy check-pods shows what is missing',
  )
}

/** The server's side, which decides. */
function checkAccess(
  from: Told<ExplainedPolicy>,
  to: Told<ExplainedPolicy>,
  names: {
    readonly source: string
    readonly destination: string
    readonly service: string
    readonly to: InsideDestination
  },
): Check {
  const { source, destination, service } = names
  const { protocol } = names.to
  const context = `Verify that policy allows pod [${source}] to call pod [${destination}]`
  const fault = [from, to].find((policy) => 'fault' in policy)
  if (fault !== undefined && 'fault' in fault) return unknown(context, fault.fault, fault.hint)
  if ('fault' in from || 'fault' in to) return unknown(context, 'a policy is missing', 'try again')
  const allowed = allowedRequests(to.value, from.value.proxy.principal)
  const here = allowed.filter((each) => `${each.service.namespace}/${each.service.name}` === service)
  const spoken = here.filter((each) => kindOf(each.protocol) === kindOf(protocol))
  if (spoken.length > 0) {
    const how = spoken.map(({ port, requests }) => `port ${port}: ${requests.join(', ')}`).join('; ')
    return success(context, [how, ...decidedBy(to.value, spoken)].join('; by '))
  }
  if (here.length > 0) {
    const ports = here.map((each) => `port ${each.port} (${each.protocol})`).join(', ')
    return failure(
      context,
      `service [${service}] allows it on ${ports}, but not over ${protocol}`,
      'use the protocol of the Service port (its appProtocol or its name) for --app-protocol',
    )
  }
  return failure(
    context,
    `no rule allows ${from.value.proxy.identity} to call service [${service}] on this pod`,
    `osm policy check-pods ${source} ${destination} shows what is missing`,
  )
}

/** TrafficTargets that parts came from, where the controller tells. */
function decidedBy({ origins = {} }: ExplainedPolicy, allowed: ReturnType<typeof allowedRequests>): readonly string[] {
  const targets = allowed
    .flatMap(({ part }) => Object.values(origins[part] ?? {}).flat())
    .filter(({ object }) => object.kind === 'TrafficTarget')
    .map(({ object: { namespace, name } }) => `TrafficTarget [${namespace}/${name}]`)
  return targets.length === 0 ? [] : [[...new Set(targets)].join(', ')]
}

function checkEgress(policy: Told<ExplainedPolicy>, to: OutsideDestination, context: string): Check {
  if ('fault' in policy) return unknown(context, policy.fault, policy.hint)
  const { proxy } = policy.value
  if (partOf(policy.value, 'mesh', proxy.mesh)?.egressEnabled === true)
    return success(context, 'spec.traffic.enableEgress is true: all traffic to unknown destinations is allowed')
  const rules = membersOf(policy.value, 'egress', proxy.egress)
  const found = rules.find((rule) => leadsTo(rule, to))
  if (found !== undefined) return success(context, `by egress rule ${found.id}`)
  const others = rules.map(({ protocol, port, hosts, serverNames, cidrs }) => {
    const places = [...hosts, ...serverNames, ...cidrs].join(', ') || 'any address'
    return `${protocol} to ${places} port ${port}`
  })
  return failure(
    context,
    others.length === 0 ? 'no Egress matches' : `Egress allows only ${others.join('; ')}`,
    'create an Egress with its service account in the sources, and set spec.featureFlags.enableEgressPolicy of the MeshConfig to true',
  )
}

function leadsTo({ protocol, port, hosts, serverNames }: EgressPart, to: OutsideDestination): boolean {
  if (port !== to.port || kindOf(protocol) !== kindOf(to.protocol)) return false
  const { host } = to
  // Connections are known by their addresses alone, which a name does not tell.
  if (host === undefined || kindOf(protocol) === 'tcp') return true
  return [...hosts, ...serverNames].some((name) => name === '*' || isHostOf(name, host.toLowerCase()))
}

/** What speaks HTTP is requested as http, whatever its version. */
function kindOf(protocol: string): string {
  if (protocol === 'http2' || protocol === 'grpc') return 'http'
  return protocol === 'tcp-server-first' ? 'tcp' : protocol
}

function nameOf({ service }: OutboundPart): string {
  return `${service.namespace}/${service.name}`
}
