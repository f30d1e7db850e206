import {
  type GatewayRouteKind,
  type HTTPRouteMatch,
  type HTTPMatch,
  type KindMap,
  objectKey,
  objectRef,
  type Problem,
  type Snapshot,
  type SnapshotFeed,
  splitApexName,
} from '@osm-ts/core'

import type { CliErrorCode } from '../errors.js'
import { reorderedMatches, type OrderedMatch } from './route-order.js'
import { bytePorts, fittingPort, httpPorts, type RoutedPort } from './routed-ports.js'

type Split = KindMap['TrafficSplit']
type Service = KindMap['Service']

/** Limits of the definition of HTTPRoutes. */
const MAX_RULES = 16
const MAX_MATCHES = 64
const MAX_ALL_MATCHES = 128
const MAX_BACKENDS = 16
const MAX_WEIGHT = 1_000_000
const MAX_PATH_LENGTH = 1_024

/** An HTTPRoute or a TCPRoute that does what TrafficSplits do at one port of a Service. */
export interface RouteManifest {
  readonly apiVersion: 'gateway.networking.k8s.io/v1'
  readonly kind: 'HTTPRoute' | 'TCPRoute'
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly parentRefs: readonly {
      readonly group: ''
      readonly kind: 'Service'
      readonly name: string
      readonly port: number
    }[]
    readonly rules: readonly RuleManifest[]
  }
}

interface RuleManifest {
  readonly matches?: readonly HTTPRouteMatch[]
  readonly backendRefs: readonly { readonly name: string; readonly port: number; readonly weight?: number }[]
}

/** What becomes of the TrafficSplits of a mesh. */
export interface RouteMigration {
  /** Sorted by namespace and name. */
  readonly routes: readonly RouteManifest[]
  /** What routes cannot say, or say differently. */
  readonly problems: readonly Problem[]
}

/** Where objects are read. */
export interface SplitMesh {
  readonly snapshot: Snapshot
  readonly locate: SnapshotFeed['locate']
}

/** Translates the TrafficSplits of a namespace, or of all, to HTTPRoutes, and to TCPRoutes for ports without HTTP. The TrafficSplits apply as the controller applies them. */
export function routesOfSplits(mesh: SplitMesh, namespace?: string): RouteMigration {
  const { snapshot } = mesh
  const splits =
    namespace === undefined ? snapshot.list('TrafficSplit') : snapshot.byNamespace('TrafficSplit', namespace)
  const problems: Problem[] = []
  const found = new Map<string, Split[]>()
  for (const split of splits) {
    const { namespace: own } = split.metadata
    const [, second = own] = split.spec.service.split('.')
    // A split that names a service of another namespace has no effect.
    if (second !== own) continue
    const apex = `${own}/${splitApexName(split.spec.service)}`
    found.set(apex, [...(found.get(apex) ?? []), split])
  }
  const routes = [...found.values()].flatMap((ofApex) => new ApexMigration(mesh, ofApex, problems).routes())
  return { routes, problems }
}

/** What a TrafficSplit is at one port of its apex. */
interface SplitRule {
  readonly rule: RuleManifest
  readonly ordered: readonly OrderedMatch<Split>[]
}

/** TrafficSplits of one apex. */
class ApexMigration {
  readonly #mesh: SplitMesh
  /** In the order in which they apply: those with matches by name, then the first without. */
  readonly #splits: readonly Split[]
  readonly #problems: Problem[]

  constructor(mesh: SplitMesh, splits: readonly Split[], problems: Problem[]) {
    const isLimited = ({ spec }: Split): boolean => (spec.matches ?? []).length > 0
    this.#mesh = mesh
    this.#splits = [...splits.filter(isLimited), ...splits.filter((split) => !isLimited(split)).slice(0, 1)]
    this.#problems = problems
  }

  routes(): readonly RouteManifest[] {
    const [first] = this.#splits
    if (first === undefined) return []
    const { namespace } = first.metadata
    const name = splitApexName(first.spec.service)
    const apex = this.#mesh.snapshot.get('Service', namespace, name)
    if (apex === undefined) {
      for (const split of this.#splits)
        this.#report(split, 'OSM_CLI_ROUTE_REFERENCE', 'spec.service', `there is no Service ${namespace}/${name}`)
      return []
    }
    const named = (
      ports: readonly RoutedPort[],
      routeOf: (port: RoutedPort, own: string) => readonly RouteManifest[],
    ): readonly RouteManifest[] =>
      ports.flatMap((port) => routeOf(port, ports.length === 1 ? name : `${name}-${port.port}`))
    return [
      ...named(httpPorts(apex), (port, own) => this.#routeOf(apex, port, own)),
      ...named(bytePorts(apex), (port, own) => this.#connectionRouteOf(apex, port, own)),
    ]
  }

  /** Connections have nothing to be matched by: the split without matches is about them. */
  #connectionRouteOf(apex: Service, port: RoutedPort, wanted: string): readonly RouteManifest[] {
    const { namespace, name } = apex.metadata
    const split = this.#splits.find(({ spec }) => (spec.matches ?? []).length === 0)
    if (split === undefined || this.#isTaken(split, apex, port, ['GatewayTCPRoute', 'TLSRoute'])) return []
    const backendRefs = this.#backendsOf(split, port, bytePorts, 'port without HTTP')
    if (backendRefs.length === 0) return []
    if (isTooLarge([{ backendRefs }])) {
      const message = `at port ${port.port}, a TCPRoute takes at most ${MAX_BACKENDS} backends, and weights up to ${MAX_WEIGHT}`
      this.#report(split, 'OSM_CLI_ROUTE_LIMIT', 'spec.backends', message)
      return []
    }
    const isNamed = this.#mesh.snapshot.get('GatewayTCPRoute', namespace, wanted) !== undefined
    return [
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'TCPRoute',
        metadata: { name: isNamed ? `${wanted}-split` : wanted, namespace },
        spec: { parentRefs: [{ group: '', kind: 'Service', name, port: port.port }], rules: [{ backendRefs }] },
      },
    ]
  }

  /** True, with a warning, if a route of such a kind is attached to the port. */
  #isTaken(split: Split, apex: Service, port: RoutedPort, kinds: readonly GatewayRouteKind[]): boolean {
    const { namespace } = apex.metadata
    const attached = kinds
      .flatMap((kind): readonly KindMap[GatewayRouteKind][] => this.#mesh.snapshot.byNamespace(kind, namespace))
      .find(({ spec }) => spec.parentRefs.some((parent) => isParent(parent, apex, port)))
    if (attached === undefined) return false
    const message = `${attached.kind} ${namespace}/${attached.metadata.name} is already attached to port ${port.port} and takes precedence`
    this.#report(split, 'OSM_CLI_ROUTE_TAKEN', 'spec.service', message)
    return true
  }

  #routeOf(apex: Service, port: RoutedPort, wanted: string): readonly RouteManifest[] {
    const { namespace, name } = apex.metadata
    const [split] = this.#splits
    if (split === undefined || this.#isTaken(split, apex, port, ['HTTPRoute', 'GRPCRoute'])) return []
    const { snapshot } = this.#mesh
    const parts = this.#splits.flatMap((each) => this.#rulesOf(each, port))
    if (parts.length === 0) return []
    for (const { split: later, field } of reorderedMatches(parts.flatMap(({ ordered }) => ordered)))
      this.#report(
        later,
        'OSM_CLI_ROUTE_ORDER',
        field,
        `at port ${port.port}, its HTTPRoute prefers a later match to an earlier one: requests that both match may go elsewhere`,
      )
    const isWhole = parts.some(({ rule }) => rule.matches === undefined)
    const rules: readonly RuleManifest[] = [
      ...parts.map(({ rule }) => rule),
      ...(isWhole ? [] : [{ backendRefs: [{ name, port: port.port }] }]),
    ]
    if (isTooLarge(rules)) {
      const message = `at port ${port.port}, an HTTPRoute takes at most ${MAX_RULES} rules, ${MAX_MATCHES} matches and ${MAX_BACKENDS} backends in each, ${MAX_ALL_MATCHES} matches in all, weights up to ${MAX_WEIGHT}, and ${MAX_PATH_LENGTH} characters in a path`
      this.#report(split, 'OSM_CLI_ROUTE_LIMIT', 'spec', message)
      return []
    }
    const isTaken = snapshot.get('HTTPRoute', namespace, wanted) !== undefined
    return [
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: { name: isTaken ? `${wanted}-split` : wanted, namespace },
        spec: { parentRefs: [{ group: '', kind: 'Service', name, port: port.port }], rules },
      },
    ]
  }

  #rulesOf(split: Split, apexPort: RoutedPort): readonly SplitRule[] {
    const backendRefs = this.#backendsOf(split, apexPort, httpPorts, 'HTTP port')
    if (backendRefs.length === 0) return []
    if ((split.spec.matches ?? []).length === 0) return [{ rule: { backendRefs }, ordered: [] }]
    const ordered = this.#matchesOf(split)
    if (ordered.length === 0) return []
    return [{ rule: { matches: ordered.map(({ match }) => match), backendRefs }, ordered }]
  }

  /** Each backend on its port of the same number, else on the one of the same name. */
  #backendsOf(
    split: Split,
    apexPort: RoutedPort,
    portsOf: typeof httpPorts,
    what: string,
  ): RuleManifest['backendRefs'] {
    const { namespace } = split.metadata
    return split.spec.backends.flatMap(({ service: name, weight }, index) => {
      const field = `spec.backends[${index}].service`
      const lost = (reason: string): readonly [] => {
        this.#report(split, 'OSM_CLI_ROUTE_REFERENCE', field, `${reason}; its share goes to the others`)
        return []
      }
      const service = this.#mesh.snapshot.get('Service', namespace, name)
      if (service === undefined) return lost(`there is no Service ${namespace}/${name}`)
      const port = fittingPort(portsOf(service), apexPort)
      if (port === undefined) return lost(`Service ${namespace}/${name} has no ${what} that fits port ${apexPort.port}`)
      return [{ name, port: port.port, weight }]
    })
  }

  #matchesOf(split: Split): readonly OrderedMatch<Split>[] {
    const { namespace } = split.metadata
    const seen = new Set<string>()
    return (split.spec.matches ?? []).flatMap(({ name }, index) => {
      // A group that is named twice counts once.
      if (seen.has(name)) return []
      seen.add(name)
      const field = `spec.matches[${index}].name`
      const group = this.#mesh.snapshot.get('HTTPRouteGroup', namespace, name)
      if (group !== undefined)
        return group.spec.matches.flatMap((source) => routeMatches(source).map((match) => ({ match, split, field })))
      const message = `there is no HTTPRouteGroup ${namespace}/${name}; it stands for no request`
      this.#report(split, 'OSM_CLI_ROUTE_REFERENCE', field, message)
      return []
    })
  }

  #report(split: Split, code: CliErrorCode, field: string, message: string): void {
    const isKnown = this.#problems.some(
      (known) => known.message === message && known.field === field && known.object?.name === split.metadata.name,
    )
    if (isKnown) return
    const origin = this.#mesh.locate(objectKey(split), field)
    const severity = code === 'OSM_CLI_ROUTE_REFERENCE' || code === 'OSM_CLI_ROUTE_TAKEN' ? 'warning' : 'error'
    this.#problems.push({ code, severity, message, object: objectRef(split), field, ...(origin && { origin }) })
  }
}

function isParent(
  parent: KindMap['HTTPRoute']['spec']['parentRefs'][number],
  service: Service,
  port: RoutedPort,
): boolean {
  const { group, kind, namespace = service.metadata.namespace, name, port: number = port.port } = parent
  return (
    group === '' &&
    kind === 'Service' &&
    namespace === service.metadata.namespace &&
    name === service.metadata.name &&
    number === port.port &&
    (parent.sectionName ?? port.name) === port.name
  )
}

/** One for each method: a match of an HTTPRoute has one method or any. */
function routeMatches({ pathRegex = '', methods = [], headers = [] }: HTTPMatch): readonly HTTPRouteMatch[] {
  // Of equal names the last holds.
  const values = new Map(
    headers.flatMap((entry) => Object.entries(entry).map(([name, value]) => [name.toLowerCase(), value] as const)),
  )
  const common: HTTPRouteMatch = {
    ...(pathRegex === '' || pathRegex === '.*' ? {} : { path: { type: typeOf(pathRegex), value: pathRegex } }),
    ...(values.size === 0
      ? {}
      : { headers: [...values].map(([name, value]) => ({ type: typeOf(value), name, value })) }),
  }
  if (methods.length === 0) return [common]
  const named = [...new Set(methods)].flatMap((method) => (method === '*' ? [] : [{ ...common, method }]))
  return named.length < new Set(methods).size ? [common] : named
}

/** Every implementation of the Gateway API compares texts; expressions are its own matter. */
function typeOf(expression: string): 'Exact' | 'RegularExpression' {
  return /[\\.+*?()|[\]{}^$]/.test(expression) || expression === '' ? 'RegularExpression' : 'Exact'
}

function isTooLarge(rules: readonly RuleManifest[]): boolean {
  const counts = rules.map(({ matches = [] }) => matches.length)
  return (
    rules.length > MAX_RULES ||
    counts.some((count) => count > MAX_MATCHES) ||
    counts.reduce((sum, count) => sum + count, 0) > MAX_ALL_MATCHES ||
    rules.some(({ backendRefs }) => backendRefs.length > MAX_BACKENDS) ||
    rules.some(({ backendRefs }) => backendRefs.some(({ weight = 1 }) => weight > MAX_WEIGHT)) ||
    rules.some(({ matches = [] }) => matches.some(({ path }) => (path?.value.length ?? 0) > MAX_PATH_LENGTH))
  )
}
