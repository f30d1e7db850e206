import type { MeshService } from '@osm-ts/driver-api'
import type {
  ConnectionShares,
  EgressPart,
  OutboundPart,
  OutboundRoute,
  Part,
  PartHash,
  WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import { formatPercent } from '../output/format.js'
import { describeChanges, describeMatch } from '../proxy/policy-summary.js'

/** Where a kind of request goes. */
export interface Route {
  /** `<namespace>/<service account>` of the caller. */
  readonly caller: string
  /** `<namespace>/<service>:<port>`, or hosts and port outside the mesh. */
  readonly destination: string
  readonly request: string
  /** Upstreams and their shares. */
  readonly targets: string
}

/** A route of any caller that has it. */
export type CallRoute = Omit<Route, 'caller'>

/** A route that goes elsewhere than before. */
export type ChangedCallRoute = Omit<CallRoute, 'targets'> & {
  /** Absent where there was none. */
  readonly before?: string
  /** Absent where there is none any more. */
  readonly after?: string
}

/** Sets of parts that a caller has, with where to find their parts. */
export interface CallSets {
  /** Hashes of sets; each once. */
  readonly sets: ReadonlySet<PartHash>
  readonly find: (hash: PartHash) => Part
}

/**
 * Routes that differ between two versions of the sets of a caller, sorted. Only parts that are not in both are read: in permissive mode every caller has a
 * route to every service.
 */
export function changedCallRoutes(before: CallSets, after: CallSets): readonly ChangedCallRoute[] {
  const [was, is] = [partsOf(before), partsOf(after)]
  const [old, next] = [routesIn(was, is, before), routesIn(is, was, after)]
  const keys = [...new Set([...old.keys(), ...next.keys()])].sort()
  return keys.flatMap((key) => {
    const [from, to] = [old.get(key), next.get(key)]
    const { destination, request } = to ?? from ?? { destination: '', request: '' }
    if (from?.targets === to?.targets) return []
    return [{ destination, request, ...(from && { before: from.targets }), ...(to && { after: to.targets }) }]
  })
}

/** Routes out of the mesh. */
export function egressRoutes(calls: CallSets): readonly CallRoute[] {
  return [...routesIn(partsOf(calls, 'egress'), new Set(), calls).values()]
}

/** Hashes of the parts in some sets and in the sets inside them. */
function partsOf({ sets, find }: CallSets, kind?: 'egress'): ReadonlySet<PartHash> {
  const found = new Set<PartHash>()
  const open = [...sets]
  for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
    const set = find(hash)
    if (set.kind !== 'set' || (kind !== undefined && set.of !== kind)) continue
    for (const member of set.members) found.add(member.hash)
    for (const inner of set.sets) open.push(inner.hash)
  }
  return found
}

function routesIn(
  parts: ReadonlySet<PartHash>,
  others: ReadonlySet<PartHash>,
  { find }: CallSets,
): ReadonlyMap<string, CallRoute> {
  const routes = new Map<string, CallRoute>()
  for (const hash of parts) {
    if (others.has(hash)) continue
    const part = find(hash)
    const own = part.kind === 'outbound' ? routesOf(part) : part.kind === 'egress' ? [egressRoute(part)] : []
    for (const route of own) routes.set(`${route.destination}\0${route.request}`, route)
  }
  return routes
}

function egressRoute({ protocol, port, hosts, serverNames, cidrs }: EgressPart): CallRoute {
  const names = [...hosts, ...serverNames, ...cidrs].join(', ') || 'any address'
  return { destination: `${names} port ${port}`, request: protocol, targets: 'outside the mesh' }
}

function routesOf(part: OutboundPart): readonly CallRoute[] {
  const destination = nameOf(part.service, part.port)
  return part.rules.kind === 'tcp'
    ? [
        ...(part.rules.serverNameRoutes ?? []).map((route) => ({
          destination,
          request: `TLS for ${route.serverNames.join(', ')}`,
          targets: sharesOf([...route.targets, ...closedShare(route)]),
        })),
        {
          destination,
          request: 'any connection',
          targets: sharesOf([...part.rules.targets, ...closedShare(part.rules)]),
        },
      ]
    : part.rules.routes.map((route) => ({
        destination,
        request: describeMatch(route.match),
        targets: routeEnd(route),
      }))
}

function closedShare({ errorWeight = 0 }: ConnectionShares): readonly WeightedUpstream[] {
  return errorWeight > 0 ? [{ upstream: 'closed', weight: errorWeight }] : []
}

function routeEnd(route: OutboundRoute): string {
  const { targets, errorWeight = 0, errorStatus } = route
  const errors = errorWeight > 0 ? [{ upstream: `error ${errorStatus ?? 500}`, weight: errorWeight }] : []
  return [sharesOf([...targets, ...errors]), describeChanges(route)].filter((text) => text !== '').join('; ')
}

function sharesOf(targets: readonly WeightedUpstream[]): string {
  const sum = targets.reduce((total, { weight }) => total + weight, 0)
  if (sum === 0) return 'nowhere'
  return targets
    .map(({ upstream, weight }) => `${upstream.replace('|', ':')} ${formatPercent(weight / sum)}`)
    .join(', ')
}

/** A service port, as people write it. */
export function nameOf({ namespace, name }: MeshService, port: number): string {
  return `${namespace}/${name}:${port}`
}
