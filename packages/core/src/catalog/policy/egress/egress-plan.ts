import type { ServiceAccountRef } from '@osm-ts/driver-api'
import { canonicalJson } from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs, settingInputs } from '../../inputs/inputs.js'
import { combinationsInAll, reportTooMany } from '../problems/combinations.js'
import { inPrecedence, mayConcern } from '../access/consent.js'
import { ANYWHERE, nameOfTheMesh, type EgressDestination, type EgressProtocol } from './egress-destinations.js'
import { gatewaysOfEgress, isGatewayAccount, type GatewayChoice } from './egress-gateways.js'
import { egressRules, opensTo, type EgressRoute, type EgressRules, type EgressSource } from './egress-rules.js'
import { nameKey, sameName, type NamespacedName } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { meshServiceCalled } from '../routing/host-names.js'
import { matchesEverything } from '../routing/route-match.js'
import { serviceModel } from '../upstreams/services.js'

/** A destination that workloads of one account may reach, whatever number of objects open it. */
export interface PlannedEgress {
  readonly protocol: EgressProtocol
  readonly port: number
  /** As in {@link EgressDestination}. */
  readonly target: string
  readonly originate: EgressSource['originate']
  /** `http` only, in order. */
  readonly routes: readonly EgressRoute[]
  /** UpstreamTrafficSetting: that of the first object with one. */
  readonly settings: NamespacedName | undefined
  /** Gateways that rules give to the objects; those of the first object with any. */
  readonly gateways: GatewayChoice | undefined
  readonly origins: readonly SourceRef[]
}

/** What workloads of an account may reach outside the mesh. */
export interface EgressPlan {
  /** In the order of the objects that open them. */
  readonly destinations: readonly PlannedEgress[]
  readonly problems: readonly PolicyProblem[]
}

type Context = QueryContext<CatalogState>

/** One destination of one object, as it is opened to one account. */
interface Opening {
  readonly rules: EgressRules
  readonly source: EgressSource
  readonly destination: EgressDestination
  readonly gateways: GatewayChoice | undefined
}

interface Refusal {
  readonly code: PolicyProblem['code']
  readonly field: string
  readonly message: string
}

/** A destination with the object that opened it first. */
interface Claim {
  readonly holder: NamespacedName
  readonly planned: PlannedEgress
}

/**
 * What Egress objects open to an account together. They add up: a request that any of them lets out to a host may leave. Where they would open one
 * destination in two ways, the first holds: of those of the account's namespace, then of the control plane's, then by namespace and name.
 */
export const egressPlan = defineQuery<CatalogState, ServiceAccountRef, EgressPlan>({
  name: 'egress-plan',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => {
    const named = context.get(settingInputs.egressPolicies, '')
      ? context.get(indexInputs.egressBySource, nameKey(account))
      : []
    // Filtered first: objects of namespaces without permission must not slow down this computation, however many there are.
    const to = { kind: 'ServiceAccount', ...account } as const
    const names = named.filter(({ namespace }) => mayConcern(context, { from: { kind: 'Egress', namespace }, to }))
    const problems = new Map<string, ProblemList>()
    const problemsOf = (egress: NamespacedName): ProblemList => {
      const list = problems.get(nameKey(egress)) ?? new ProblemList(objectRefOf('Egress', egress))
      problems.set(nameKey(egress), list)
      return list
    }
    const openings = withinBounds(
      inPrecedence(context, account.namespace, names).map((name) => openingsOf(context, name, account)),
      account,
      problemsOf,
    )
    const neighbours = neighboursOf(context, account, openings)
    const claims = new Map<string, Claim>()
    for (const opening of openings) {
      const refusal = clash(context, opening, account, neighbours) ?? claim(claims, opening)
      if (refusal !== undefined) problemsOf(opening.rules.egress).error(refusal.code, refusal.field, refusal.message)
    }
    return {
      destinations: [...claims.values()].map(({ planned }) => planned),
      problems: [...problems.values()].flatMap(({ items }) => items),
    }
  },
})

/** The openings of the first objects. An object that exceeds the limit of the account opens nothing to it, and neither do the objects after it. */
function withinBounds(
  byObject: readonly (readonly Opening[])[],
  account: ServiceAccountRef,
  problemsOf: (egress: NamespacedName) => ProblemList,
): readonly Opening[] {
  const limit = combinationsInAll.egress
  const kept: Opening[] = []
  let opened = 0
  for (const openings of byObject) {
    const [first] = openings
    if (first === undefined) continue
    opened += openings.length * Math.max(1, first.rules.routes.length)
    if (opened <= limit) for (const opening of openings) kept.push(opening)
    else
      reportTooMany(
        problemsOf(first.rules.egress),
        'spec',
        `is ignored for service account ${nameKey(account)}, which has ${opened} combinations of destination and match with it`,
        limit,
        'open fewer destinations to the account',
      )
  }
  return kept
}

/** Other destinations on the ports of an account that make a destination ambiguous. */
interface Neighbours {
  /** Describes a destination on the port whose server speaks first. */
  readonly serverFirst: (port: number) => string | undefined
  /** Describes an Egress that opens the port for `http`. */
  readonly http: (port: number) => string | undefined
}

function neighboursOf(context: Context, account: ServiceAccountRef, openings: readonly Opening[]): Neighbours {
  const byPort = new Map<string, string>()
  for (const { destination, rules } of openings) {
    const key = `${destination.protocol} ${destination.port}`
    if (!byPort.has(key)) byPort.set(key, `Egress ${nameKey(rules.egress)}`)
  }
  const services = new Map<number, string | undefined>()
  return {
    serverFirst: (port) => {
      if (!services.has(port)) services.set(port, serverFirstService(context, account.namespace, port))
      return services.get(port) ?? byPort.get(`tcp-server-first ${port}`)
    },
    http: (port) => byPort.get(`http ${port}`),
  }
}

function openingsOf(context: Context, name: NamespacedName, account: ServiceAccountRef): readonly Opening[] {
  const rules = context.get(egressRules, name)
  if (rules === undefined) return []
  const gateways = context.get(isGatewayAccount, account) ? undefined : context.get(gatewaysOfEgress, name)
  return rules.sources
    .filter((source) => sameName(source.account, account))
    .flatMap((source) =>
      rules.destinations
        .filter((destination) => opensTo(source, destination))
        // Without a route no request may leave: what opens nothing takes nothing from others either.
        .filter(({ protocol }) => protocol !== 'http' || rules.routes.length > 0)
        .map((destination) => ({ rules, source, destination, gateways })),
    )
}

/** What keeps a destination from being told apart from others on its port. */
function clash(
  context: Context,
  { destination }: Opening,
  account: ServiceAccountRef,
  neighbours: Neighbours,
): Refusal | undefined {
  const { protocol, port, target, field, targetField } = destination
  if ((protocol === 'http' || protocol === 'https') && !target.startsWith(ANYWHERE)) {
    // The full names of services were left out for everybody: these are names that only callers of this namespace know.
    const owner = meshServiceCalled(context, target, account.namespace)
    if (owner !== undefined)
      return { code: 'OSM_POLICY_EGRESS_MESH', field: targetField, message: nameOfTheMesh(target, owner) }
  }
  if (protocol === 'https') {
    const rival = neighbours.serverFirst(port)
    if (rival === undefined) return undefined
    const message = `https on port ${port} waits for the client, but ${rival} lets the server speak first there; use another port for one of them`
    return { code: 'OSM_SPEC_PROTOCOL', field: `${field}.protocol`, message }
  }
  const http = target === ANYWHERE && protocol !== 'http' ? neighbours.http(port) : undefined
  if (http === undefined) return undefined
  const message = `every address on port ${port} is already distinguished by hosts because of ${http}, which takes precedence; name addresses in spec.ipAddresses`
  return { code: 'OSM_POLICY_EGRESS_CONFLICT', field: `${field}.protocol`, message }
}

/** A service of the caller's namespace on this port whose server speaks first, in words. Other namespaces close nothing here. */
function serverFirstService(context: Context, namespace: string, port: number): string | undefined {
  const found = context
    .get(indexInputs.servicesByPort, String(port))
    .filter((service) => service.namespace === namespace)
    .find((service) =>
      context
        .get(serviceModel, service)
        ?.ports.some((candidate) => candidate.port === port && candidate.protocol === 'tcp-server-first'),
    )
  return found && `Service ${nameKey(found)}`
}

/** Adds an opening to what is open already. */
function claim(claims: Map<string, Claim>, { rules, source, destination, gateways }: Opening): Refusal | undefined {
  const { protocol, port, target, field, targetField } = destination
  const { originate } = source
  const key = `${protocol === 'tcp-server-first' ? 'tcp' : protocol} ${target} ${port}`
  const object = objectRefOf('Egress', rules.egress)
  const origins = [...new Set([field, targetField])].map((path): SourceRef => ({ object, field: path }))
  const routes = protocol === 'http' ? rules.routes.map((route) => withOrigin(route, object, field)) : []
  const held = claims.get(key)
  if (held === undefined) {
    claims.set(key, {
      holder: rules.egress,
      planned: { protocol, port, target, originate, routes, settings: rules.settings, gateways, origins },
    })
    return undefined
  }
  const { planned, holder } = held
  if (planned.protocol !== protocol || !deepEqual(planned.originate, originate)) {
    const way = planned.protocol === protocol ? 'with another client certificate, or none,' : `as ${planned.protocol}`
    const message = `port ${port} of ${target} is already opened ${way} by Egress ${nameKey(holder)}, which takes precedence`
    return { code: 'OSM_POLICY_EGRESS_CONFLICT', field: `${field}.protocol`, message }
  }
  if (planned.gateways !== undefined && gateways !== undefined && planned.gateways.key !== gateways.key) {
    const message = `port ${port} of ${target} already leaves by the gateways of EgressGateway ${nameKey(planned.gateways.origin.object)}, which take precedence`
    return { code: 'OSM_POLICY_EGRESS_CONFLICT', field: `${field}.protocol`, message }
  }
  const merged = {
    ...planned,
    routes: union(planned.routes, routes),
    settings: planned.settings ?? rules.settings,
    gateways: planned.gateways ?? gateways,
    origins: [...planned.origins, ...origins],
  }
  claims.set(key, { holder, planned: merged })
  return undefined
}

/** Every route has an origin: that of its match, or the port that is open to all requests. */
function withOrigin(route: EgressRoute, object: SourceRef['object'], field: string): EgressRoute {
  return route.origins.length > 0 ? route : { ...route, origins: [{ object, field }] }
}

/** In order, each match once, and nothing behind one that holds for every request. */
function union(first: readonly EgressRoute[], second: readonly EgressRoute[]): readonly EgressRoute[] {
  const routes = new Map<string, EgressRoute>()
  for (const route of [...first, ...second]) {
    const text = canonicalJson(route.match)
    const known = routes.get(text)
    routes.set(text, known === undefined ? route : { ...known, origins: [...known.origins, ...route.origins] })
  }
  const all = [...routes.values()]
  const catchAll = all.findIndex(({ match }) => matchesEverything(match))
  return catchAll === -1 ? all : all.slice(0, catchAll + 1)
}
