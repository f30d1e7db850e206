import type { MeshService } from '@osm-ts/driver-api'
import {
  canonicalJson,
  compareBy,
  compareCanonical,
  compareText,
  type ConnectionShares,
  type OutboundPart,
  type OutboundRoute,
  type OutboundMatch,
  type RouteTarget,
} from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { servicesSharing, withInstances } from '../problems/claims.js'
import { dialledAddresses } from '../problems/pod-addresses.js'
import { connectionPlan } from '../gateway/connection-plan.js'
import { gatewayRoutes, type GatewayAction, type GatewayTarget } from '../gateway/route-plan.js'
import { hostNames } from './host-names.js'
import {
  calledPortKey,
  nameKey,
  readersKey,
  servicePortKey,
  targetPortKey,
  type CalledPortRef,
  type ServicePortRef,
  type TargetPortRef,
} from '../parts/keys.js'
import { keepPart, makePart, samePart, type Origins, type PolicyPart, type SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { matchesEverything } from './route-match.js'
import { anyInstanceOf, calledService, portsOf, serviceModel, type MeshServicePort } from '../upstreams/services.js'
import { splitsOf, type SplitPlan } from './split-plan.js'
import { splitTargets, weightedUpstreams } from './split-targets.js'
import { portTarget, upstreamOfPort } from '../upstreams/upstreams.js'

type Context = QueryContext<CatalogState>

/** Weight of a service that no split concerns: all of its traffic, whatever the number. */
const WHOLE = 100

interface PlannedRoute {
  readonly match: OutboundMatch
  readonly targets: readonly GatewayTarget[]
  /** What a route of the Gateway API does besides, for requests. */
  readonly action?: GatewayAction
  /** Server names of TLS connections, which are meant alone. */
  readonly serverNames?: readonly string[]
  /** Share of connections that is closed. */
  readonly errorWeight?: number
  readonly origins: readonly SourceRef[]
}

interface RoutePlan {
  /** In order; for ports that speak no HTTP one route that matches everything. */
  readonly routes: readonly PlannedRoute[]
  readonly problems: readonly PolicyProblem[]
}

/** Where traffic to a service port goes. */
const routePlan = defineQuery<CatalogState, CalledPortRef, RoutePlan | undefined>({
  name: 'route-plan',
  keyOf: calledPortKey,
  equal: deepEqual,
  compute: (context, { readers, ...key }) => {
    const port = portOf(context, key)
    if (port === undefined) return undefined
    const own = readers === undefined ? undefined : routedFor(context, port, { ...key, readers })
    if (own !== undefined) return own
    const service = { namespace: key.namespace, name: key.name }
    const splits = calledService(service).hostname === undefined ? context.get(splitsOf, service).plans : []
    const routed = routedFor(context, port, key)
    if (routed !== undefined) return routedPlan(key, routed, splits)
    return isHttp(port.protocol) ? httpPlan(context, key, splits) : tcpPlan(context, key, splits)
  },
})

/** What routes of the Gateway API say of a port; undefined if none is attached to it. */
function routedFor(context: Context, { protocol }: MeshServicePort, key: CalledPortRef): RoutePlan | undefined {
  if (isHttp(protocol)) return context.get(gatewayRoutes, key)
  const plan = context.get(connectionPlan, key)
  if (plan === undefined) return undefined
  const { routes, problems } = plan
  return { routes: routes.map((route) => ({ match: {}, ...route })), problems }
}

/** Where routes of the Gateway API are attached, they say everything: what none of them matches is answered 404, and splits have no part in it. */
function routedPlan(key: ServicePortRef, { routes, problems }: RoutePlan, splits: readonly SplitPlan[]): RoutePlan {
  const replaced = splits.flatMap(({ split }) => {
    const list = new ProblemList(objectRefOf('TrafficSplit', split))
    const message = `routes of the Gateway API are attached to port ${key.port} of the apex and take precedence; the TrafficSplit does not apply to it`
    list.warning('OSM_POLICY_SPLIT_ROUTED', 'spec.service', message)
    return list.items
  })
  return { routes, problems: [...problems, ...replaced] }
}

function httpPlan(context: Context, key: ServicePortRef, splits: readonly SplitPlan[]): RoutePlan {
  const routes = new Map<string, PlannedRoute & { readonly split: SplitPlan }>()
  const problems: PolicyProblem[] = []
  for (const split of splits) {
    const object = objectRefOf('TrafficSplit', split.split)
    const { applies, targets } = context.get(splitTargets, { split: split.split, apexPort: key })
    if (!applies) continue
    for (const { match, origin } of split.matches ?? [{ match: {}, origin: undefined }]) {
      const text = canonicalJson(match)
      const earlier = routes.get(text)
      const origins = [{ object }, ...(origin === undefined ? [] : [origin])]
      if (earlier === undefined) routes.set(text, { match, targets, origins, split })
      else if (nameKey(earlier.split.split) !== nameKey(split.split)) problems.push(...shadowed(split, earlier.split))
    }
  }
  const planned = [...routes.values()].map(({ match, targets, origins }) => ({ match, targets, origins }))
  const catchAll = planned.findIndex(({ match }) => matchesEverything(match))
  return {
    routes: catchAll === -1 ? [...planned, ownRoute(context, key)] : planned.slice(0, catchAll + 1),
    problems,
  }
}

function shadowed(split: SplitPlan, holder: SplitPlan): readonly PolicyProblem[] {
  const problems = new ProblemList(objectRefOf('TrafficSplit', split.split))
  const message = `the same requests are already split by TrafficSplit ${nameKey(holder.split)}, which takes precedence`
  problems.warning('OSM_POLICY_SPLIT_SHADOWED', 'spec.matches', message)
  return problems.items
}

function tcpPlan(context: Context, key: ServicePortRef, splits: readonly SplitPlan[]): RoutePlan {
  const problems = splits.flatMap(({ split, matches }) => {
    if (matches === undefined) return []
    const list = new ProblemList(objectRefOf('TrafficSplit', split))
    list.warning(
      'OSM_POLICY_SPLIT_MATCHES',
      'spec.matches',
      `port ${key.port} of the apex does not speak HTTP, so the TrafficSplit does not apply to it`,
    )
    return list.items
  })
  const whole = splits.find(({ matches }) => matches === undefined)
  if (whole === undefined) return { routes: [ownRoute(context, key)], problems }
  const { applies, targets } = context.get(splitTargets, { split: whole.split, apexPort: key })
  if (!applies) return { routes: [ownRoute(context, key)], problems }
  return { routes: [{ match: {}, targets, origins: [{ object: objectRefOf('TrafficSplit', whole.split) }] }], problems }
}

function ownRoute(context: Context, key: ServicePortRef): PlannedRoute {
  const upstream = context.get(upstreamOfPort, key)
  const { parent } = calledService(key)
  return {
    match: {},
    targets: upstream === undefined ? [] : [{ upstream, weight: WHOLE }],
    origins: [{ object: objectRefOf('Service', parent) }],
  }
}

/** The `outbound` part of a service port; undefined if there is no such port. */
export const outboundPart = defineQuery<CatalogState, CalledPortRef, PolicyPart<OutboundPart> | undefined>({
  name: 'outbound-part',
  keyOf: calledPortKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const port = portOf(context, key)
    const plan = context.get(routePlan, key)
    if (port === undefined || plan === undefined) return undefined
    const service: MeshService = { namespace: key.namespace, name: key.name }
    const { hosts, shortHost } = hostNames(context, service, key.port)
    const sharedWith = servicesSharing(context, service, key.port).map((other) =>
      servicePortKey({ ...other, port: key.port }),
    )
    return makePart<OutboundPart>(
      {
        kind: 'outbound',
        id: servicePortKey(key),
        service,
        port: key.port,
        protocol: port.protocol,
        addresses: dialledAddresses(context, service, key.port),
        ...(sharedWith.length > 0 ? { sharedWith } : {}),
        hosts,
        shortHost,
        rules: outboundRules(port, plan),
      },
      { origins: outboundOrigins(port, plan, service) },
    )
  },
})

function outboundRules(port: MeshServicePort, { routes }: RoutePlan): OutboundPart['rules'] {
  if (isHttp(port.protocol)) {
    return { kind: 'http', routes: routes.map(outboundRoute) }
  }
  const named = routes.flatMap(({ serverNames, ...route }) =>
    serverNames === undefined ? [] : [{ serverNames, ...connectionShares([route]) }],
  )
  return {
    kind: 'tcp',
    ...connectionShares(routes.filter(({ serverNames }) => serverNames === undefined)),
    ...(named.length === 0 ? {} : { serverNameRoutes: named.sort(compareCanonical) }),
  }
}

function connectionShares(routes: readonly Pick<PlannedRoute, 'targets' | 'errorWeight'>[]): ConnectionShares {
  const errorWeight = routes.reduce((sum, { errorWeight: weight = 0 }) => sum + weight, 0)
  const targets = routes.flatMap((route) => weightedUpstreams(route.targets))
  return { targets, ...(errorWeight === 0 ? {} : { errorWeight }) }
}

function outboundRoute({ match, targets, action }: PlannedRoute): OutboundRoute {
  const shares = targets
    .map(({ upstream, ...share }): RouteTarget => ({ upstream: targetPortKey(upstream), ...share }))
    .sort(compareBy<RouteTarget>((a, b) => compareText(a.upstream, b.upstream), compareCanonical))
  if (action === undefined) return { match, targets: shares, timeoutMs: 0 }
  const { copies, ...rest } = action
  const mirrors = copies.map(({ upstream, perMillion }) => ({ upstream: targetPortKey(upstream), perMillion }))
  return { match, targets: shares, ...rest, ...(mirrors.length === 0 ? {} : { mirrors }) }
}

function outboundOrigins(port: MeshServicePort, { routes }: RoutePlan, service: MeshService): Origins {
  const whole = { object: objectRefOf('Service', calledService(service).parent), field: port.field }
  if (isHttp(port.protocol))
    return {
      '': [whole],
      ...Object.fromEntries(routes.map(({ origins }, index) => [`/rules/routes/${index}`, origins])),
    }
  return { '': [whole], '/rules/targets': routes.flatMap(({ origins }) => origins) }
}

/** What clients of a service need: its ports, those of its instances with their own name, and the upstreams that their routes lead to. */
export interface CalledParts {
  readonly ports: readonly ServicePortRef[]
  readonly upstreams: readonly TargetPortRef[]
}

/** A service as workloads of a namespace call it. */
type CalledServiceRef = MeshService & Pick<CalledPortRef, 'readers'>

/** What clients of a service need. */
export const calledParts = defineQuery<CatalogState, CalledServiceRef, CalledParts>({
  name: 'called-parts',
  keyOf: (service) => `${nameKey(service)}${readersKey(service)}`,
  equal: deepEqual,
  compute: (context, { readers, ...service }) => {
    const model = context.get(serviceModel, service)
    if (model === undefined) return { ports: [], upstreams: [] }
    const ports = [
      ...withInstances(context, service).flatMap((called) => model.ports.map(({ port }) => ({ ...called, port }))),
      ...model.podPorts.map(({ port }) => ({ ...anyInstanceOf(service), port })),
    ]
    const targets = ports
      .flatMap((port) => context.get(routePlan, calledBy(port, readers))?.routes ?? [])
      .flatMap(({ targets: shares, action }) => [...shares, ...(action?.copies ?? [])])
    const upstreams = new Map(targets.map(({ upstream }) => [targetPortKey(upstream), upstream]))
    return { ports, upstreams: [...upstreams.values()] }
  },
})

/** What is wrong with names, addresses and splits of a service. */
export const outboundProblems = defineQuery<CatalogState, MeshService, readonly PolicyProblem[]>({
  name: 'outbound-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const { ports } = context.get(calledParts, service)
    const problems = new ProblemList(objectRefOf('Service', service))
    for (const { port, ...called } of ports)
      for (const { host, owner } of hostNames(context, called, port).taken)
        problems.warning(
          'OSM_POLICY_HOST_CONFLICT',
          'metadata.name',
          `instance ${called.name} is called ${host}, which is the name of Service ${nameKey(owner)}; the service takes precedence`,
        )
    for (const { port, field } of context.get(serviceModel, service)?.ports ?? []) {
      const { targetPort, rival } = context.get(portTarget, { ...service, port })
      if (rival === undefined) continue
      const message = `target port ${targetPort} is served as port ${rival}, which has another protocol and takes precedence; port ${port} leads nowhere`
      problems.error('OSM_POLICY_PORT_CONFLICT', field, message)
    }
    const routes = ports.flatMap((port) => context.get(routePlan, port)?.problems ?? [])
    const splits = context.get(splitsOf, service)
    const targets = (context.get(serviceModel, service)?.ports ?? []).flatMap(({ port }) =>
      splits.plans.flatMap(
        ({ split }) => context.get(splitTargets, { split, apexPort: { ...service, port } }).problems,
      ),
    )
    return [...problems.items, ...splits.problems, ...routes, ...targets]
  },
})

/** The same for callers of a namespace with routes of its own. */
export function calledBy<T extends object>(called: T, readers: string | undefined): T & { readonly readers?: string } {
  return readers === undefined ? called : { ...called, readers }
}

function portOf(context: Context, { namespace, name, port }: ServicePortRef): MeshServicePort | undefined {
  return portsOf(context, calledService({ namespace, name })).find((candidate) => candidate.port === port)
}
