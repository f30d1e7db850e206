import type { MeshService } from '@osm-ts/driver-api'
import { canonicalJson } from '@osm-ts/driver-api/policy'

import { isAddress } from '../../../spec/addresses.js'
import type { ConnectionRouteKind, RequestRouteKind } from '../../../spec/index.js'
import { deepEqual, defineQuery, sameItems, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { endpointsOfService, objectInputs, settingInputs, type NameInputKind } from '../../inputs/inputs.js'
import type { AccessKind } from '../ingress/access-objects.js'
import { isUsableAccount } from '../access/accounts.js'
import { contestedAddresses } from './claims.js'
import { retryAnalysis } from '../routing/client-rules.js'
import { targetProblems } from '../access/grants.js'
import { egressGatewayProblems } from '../egress/egress-gateways.js'
import { egressPlan } from '../egress/egress-plan.js'
import { egressRules } from '../egress/egress-rules.js'
import { exportProblems, importProblems } from '../upstreams/imports.js'
import { ingressOfInstance } from '../ingress/ingress-of-instance.js'
import { accessProblems } from '../ingress/ingress.js'
import { nameKey, sameName, sortedUnique, type NamespacedName } from '../parts/keys.js'
import { groupNames, NAME_GROUPS, nameGroupKey, type NameGroup } from './name-groups.js'
import { outboundProblems } from '../routing/outbound.js'
import { probeProblems } from '../proxies/probes.js'
import { objectRefOf, ProblemList, type PolicyProblem } from './problems.js'
import { accountOf } from '../proxies/proxy.js'
import { proxyClaimProblems } from '../proxies/proxy-claims.js'
import { routeGroup } from '../routing/route-groups.js'
import { calledService, serviceModel } from '../upstreams/services.js'
import { connectionAnalysis } from '../gateway/connection-analysis.js'
import { connectionPlan } from '../gateway/connection-plan.js'
import { routeAnalysis } from '../gateway/route-analysis.js'
import { routeConflicts } from '../gateway/route-conflicts.js'
import { gatewayRoutes } from '../gateway/route-plan.js'
import { sameRoute, type RouteRef } from '../gateway/route-refs.js'
import { splitAnalysis } from '../routing/split-plan.js'
import { gatewayProblems, sidecarProblems } from '../upstreams/upstreams.js'

type Context = QueryContext<CatalogState>

/** Looks at one object. */
type FindProblems = (context: Context, name: NamespacedName) => readonly PolicyProblem[]

const access =
  (kind: AccessKind): FindProblems =>
  (context, name) =>
    context.get(accessProblems, { kind, ...name })

const finders = {
  TrafficTarget: (context, name) => context.get(targetProblems, name),
  HTTPRouteGroup: (context, name) => context.get(routeGroup, name)?.problems ?? [],
  TrafficSplit: (context, name) => context.get(splitAnalysis, name)?.problems ?? [],
  HTTPRoute: (context, name) => routeProblems(context, { kind: 'HTTPRoute', ...name }),
  GRPCRoute: (context, name) => routeProblems(context, { kind: 'GRPCRoute', ...name }),
  GatewayTCPRoute: (context, name) => connectionRouteProblems(context, { kind: 'GatewayTCPRoute', ...name }),
  TLSRoute: (context, name) => connectionRouteProblems(context, { kind: 'TLSRoute', ...name }),
  Retry: (context, name) => context.get(retryAnalysis, name)?.problems ?? [],
  IngressBackend: access('IngressBackend'),
  AccessControl: access('AccessControl'),
  ServiceImport: (context, name) => context.get(importProblems, name),
  ServiceExport: (_context, name) => exportProblems(name),
  Egress: (context, name) => context.get(egressProblems, name),
  EgressGateway: (context, name) => context.get(egressGatewayProblems, name),
  Service: (context, name) => context.get(serviceProblems, name),
  WorkloadInstance: (context, name) => [
    ...instanceProblems(context, name),
    ...context.get(ingressOfInstance, name).problems,
  ],
} as const satisfies Partial<Record<NameInputKind, FindProblems>>

type FoundKind = keyof typeof finders

/** Some objects of a kind; or addresses, which services have in common. */
export type ProblemGroup = (NameGroup & { readonly kind: FoundKind }) | 'addresses'

/** All groups: each object that can be wrong is in one. */
export function* problemGroups(): Generator<ProblemGroup, void> {
  for (const kind of Object.keys(finders) as FoundKind[])
    for (let number = 0; number < NAME_GROUPS; number += 1) yield { kind, number }
  yield 'addresses'
}

/** What was found wrong in a group while policies were computed, in no particular order. Two groups may find the same. */
export const groupProblems = defineQuery<CatalogState, ProblemGroup, readonly PolicyProblem[]>({
  name: 'group-problems',
  keyOf: (group) => (group === 'addresses' ? group : nameGroupKey(group)),
  equal: deepEqual,
  compute: (context, group) => {
    if (group === 'addresses') return context.get(addressProblems, '')
    const find: FindProblems = finders[group.kind]
    return uniqueProblems(context.get(groupNames, group).flatMap((name) => find(context, name)))
  },
})

/** Each thing once. */
export function uniqueProblems(found: readonly PolicyProblem[]): readonly PolicyProblem[] {
  if (found.length < 2) return found
  return [...new Map(found.map((problem) => [canonicalJson(problem), problem])).values()]
}

const egressProblems = defineQuery<CatalogState, NamespacedName, readonly PolicyProblem[]>({
  name: 'egress-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    if (!context.get(settingInputs.egressPolicies, '')) return []
    const { sources = [], problems = [] } = context.get(egressRules, name) ?? {}
    const own = sources
      .flatMap(({ account }) => context.get(egressPlan, account).problems)
      .filter(({ object }) => sameName(object, name))
    return [...problems, ...own]
  },
})

const serviceProblems = defineQuery<CatalogState, MeshService, readonly PolicyProblem[]>({
  name: 'service-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const problems = new ProblemList(objectRefOf('Service', service))
    const answer = context.get(endpointsOfService, service)
    for (const { address } of answer.items)
      if (!isAddress(address)) {
        const message = `${address} is a host name; proxies need IP addresses, so this endpoint is ignored`
        problems.warning('OSM_POLICY_ENDPOINT_ADDRESS', 'spec.selector', message)
      }
    const model = context.get(serviceModel, service)
    const written = answer.items.filter(({ isAddressWritten, cluster }) => isAddressWritten === true && cluster === '')
    if (model?.headless === true && written.length > 0) {
      const some = sortedUnique(written.map(({ address }) => address)).slice(0, 3)
      const message = `clients that dial ${some.join(', ')} are not led to the headless Service: an object, or the machine itself, only says that the address is theirs; give the Service a cluster IP`
      problems.warning('OSM_POLICY_ADDRESS_WRITTEN', 'spec.clusterIP', message)
    }
    if (answer.state !== 'known')
      for (const { message } of answer.conditions)
        problems.warning('OSM_POLICY_ENDPOINTS_UNSURE', 'metadata.name', message)
    return [
      ...problems.items,
      ...(model?.problems ?? []),
      ...context.get(outboundProblems, service),
      ...context.get(sidecarProblems, service),
      ...context.get(gatewayProblems, service),
    ]
  },
})

/** Ports of the services of a group; sorted. */
const groupPorts = defineQuery<CatalogState, number, readonly number[]>({
  name: 'group-ports',
  keyOf: String,
  equal: sameItems,
  compute: (context, number) => {
    const ports = new Set<number>()
    for (const service of context.get(groupNames, { kind: 'Service', number }))
      for (const { port } of context.get(serviceModel, service)?.ports ?? []) ports.add(port)
    return [...ports].sort((a, b) => a - b)
  },
})

const addressProblems = defineQuery<CatalogState, '', readonly PolicyProblem[]>({
  name: 'address-problems',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context) => {
    const ports = new Set<number>()
    for (let number = 0; number < NAME_GROUPS; number += 1)
      for (const port of context.get(groupPorts, number)) ports.add(port)
    return [...ports].flatMap((port) =>
      context.get(contestedAddresses, port).flatMap(({ address, owner, losers }) =>
        losers.flatMap((loser) => {
          const list = new ProblemList(objectRefOf('Service', calledService(loser).parent))
          const message = `connections to ${address}:${port} go to Service ${nameKey(owner)}, whose claim is the stronger or comes first by name`
          list.warning('OSM_POLICY_ADDRESS_CONFLICT', 'spec.ports', message)
          return list.items
        }),
      ),
    )
  },
})

/** What is wrong with a route, and with its place among those of its namespace for Services of others. */
function routeProblems(context: Context, route: RouteRef<RequestRouteKind>): readonly PolicyProblem[] {
  const analysis = context.get(routeAnalysis, route)
  if (analysis === undefined) return []
  const { namespace: readers } = route
  const among = analysis.ports
    .filter(({ namespace }) => namespace !== readers)
    .flatMap((port) => context.get(gatewayRoutes, { ...port, readers })?.problems ?? [])
    .filter(({ object }) => sameRoute(route, object))
  return [...analysis.problems, ...among, ...routeConflicts(context, route, analysis)]
}

function connectionRouteProblems(context: Context, route: RouteRef<ConnectionRouteKind>): readonly PolicyProblem[] {
  const analysis = context.get(connectionAnalysis, route)
  if (analysis === undefined) return []
  const { namespace: readers } = route
  const among = analysis.ports
    .filter(({ namespace }) => namespace !== readers)
    .flatMap((port) => context.get(connectionPlan, { ...port, readers })?.problems ?? [])
    .filter(({ object }) => sameRoute(route, object))
  return [...analysis.problems, ...among, ...routeConflicts(context, route, analysis)]
}

function instanceProblems(context: Context, name: NamespacedName): readonly PolicyProblem[] {
  const instance = context.get(objectInputs.WorkloadInstance, name)
  if (instance === undefined) return []
  const claims = [...proxyClaimProblems(context, instance), ...probeProblems(instance)]
  if (isUsableAccount(context, accountOf(instance))) return claims
  const problems = new ProblemList(objectRefOf('WorkloadInstance', name))
  const message = `service account ${nameKey(accountOf(instance))} can have no certificate, so its proxy gets no policy; rename the account`
  problems.error('OSM_POLICY_ACCOUNT', 'spec.serviceAccountName', message)
  return [...claims, ...problems.items]
}
