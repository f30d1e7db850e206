import { canonicalJson, type Protocol } from '@osm-ts/driver-api/policy'

import { refusedReference, type GatewayRouteKind, type KindMap } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { isService } from '../../inputs/references.js'
import { mayConcern } from '../access/consent.js'
import { nameKey, sameName, servicePortKey, type NamespacedName, type ServicePortRef } from '../parts/keys.js'
import { objectCombinations, reportTooMany } from '../problems/combinations.js'
import type { ProblemList } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { serviceModel } from '../upstreams/services.js'

/** Ports that routes of a kind are for. */
export interface FittingPorts {
  readonly has: (protocol: Protocol) => boolean
  /** What they are, after "has no such port". */
  readonly words: string
  /** What is wrong with others, after their protocol. */
  readonly fault: string
}

/** Ports whose requests sidecars read. */
export const httpPorts: FittingPorts = { has: isHttp, words: 'that speaks HTTP', fault: 'not HTTP' }

/** Ports whose bytes sidecars pass on. */
export const bytePorts: FittingPorts = {
  has: (protocol) => !isHttp(protocol),
  words: 'of a protocol other than HTTP',
  fault: 'and connections are routed to ports of other protocols only',
}

/** Ports at which the client speaks first and may begin with TLS. */
export const tlsPorts: FittingPorts = {
  has: (protocol) => bytePorts.has(protocol) && protocol !== 'tcp-server-first',
  words: 'of a protocol other than HTTP in which clients speak first',
  fault: 'and TLS connections are routed to ports of other protocols only',
}

/** A route whose references are looked up. */
export interface RouteReferences<K extends GatewayRouteKind = GatewayRouteKind> {
  readonly context: QueryContext<CatalogState>
  readonly route: KindMap[K]
  readonly problems: ProblemList
  /** Ports that the route may be attached to, and lead to. */
  readonly fits: FittingPorts
}

/** A Service that a route is attached to. */
export interface RouteParent {
  /** Path of the reference in the route. */
  readonly field: string
  /** Ports that the route applies to. */
  readonly ports: readonly ServicePortRef[]
}

/** What a route is attached to. */
export interface RouteAttachment {
  /** Ports of services that the route is attached to. Those of other namespaces are for callers of the namespace of the route alone. */
  readonly ports: readonly ServicePortRef[]
  /** The same by parent, in the order of the object. */
  readonly parents: readonly RouteParent[]
  /** RFC 3339; empty if unknown. */
  readonly createdAt: string
  /** What the route adds to the policy of each caller at one port: combinations of match and backend, long texts counted more. */
  readonly cost: number
}

/**
 * What a route is attached to. Adds a problem for each parent that it is not. A route that says too much for so many ports is attached to none.
 *
 * @param cost - of one port
 */
export function attachmentOf(references: RouteReferences, cost: number): RouteAttachment {
  const { route, problems } = references
  const parents = parentPorts(references)
  const ports = new Map(parents.flatMap((parent) => parent.ports.map((port) => [servicePortKey(port), port])))
  const createdAt = route.metadata.createdAt ?? ''
  const all = cost * ports.size
  if (all <= objectCombinations.gatewayRoute) return { parents, ports: [...ports.values()], createdAt, cost }
  const what = `has ${all} combinations of port, match and backend, and is ignored`
  reportTooMany(problems, 'spec', what, objectCombinations.gatewayRoute)
  return { parents: parents.map(({ field }) => ({ field, ports: [] })), ports: [], createdAt, cost }
}

/** Characters that count as one combination. */
const TEXT_UNIT = 128

/** How many combinations more the text of a part of a route counts as, where it is long. */
export function textCost(value: unknown): number {
  return Math.floor(canonicalJson(value).length / TEXT_UNIT)
}

function parentPorts({ context, route, problems, fits }: RouteReferences): readonly RouteParent[] {
  const own = route.metadata.namespace
  return [...route.spec.parentRefs.entries()].flatMap(([index, parent]): readonly RouteParent[] => {
    if (!isService(parent)) return []
    const { namespace = own, name, port, sectionName } = parent
    const field = `spec.parentRefs[${index}]`
    const service = { namespace, name }
    const refuse = (message: string): readonly RouteParent[] => {
      problems.error('OSM_POLICY_ROUTE_PARENT', field, `${message}; the route does not apply there`)
      return []
    }
    const ports = context.get(serviceModel, service)?.ports
    if (ports === undefined) return refuse(`the mesh has no Service ${nameKey(service)}`)
    const meant = ports.filter(
      (candidate) =>
        fits.has(candidate.protocol) &&
        (port === undefined || candidate.port === port) &&
        (sectionName === undefined || candidate.name === sectionName),
    )
    if (meant.length === 0) return refuse(`Service ${nameKey(service)} has no such port ${fits.words}`)
    return [{ field, ports: meant.map((candidate) => ({ ...service, port: candidate.port })) }]
  })
}

/** A reference to what gets traffic. */
export interface BackendReference {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly port?: number
}

/** A port that gets traffic from a route. */
export interface RoutedPort extends ServicePortRef {
  /** Its namespace consents to no more than calls from the namespace of the route, which the route describes. */
  readonly isForOwnCallers?: true
}

/**
 * The port where a route sends callers; undefined where it must not.
 *
 * @param readers - namespace of the callers, if the route is one of that namespace for its own callers
 */
export function portFor(port: RoutedPort | undefined, readers: string | undefined): ServicePortRef | undefined {
  if (port === undefined || (port.isForOwnCallers === true && readers === undefined)) return undefined
  const { namespace, name, port: number } = port
  return { namespace, name, port: number }
}

/** The port that a reference leads to; undefined, with a problem, if it leads nowhere. */
export function backendPort(
  { context, route, problems, fits }: RouteReferences,
  reference: BackendReference,
  field: string,
  effect: string,
): RoutedPort | undefined {
  const own = route.metadata.namespace
  const { name, namespace = own, port } = reference
  const service = { namespace, name }
  if (!isService(reference)) {
    const what = reference.group === '' ? reference.kind : `${reference.kind} of ${reference.group}`
    problems.error('OSM_SPEC_ROUTE_KIND', `${field}.kind`, `must be a Service, not ${what}; ${effect}`)
    return undefined
  }
  const crossing = { from: { kind: route.kind, namespace: own }, to: { kind: 'Service', namespace, name } } as const
  const isPermitted = mayConcern(context, crossing)
  if (!isPermitted) {
    // A namespace that calls a Service needs no consent to say so in a route of its own. Callers of other namespaces, whom a route of a Service of its own
    // concerns, are none that it may send there.
    const isCalled = isParent(route, service)
    const ownParent = isCalled ? parentIn(route, own) : undefined
    if (!isCalled || ownParent !== undefined)
      problems.error(
        'OSM_SPEC_REF_NOT_PERMITTED',
        field,
        refusedReference(
          crossing,
          ownParent === undefined ? effect : `for callers of Service ${own}/${ownParent} ${effect}`,
        ),
      )
    if (!isCalled) return undefined
  }
  const ports = context.get(serviceModel, service)?.ports
  const found = ports?.find((candidate) => candidate.port === port)
  if (found === undefined) {
    const known = ports?.map((candidate) => candidate.port).join(', ')
    const what =
      ports === undefined
        ? `the mesh has no Service ${nameKey(service)}`
        : `Service ${nameKey(service)} has no TCP port ${port ?? '(none is given)'}; it has ${known || 'none'}`
    problems.error('OSM_POLICY_ROUTE_BACKEND', field, `${what}; ${effect}`)
    return undefined
  }
  if (!fits.has(found.protocol)) {
    const what = `port ${found.port} of Service ${nameKey(service)} speaks ${found.protocol}, ${fits.fault}`
    problems.error('OSM_POLICY_ROUTE_PROTOCOL', field, `${what}; ${effect}`)
    return undefined
  }
  return { ...service, port: found.port, ...(isPermitted ? {} : { isForOwnCallers: true }) }
}

/** The first Service of a namespace that a route is attached to. */
function parentIn({ metadata, spec }: KindMap[GatewayRouteKind], namespace: string): string | undefined {
  return spec.parentRefs.find((parent) => isService(parent) && (parent.namespace ?? metadata.namespace) === namespace)
    ?.name
}

function isParent({ metadata, spec }: KindMap[GatewayRouteKind], service: NamespacedName): boolean {
  return spec.parentRefs.some(
    (parent) =>
      isService(parent) && sameName({ namespace: parent.namespace ?? metadata.namespace, name: parent.name }, service),
  )
}
