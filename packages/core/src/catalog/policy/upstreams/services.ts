import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import type { Protocol } from '@osm-ts/driver-api/policy'
import { ownValue } from '@osm-ts/driver-api/toolkit'

import { isDnsLabel } from '../../../identity/index.js'
import type { Endpoint } from '../../../endpoints/index.js'
import { isAddress } from '../../../spec/addresses.js'
import { POD_ADDRESSES, podAddressesSwitch, podAddressesWords } from '../../../spec/pod-addresses.js'
import { dialledPorts, portProtocol, type KindMap } from '../../../spec/index.js'
import { topologyAnnotations } from '../../../spec/schema/core-v1.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  accountsOfService,
  endpointsOfService,
  indexInputs,
  knowsEndpoints,
  objectInputs,
} from '../../inputs/inputs.js'
import { isUsableAccount } from '../access/accounts.js'
import { routesBy } from '../gateway/route-refs.js'
import { MAX_SERVICE_PORTS, reportTooMany } from '../problems/combinations.js'
import { nameKey, sortedUnique } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'

type Context = QueryContext<CatalogState>

/** A TCP port of a service. */
export interface MeshServicePort {
  /** Port of the service. */
  readonly port: number
  readonly name: string | undefined
  readonly protocol: Protocol
  /** Port of the workloads, or the name by which each workload says which one it is. */
  readonly target: number | string
  /** Path of the port inside the Service. */
  readonly field: string
}

/** A service of the mesh as policies see it. */
export interface ServiceModel {
  /** True: clients dial addresses of endpoints. False: they dial a virtual address. */
  readonly headless: boolean
  /** Virtual addresses, sorted. */
  readonly addresses: readonly string[]
  /** True: clients prefer endpoints of their own zone. */
  readonly preferClose: boolean
  /** True: a client stays with one endpoint, chosen by the client's address. */
  readonly clientAffinity: boolean
  /** Sorted by port. Ports that can't be served are left out. */
  readonly ports: readonly MeshServicePort[]
  /** Ports of workloads at which clients may dial their own addresses, see {@link ANY_INSTANCE}; sorted by port. */
  readonly podPorts: readonly MeshServicePort[]
  readonly problems: readonly PolicyProblem[]
}

/** Nodes are no one's locality here, so that the zone stands for them. */
const closeDistributions: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode'])

/** The service of that name; undefined if there is none, or if it is outside the mesh: an alias of a host, or a Service that the mesh does not serve. */
export const serviceModel = defineQuery<CatalogState, MeshService, ServiceModel | undefined>({
  name: 'service-model',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const service = context.get(objectInputs.Service, key)
    if (service === undefined || !isServed(context, service)) return undefined
    const { clusterIP, clusterIPs = [], trafficDistribution = '', sessionAffinity } = service.spec
    const { annotations } = service.metadata
    const isAuto = topologyAnnotations.some((name) => ownValue(annotations, name)?.toLowerCase() === 'auto')
    const problems = new ProblemList(objectRefOf('Service', key))
    const ports = servedPorts(service, problems)
    return {
      headless: clusterIP === 'None',
      addresses: sortedUnique([clusterIP ?? '', ...clusterIPs].filter((address) => isAddress(address))),
      preferClose: closeDistributions.has(trafficDistribution) || isAuto,
      clientAffinity: sessionAffinity === 'ClientIP',
      ports,
      podPorts: takesPodAddresses(context, service, problems) ? portsOfPods(ports) : [],
      problems: problems.items,
    }
  },
})

/**
 * True if the mesh serves a Service. One with a selector is served whatever it selects now: scaled to zero it must not turn into a destination outside,
 * which global egress would reach in plaintext. One without a selector is served if workloads of the mesh, another cluster or a TrafficSplit are behind
 * it, or while no one can say who is. Everything else is outside, and Egress rules say what happens.
 */
function isServed(context: Context, { spec, metadata: { namespace, name } }: KindMap['Service']): boolean {
  if (spec.type === 'ExternalName') return false
  if (Object.keys(spec.selector ?? {}).length > 0) return true
  const key = { namespace, name }
  return (
    context.get(accountsOfService, key).length > 0 ||
    !context.get(knowsEndpoints, key) ||
    context.get(objectInputs.ServiceImport, key) !== undefined ||
    context.get(indexInputs.splitsByApex, nameKey(key)).length > 0 ||
    routesBy(context, 'parent', nameKey(key)).length > 0
  )
}

/** True if calls of the addresses of its workloads are of the mesh. Those of a headless Service always are. */
function takesPodAddresses(context: Context, service: KindMap['Service'], problems: ProblemList): boolean {
  if (service.spec.clusterIP === 'None') return false
  const { namespace } = service.metadata
  const own = podAddressesSwitch(service)
  const ofNamespace =
    own === undefined ? context.get(objectInputs.Namespace, { namespace: '', name: namespace }) : undefined
  const said = ofNamespace === undefined ? own : podAddressesSwitch(ofNamespace)
  if (said === 'invalid') {
    const owner = ofNamespace === undefined ? '' : ` of namespace ${namespace}`
    const message = `the annotation${owner} must be one of ${podAddressesWords}; calls of the addresses of pods are outside the mesh`
    problems.error('OSM_SPEC_POD_ADDRESSES', `metadata.annotations[${JSON.stringify(POD_ADDRESSES)}]`, message)
  }
  return said === true
}

/** Of several ports that lead to one of the workloads, the lowest stands for it. Workloads give named ones different numbers, so that these are none. */
function portsOfPods(ports: readonly MeshServicePort[]): readonly MeshServicePort[] {
  const found = new Map<number, MeshServicePort>()
  for (const port of ports)
    if (typeof port.target === 'number' && !found.has(port.target))
      found.set(port.target, { ...port, port: port.target })
  return [...found.values()].sort((a, b) => a.port - b.port)
}

/** Ports in the order of their numbers. */
function servedPorts(service: KindMap['Service'], problems: ProblemList): readonly MeshServicePort[] {
  const ports: MeshServicePort[] = []
  const declared = dialledPorts(service)
    .map(({ index, ...port }) => ({ ...port, field: `spec.ports[${index}]` }))
    // The sort is stable: of two ports with one number the first written down comes first.
    .sort((a, b) => a.port - b.port)
  for (const { port, name, targetPort = port, field, ...rest } of declared) {
    const { protocol } = portProtocol({ ...rest, ...(name !== undefined && { name }) })
    if (ports.at(-1)?.port === port) {
      problems.error(
        'OSM_SPEC_SERVICE_PORT',
        `${field}.port`,
        `port ${port} is declared twice; the first declaration applies`,
      )
      continue
    }
    ports.push({ port, name, protocol, target: targetPort, field })
  }
  if (ports.length > MAX_SERVICE_PORTS)
    reportTooMany(
      problems,
      'spec.ports',
      `has ${ports.length} ports, of which the mesh does not serve those with the highest numbers`,
      MAX_SERVICE_PORTS,
      'divide the Service',
    )
  return ports.slice(0, MAX_SERVICE_PORTS)
}

/** Accounts behind a service that can hold a certificate; sorted. */
export const usableAccounts = defineQuery<CatalogState, MeshService, readonly ServiceAccountRef[]>({
  name: 'usable-accounts',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) =>
    context.get(accountsOfService, service).filter((account) => isUsableAccount(context, account)),
})

/** One instance, or several of one name, of a headless service: known as `<hostname>.<service>`. */
export interface PodService {
  readonly hostname: string
  readonly endpoints: readonly Endpoint[]
}

/** Instances of a headless service that have their own host name; sorted by host name. */
export const podServices = defineQuery<CatalogState, MeshService, readonly PodService[]>({
  name: 'pod-services',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    if (context.get(serviceModel, service)?.headless !== true) return []
    const endpoints = context.get(endpointsOfService, service).items
    const hostnames = sortedUnique(
      endpoints.flatMap(({ hostname }) => (hostname && isDnsLabel(hostname) ? [hostname] : [])),
    )
    return hostnames.map((hostname) => ({
      hostname,
      endpoints: endpoints.filter((endpoint) => endpoint.hostname === hostname),
    }))
  },
})

/** A service, or one instance of a headless one. */
export interface CalledService {
  /** The service as clients name it: `<hostname>.<service>` for an instance. */
  readonly service: MeshService
  /** The Service object. */
  readonly parent: MeshService
  readonly hostname: string | undefined
}

/** Stands for the host name of an instance in `<hostname>.<service>`: the workloads of a service that is not headless, each at its own address. */
export const ANY_INSTANCE = '*'

/** The workloads of a service as clients call them by their own addresses. */
export function anyInstanceOf({ namespace, name }: MeshService): MeshService {
  return { namespace, name: `${ANY_INSTANCE}.${name}` }
}

/** Ports at which a called service is dialled. */
export function portsOf(context: Context, { parent, hostname }: CalledService): readonly MeshServicePort[] {
  const model = context.get(serviceModel, parent)
  return (hostname === ANY_INSTANCE ? model?.podPorts : model?.ports) ?? []
}

/** Names of services hold no dots, so that one tells an instance of a headless service from a service. */
export function calledService(service: MeshService): CalledService {
  const dot = service.name.indexOf('.')
  if (dot === -1) return { service, parent: service, hostname: undefined }
  const parent = { namespace: service.namespace, name: service.name.slice(dot + 1) }
  return { service, parent, hostname: service.name.slice(0, dot) }
}

/** Endpoints of a service, or of one instance of a headless one. */
export function endpointsOf(context: Context, { parent, hostname }: CalledService): readonly Endpoint[] {
  const endpoints = context.get(endpointsOfService, parent).items
  return hostname === undefined || hostname === ANY_INSTANCE
    ? endpoints
    : endpoints.filter((endpoint) => endpoint.hostname === hostname)
}
