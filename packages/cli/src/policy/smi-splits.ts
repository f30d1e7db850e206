import type { HTTPRouteMatch, KindMap, Problem, Snapshot } from '@osm-ts/core'

import type { SplitMesh } from './gateway-routes.js'
import { bytePorts, fittingPort, httpPorts } from './routed-ports.js'
import { type AttachedConnections, connectionSplit, type SplitManifest as Manifest } from './smi-connection-splits.js'
import { parentsOf, SplitReport } from './split-report.js'

type Route = KindMap['HTTPRoute']
type Rule = Route['spec']['rules'][number]
type Service = KindMap['Service']

/** Kinds of routes that are not translated, and why. */
const leftOut = {
  GRPCRoute: 'a TrafficSplit knows no methods of gRPC',
  TLSRoute: 'a TrafficSplit knows no server names',
} as const
type LeftOut = keyof typeof leftOut

/** What becomes of the HTTPRoutes and TCPRoutes of a mesh. */
export interface SplitMigration {
  /** TrafficSplits and the HTTPRouteGroups that they name. */
  readonly objects: readonly Manifest[]
  /** What SMI cannot say, or says differently. */
  readonly problems: readonly Problem[]
}

/**
 * Translates the HTTPRoutes and TCPRoutes of a namespace, or of all, to TrafficSplits: of an HTTPRoute one for each match, whose names are in the order in which matches apply, because
 * TrafficSplits with matches apply in the order of their names.
 */
export function splitsOfRoutes(mesh: SplitMesh, namespace?: string): SplitMigration {
  const { snapshot } = mesh
  const list = <K extends LeftOut | 'HTTPRoute' | 'GatewayTCPRoute'>(kind: K): readonly KindMap[K][] =>
    namespace === undefined ? snapshot.list(kind) : snapshot.byNamespace(kind, namespace)
  const report = new SplitReport(mesh)
  for (const [kind, why] of Object.entries(leftOut) as [LeftOut, string][])
    for (const route of list(kind)) report.error(route, 'OSM_CLI_SPLIT_PARENT', 'kind', `${why}; the route is omitted`)
  const services = new Map<string, Attached>()
  const attachedTo = (service: Service): Attached => {
    const key = `${service.metadata.namespace}/${service.metadata.name}`
    const attached = services.get(key) ?? { service, routes: [], connections: [] }
    services.set(key, attached)
    return attached
  }
  for (const route of list('HTTPRoute'))
    for (const { service, ports } of parentsOf(snapshot, route, httpPorts, report))
      attachedTo(service).routes.push({ route, ports })
  for (const route of list('GatewayTCPRoute'))
    for (const { service, ports } of parentsOf(snapshot, route, bytePorts, report))
      attachedTo(service).connections.push({ route, ports })
  const objects = [...services.values()].flatMap((attached): readonly Manifest[] => {
    const { service, routes, connections } = attached
    const requests = objectsOf(snapshot, attached, report)
    const split = requests.find(({ kind, spec }) => kind === 'TrafficSplit' && !('matches' in spec))
    const [first] = routes
    const whole = split === undefined || first === undefined ? undefined : { split, route: first.route }
    const own = connectionSplit(snapshot, { service, routes: connections, whole }, report)
    return own === undefined ? requests : [...requests, own]
  })
  return { objects, problems: report.problems }
}

/** Routes of a Service. */
interface Attached {
  readonly service: Service
  readonly routes: { readonly route: Route; readonly ports: readonly number[] }[]
  readonly connections: AttachedConnections[]
}

/** A match in the order in which matches apply. */
interface Ranked {
  readonly route: Route
  readonly rule: Rule
  readonly field: string
  readonly match: HTTPRouteMatch
  readonly rank: readonly number[]
}

function objectsOf(snapshot: Snapshot, { service, routes }: Attached, report: SplitReport): readonly Manifest[] {
  const { name, namespace } = service.metadata
  const all = httpPorts(service)
  const whole = routes.filter(({ route, ports }) => {
    const rest = all.filter(({ port }) => !ports.includes(port)).map(({ port }) => port)
    if (rest.length === 0) return true
    const message = `a TrafficSplit applies to all HTTP ports of a Service, and the route not to ${rest.join(', ')}; the route is omitted`
    report.error(route, 'OSM_CLI_SPLIT_PARENT', 'spec.parentRefs', message)
    return false
  })
  const ranked = whole
    .flatMap(({ route }) => matchesOf(route))
    .sort((a, b) => compareRanks(b.rank, a.rank) || compareAge(a.route, b.route))
  const seen = new Set<string>()
  const steps = ranked.flatMap((each) => {
    const text = JSON.stringify(each.match)
    if (seen.has(text)) return []
    seen.add(text)
    const backends = backendsOf(snapshot, service, each, report)
    const requests = backends.length === 0 ? undefined : groupMatch(each, report)
    return backends.length === 0 || requests === undefined ? [] : [{ ...each, backends, requests }]
  })
  const [first] = whole
  if (first !== undefined && !ranked.some(({ rank }) => rank.every((number) => number === 0))) {
    const message = 'requests that no rule matches are answered 404, and go to the Service with TrafficSplits'
    report.error(first.route, 'OSM_CLI_SPLIT_UNMATCHED', 'spec.rules', message)
  }
  const digits = String(steps.length).length
  return steps.flatMap(({ backends, requests }, place): readonly Manifest[] => {
    const own = `${name}-${String(place + 1).padStart(digits, '0')}`
    const isAll = Object.keys(requests).length === 0
    const metadata = { name: isAll ? name : own, namespace }
    const matches = isAll ? {} : { matches: [{ kind: 'HTTPRouteGroup', name: own }] }
    const split: Manifest = {
      apiVersion: 'split.smi-spec.io/v1alpha4',
      kind: 'TrafficSplit',
      metadata,
      spec: { service: name, ...matches, backends },
    }
    if (isAll) return [split]
    const spec = { matches: [{ name: 'requests', ...requests }] }
    return [{ apiVersion: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', metadata, spec }, split]
  })
}

function matchesOf(route: Route): readonly Ranked[] {
  return route.spec.rules.flatMap((rule, index) => {
    const matches = rule.matches ?? []
    return (matches.length === 0 ? [{}] : matches).map((match: HTTPRouteMatch, place): Ranked => ({
      route,
      rule,
      field: matches.length === 0 ? `spec.rules[${index}]` : `spec.rules[${index}].matches[${place}]`,
      match,
      rank: rankOf(match),
    }))
  })
}

const pathRanks = { Exact: 3, RegularExpression: 2, PathPrefix: 1 } as const

/** Larger numbers come first; all are 0 for a match of all requests. */
function rankOf({ path, method, headers = [], queryParams = [] }: HTTPRouteMatch): readonly number[] {
  const { type = 'PathPrefix', value = '/' } = path ?? {}
  const ofPath = type === 'PathPrefix' && value === '/' ? [0, 0] : [pathRanks[type], value.length]
  return [...ofPath, method === undefined ? 0 : 1, headers.length, queryParams.length]
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((number, index) => number !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** The sort is stable, and matches of one route are in the order of the object. */
function compareAge({ metadata: a }: Route, { metadata: b }: Route): number {
  const [mine, theirs] = [a.createdAt ?? '', b.createdAt ?? '']
  if (mine !== theirs && mine !== '' && theirs !== '') return Date.parse(mine) - Date.parse(theirs)
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1
}

/** Empty, with a problem, if SMI cannot say what the rule does. */
function backendsOf(
  snapshot: Snapshot,
  service: Service,
  { route, rule, field }: Ranked,
  report: SplitReport,
): readonly { readonly service: string; readonly weight: number }[] {
  const at = field.replace(/\.matches\[\d+\]$/, '')
  const lost = (where: string, message: string): readonly [] => {
    report.error(route, 'OSM_CLI_SPLIT_RULE', where, `${message}; requests of ${field} are omitted`)
    return []
  }
  const { filters = [], timeouts, retry, backendRefs = [] } = rule
  const beyond = [filters.length > 0 && 'filters', timeouts && 'timeouts', retry && 'retry'].filter(
    (each) => typeof each === 'string',
  )
  if (beyond[0] !== undefined) return lost(`${at}.${beyond[0]}`, `a TrafficSplit has no ${beyond.join(' and ')}`)
  if (backendRefs.every(({ weight }) => weight === 0))
    return lost(`${at}.backendRefs`, 'a TrafficSplit without a share is answered 503, not 500')
  const fit = backendRefs.flatMap((backend, index) => {
    const { group, kind, namespace = route.metadata.namespace, name, port, weight, filters: own = [] } = backend
    const where = `${at}.backendRefs[${index}]`
    if (group !== '' || kind !== 'Service') return lost(where, 'a backend of a TrafficSplit is a Service')
    if (namespace !== route.metadata.namespace)
      return lost(where, 'a backend of a TrafficSplit is in the namespace of the TrafficSplit')
    if (own.length > 0) return lost(`${where}.filters`, 'a backend of a TrafficSplit has no filters')
    const found = snapshot.get('Service', namespace, name)
    if (found === undefined) return lost(where, `there is no Service ${namespace}/${name}, whose share is an error`)
    const wrong = httpPorts(service).find((apex) => fittingPort(httpPorts(found), apex)?.port !== port)
    if (wrong !== undefined)
      return lost(
        `${where}.port`,
        `a TrafficSplit calls the backend on the port that fits port ${wrong.port} of the Service`,
      )
    return [{ service: name, weight }]
  })
  return fit.length === backendRefs.length ? fit : []
}

/** Undefined, with a problem, if an HTTPRouteGroup cannot say which requests are meant; empty for all. */
function groupMatch({ route, match, field }: Ranked, report: SplitReport): object | undefined {
  const { path, method, headers = [], queryParams = [] } = match
  if (queryParams.length > 0) {
    const message = 'an HTTPRouteGroup cannot match queries; the requests are omitted'
    report.error(route, 'OSM_CLI_SPLIT_RULE', `${field}.queryParams`, message)
    return undefined
  }
  const pathRegex = path === undefined ? undefined : expressionOf(path)
  // Of conditions on one header the first counts.
  const values = new Map<string, string>()
  for (const { type, name, value } of headers)
    if (!values.has(name.toLowerCase())) values.set(name.toLowerCase(), type === 'Exact' ? escaped(value) : value)
  return {
    ...(pathRegex === undefined ? {} : { pathRegex }),
    ...(method === undefined ? {} : { methods: [method] }),
    ...(values.size === 0 ? {} : { headers: [...values].map(([name, value]) => ({ [name]: value })) }),
  }
}

function expressionOf({ type, value }: NonNullable<HTTPRouteMatch['path']>): string | undefined {
  if (type === 'RegularExpression') return value
  if (type === 'Exact') return escaped(value)
  const prefix = value.endsWith('/') ? value.slice(0, -1) : value
  return prefix === '' ? undefined : `${escaped(prefix)}(/.*)?`
}

/** Text that an expression stands for, in the syntax of RE2. */
function escaped(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`)
}
