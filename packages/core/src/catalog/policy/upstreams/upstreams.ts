import { HEALTH_CHECK_PATH, type MeshService } from '@osm-ts/driver-api'
import {
  type ActiveHealthCheck,
  type EndpointsPart,
  type PolicyEndpoint,
  type UpstreamPart,
} from '@osm-ts/driver-api/policy'

import type { Endpoint } from '../../../endpoints/index.js'
import { principalOf, serverNameOf, serviceIdentity } from '../../../identity/index.js'
import { isAddress } from '../../../spec/addresses.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  endpointsOfService,
  expectsSidecars,
  settingInputs,
  targetPortsOfService,
  targetsOf,
} from '../../inputs/inputs.js'
import { isUsableAccount } from '../access/accounts.js'
import {
  nameKey,
  servicePortKey,
  sortedUnique,
  targetPortKey,
  type ServicePortRef,
  type TargetPortRef,
} from '../parts/keys.js'
import { allowsPlaintext } from '../access/plaintext.js'
import { keepPart, makePart, samePart, type PolicyPart } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from './protocol.js'
import {
  ANY_INSTANCE,
  calledService,
  endpointsOf,
  portsOf,
  serviceModel,
  usableAccounts,
  type CalledService,
  type MeshServicePort,
} from './services.js'
import { endpointsKey, type EndpointsRef, gatewayObstacle, gatewayTo, reachedEndpoints } from './networks.js'
import { upstreamConnection } from './upstream-settings.js'

type Context = QueryContext<CatalogState>

/** Where a service port leads. */
export interface PortTarget {
  /** Port of the workloads; undefined while a named one belongs to no workload. */
  readonly targetPort: number | undefined
  /** A lower port that leads to the same place but speaks another protocol. It holds, and this one leads nowhere. */
  readonly rival: number | undefined
}

/**
 * Where a service port leads. A named target port may be another number for each workload; the lowest stands for all.
 */
export const portTarget = defineQuery<CatalogState, ServicePortRef, PortTarget>({
  name: 'port-target',
  keyOf: servicePortKey,
  equal: deepEqual,
  compute: (context, { namespace, name, port }) => {
    const called = calledService({ namespace, name })
    const ports = portsOf(context, called)
    const declared = ports.find((candidate) => candidate.port === port)
    if (declared === undefined) return { targetPort: undefined, rival: undefined }
    const target = (candidate: MeshServicePort): number | undefined => numberOf(context, called, candidate)
    const targetPort = target(declared)
    // Ports are sorted, so this is the lowest that leads there; at the latest it is the port itself.
    const holder = targetPort === undefined ? undefined : ports.find((candidate) => target(candidate) === targetPort)
    const rival = holder?.protocol === declared.protocol ? undefined : holder
    return { targetPort, rival: rival?.port }
  },
})

function numberOf(context: Context, called: CalledService, { target, port }: MeshServicePort): number | undefined {
  if (typeof target === 'number') return target
  // Where a single workload is called, its endpoints are part of the policies of callers anyway.
  const targets =
    called.hostname !== undefined && called.hostname !== ANY_INSTANCE
      ? targetsOf(endpointsOf(context, called))
      : context.get(targetPortsOfService, called.parent)
  return targets.find((each) => each.port === port)?.target
}

/**
 * The upstream behind a service port; undefined while the service has no workload, because there is no one then whose identity could be expected.
 */
export const upstreamOfPort = defineQuery<CatalogState, ServicePortRef, TargetPortRef | undefined>({
  name: 'upstream-of-port',
  keyOf: servicePortKey,
  equal: (a, b) => a?.targetPort === b?.targetPort,
  compute: (context, key) => {
    const { namespace, name } = key
    const { targetPort, rival } = context.get(portTarget, key)
    if (targetPort === undefined || rival !== undefined) return undefined
    const { parent } = calledService({ namespace, name })
    return context.get(usableAccounts, parent).length === 0 ? undefined : { namespace, name, targetPort }
  },
})

/** Answered by the called proxy itself, so that it tells of the proxy and the network and asks nothing of the workload. Numbers are OSM's. */
const healthCheck: ActiveHealthCheck = {
  type: 'http',
  path: HEALTH_CHECK_PATH,
  intervalMs: 10_000,
  timeoutMs: 1000,
  unhealthyThreshold: 3,
  healthyThreshold: 1,
}

/** The `upstream` part of that id; undefined if no port of the service leads there. */
export const upstreamPart = defineQuery<CatalogState, TargetPortRef, PolicyPart<UpstreamPart> | undefined>({
  name: 'upstream-part',
  keyOf: targetPortKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const { parent, hostname } = calledService(key)
    const isDialled = hostname === ANY_INSTANCE
    const service: MeshService = { namespace: key.namespace, name: key.name }
    const [port] = portsLeadingTo(context, key)
    if (port === undefined) return undefined
    const domains = context.get(settingInputs.domains, '')
    const accounts = context.get(usableAccounts, parent)
    const affinity = context.get(serviceModel, parent)?.clientAffinity === true
    const settings = upstreamConnection(context, service, port.protocol)
    return makePart<UpstreamPart>(
      {
        kind: 'upstream',
        id: targetPortKey(key),
        service,
        port: key.targetPort,
        protocol: port.protocol,
        tls: {
          mode: 'mesh',
          // An instance of a headless service answers to the name of the service: it has no certificate of its own.
          serverName: serverNameOf(parent, domains.clusterDomain),
          principals: sortedUnique(accounts.map((account) => principalOf(account, domains.trustDomain))),
          ...(!isDialled && context.get(allowsPlaintext, key.namespace) ? { plaintext: true as const } : {}),
        },
        discovery: { kind: isDialled ? 'originalDestination' : 'endpoints' },
        loadBalancing: affinity && !isDialled ? { policy: 'hash', on: 'source-ip' } : { policy: 'round-robin' },
        ...settings.members,
        ...(!isDialled && isHttp(port.protocol) && context.get(settingInputs.activeHealthChecks, '')
          ? { healthCheck }
          : {}),
      },
      { origins: { '': [{ object: objectRefOf('Service', parent), field: port.field }], ...settings.origins } },
    )
  },
})

/**
 * What policies hold of the `endpoints` part of that id: all but the endpoints, which come and go on their own; undefined if no port of the service leads
 * there. See {@link endpointsPart} for the whole part.
 */
export const endpointsFrame = defineQuery<CatalogState, EndpointsRef, PolicyPart<EndpointsPart> | undefined>({
  name: 'endpoints-frame',
  keyOf: endpointsKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { network, ...key }) => {
    const { parent, hostname } = calledService(key)
    // What is dialled by its own address needs no list of them.
    if (hostname === ANY_INSTANCE || portsLeadingTo(context, key).length === 0) return undefined
    const preferClose = context.get(serviceModel, parent)?.preferClose === true
    return makePart<EndpointsPart>(
      {
        kind: 'endpoints',
        id: targetPortKey(key),
        ...(preferClose && { preferClose }),
        ...(network !== undefined && { network }),
        endpoints: [],
      },
      { origins: { '': [{ object: objectRefOf('Service', parent) }] } },
    )
  },
})

/** The whole `endpoints` part of that id; undefined if no port of the service leads there. No policy reads it, so that it costs no policy anything. */
export const endpointsPart = defineQuery<CatalogState, EndpointsRef, PolicyPart<EndpointsPart> | undefined>({
  name: 'endpoints-part',
  keyOf: endpointsKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const frame = context.get(endpointsFrame, key)
    if (frame === undefined) return undefined
    const called = calledService(key)
    const ports = portsLeadingTo(context, key)
    const numbers = ports.map(({ port }) => port)
    const endpoints = endpointsOf(context, called)
      // Proxies are told IP addresses: what a host name stands for is not theirs to find out.
      .filter(({ servicePort, address }) => numbers.includes(servicePort) && isAddress(address))
      .filter((endpoint) => hasSidecar(endpoint) || context.get(allowsPlaintext, key.namespace))
      .map((endpoint) => ({ endpoint, direct: policyEndpoint(context, endpoint) }))
    const reached = reachedEndpoints(endpoints, {
      network: key.network,
      meshGateway: context.get(settingInputs.networkGateway, ''),
      servicePort: Math.min(...numbers),
      isOnlyPort: context.get(leadsToOnePort, called.parent),
      isInstance: called.hostname !== undefined,
    })
    return makePart<EndpointsPart>({ ...frame.part, endpoints: reached }, { origins: frame.origins })
  },
})

function portsLeadingTo(context: Context, key: TargetPortRef): readonly MeshServicePort[] {
  return portsOf(context, calledService(key)).filter(({ port }) => {
    const upstream = context.get(upstreamOfPort, { namespace: key.namespace, name: key.name, port })
    return upstream?.targetPort === key.targetPort
  })
}

function policyEndpoint(context: Context, endpoint: Endpoint): PolicyEndpoint {
  const { address, port, weight, priority, account, sidecar, locality, cluster } = endpoint
  return {
    address,
    port,
    weight,
    priority,
    locality,
    cluster,
    ...(account && isUsableAccount(context, account) ? { identity: serviceIdentity(account) } : {}),
    ...(sidecar ? { class: sidecar.class || context.get(settingInputs.sidecarClass, '') } : {}),
    ...(hasSidecar(endpoint) ? {} : { tls: { mode: 'none' as const } }),
  }
}

/** What another cluster offers has a sidecar, or its handshake fails. */
function hasSidecar({ sidecar, cluster }: Endpoint): boolean {
  return sidecar !== undefined || cluster !== ''
}

/** Endpoints of a service, as far as sidecars are concerned. */
interface SidecarCount {
  readonly all: number
  readonly without: number
  /** Addresses of some that have none, sorted. */
  readonly examples: readonly string[]
}

/** Addresses that a message names. */
const NAMED_ADDRESSES = 5

const sidecarCount = defineQuery<CatalogState, MeshService, SidecarCount>({
  name: 'sidecar-count',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const endpoints = context.get(endpointsOfService, service).items
    const addresses = (found: readonly Endpoint[]): readonly string[] =>
      sortedUnique(found.map(({ address }) => address))
    const without = addresses(endpoints.filter((endpoint) => !hasSidecar(endpoint)))
    return {
      all: addresses(endpoints).length,
      without: without.length,
      examples: without.slice(0, NAMED_ADDRESSES),
    }
  },
})

/** Endpoints of a service of the mesh that have no sidecar, and what becomes of their traffic. */
export const sidecarProblems = defineQuery<CatalogState, MeshService, readonly PolicyProblem[]>({
  name: 'sidecar-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    if (context.get(serviceModel, service) === undefined) return []
    const { all, without, examples } = context.get(sidecarCount, service)
    if (without === 0) return []
    const problems = new ProblemList(objectRefOf('Service', service))
    const none = without === all && !context.get(expectsSidecars, service)
    const more = without > examples.length ? ` and ${without - examples.length} more` : ''
    const named = `${examples.join(', ')}${more}`
    const counted = none
      ? `no endpoint has a sidecar (${named})`
      : `${without} of ${all} endpoints have no sidecar (${named})`
    const message = context.get(allowsPlaintext, service.namespace)
      ? `${counted}; the mesh speaks plaintext to them, because spec.traffic.plaintextNamespaces of the MeshConfig names namespace ${service.namespace}`
      : none
        ? `${counted}, so that the service is unreachable from the mesh; restart its workloads to give them sidecars`
        : `${counted} and get no traffic from the mesh; restart their workloads to give them sidecars`
    problems.warning('OSM_POLICY_WITHOUT_SIDECAR', 'spec.selector', message)
    return problems.items
  },
})

/** True if all ports of a service lead to one port of its workloads. */
const leadsToOnePort = defineQuery<CatalogState, MeshService, boolean>({
  name: 'leads-to-one-port',
  keyOf: nameKey,
  equal: Object.is,
  compute: (context, service) => {
    const targets = (context.get(serviceModel, service)?.ports ?? []).map(
      ({ port }) => context.get(portTarget, { ...service, port }).targetPort,
    )
    return new Set(targets).size <= 1
  },
})

/** Endpoints of a service that callers outside of their network do not reach, because no gateway can pass their connections on. */
export const gatewayProblems = defineQuery<CatalogState, MeshService, readonly PolicyProblem[]>({
  name: 'gateway-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const behind = context.get(endpointsOfService, service).items.flatMap((endpoint) => {
      const gateway = gatewayTo(endpoint, { network: undefined, meshGateway: undefined })
      return gateway === undefined ? [] : [{ endpoint, gateway }]
    })
    if (behind.length === 0 || context.get(serviceModel, service) === undefined) return []
    const reach = { isOnlyPort: context.get(leadsToOnePort, service) }
    const problems = new ProblemList(objectRefOf('Service', service))
    for (const [obstacle, reason] of [
      [
        'plaintext',
        'have no sidecar, and a gateway passes connections on by the server name of TLS; give them sidecars',
      ],
      [
        'port',
        'have a gateway with one port, and the Service has several: a server name does not tell them apart; leave out the port of the gateway, so that it listens on those of the Service',
      ],
    ] as const) {
      const found = behind.filter(({ endpoint, gateway }) => gatewayObstacle(gateway, endpoint, reach) === obstacle)
      const named = sortedUnique(found.map(({ endpoint }) => endpoint.address)).slice(0, NAMED_ADDRESSES)
      if (named.length > 0)
        problems.warning(
          'OSM_POLICY_NETWORK_GATEWAY',
          'spec.ports',
          `endpoints of other networks, such as ${named.join(', ')}, get no traffic from the network of the mesh: they ${reason}`,
        )
    }
    return problems.items
  },
})
