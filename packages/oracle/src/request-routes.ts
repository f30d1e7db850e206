import type { BackendRef, ParentRef, RouteFilter, RouteRule } from './http-route-spec.js'
import type { Known, Ref, ServicePort } from './objects.js'

/** A request on its way through the sidecar of the caller. */
export interface SentRequest {
  readonly method: string
  /** As it was sent, but for runs of slashes, which are one. */
  readonly path: string
  /** With its question mark; empty without one. */
  readonly query: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
}

/** An HTTPRoute or a GRPCRoute in the form that both have in common. */
export interface RequestRoute extends Ref {
  readonly kind: 'HTTPRoute' | 'GRPCRoute'
  readonly createdAt: string
  readonly parentRefs: readonly ParentRef[]
  readonly rules: readonly RequestRule[]
}

export interface RequestRule {
  readonly matches: readonly RequestMatch[]
  /** False: an error is the answer to all of its requests. */
  readonly isUsable: boolean
  readonly filters: readonly RouteFilter[]
  readonly backendRefs: readonly BackendRef[]
  readonly retry: RouteRule['retry']
}

/** A match that can be used. */
export interface RequestMatch {
  readonly isFor: (request: SentRequest) => boolean
  /** How closely it says what requests are: of two numbers at one place the larger one comes first. */
  readonly rank: readonly number[]
  /** The prefix that it names, without slashes at its end; empty if it names none. */
  readonly prefix: string
}

/** A rule, and the match by which a request comes to it. */
interface ChosenRule {
  readonly route: RequestRoute
  readonly rule: RequestRule
  readonly match: RequestMatch
}

/** Of the routes of a port those of the callers' namespace, if there are any, else those of the namespace of the service; the oldest first. */
export function nearest<R extends Attachable>(
  routes: readonly R[],
  callers: string,
  service: Known<'Service'>,
  port: ServicePort,
): readonly R[] {
  // Routes come by name, and sorting keeps the order of equals. Either all ages are known or none.
  const attached = routes
    .filter((route) => isAttached(route, service, port))
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt) || 0)
  const own = attached.filter(({ namespace }) => namespace === callers)
  return own.length > 0 ? own : attached.filter(({ namespace }) => namespace === service.namespace)
}

/** Something that names what it is attached to. */
export interface Attachable {
  readonly namespace: string
  /** Empty if unknown. */
  readonly createdAt: string
  readonly parentRefs: readonly ParentRef[]
}

/** True if a route is about a port of a service. */
export function isAttached(
  { namespace: home, parentRefs }: Omit<Attachable, 'createdAt'>,
  service: Known<'Service'>,
  port: ServicePort,
): boolean {
  return parentRefs.some(
    (parent) =>
      isParent(parent, home, service) &&
      (parent.port ?? port.port) === port.port &&
      (parent.sectionName ?? port.name) === port.name,
  )
}

/** True if a parent of a route of a namespace is that Service. */
export function isParent({ group, kind, namespace, name }: ParentRef, home: string, service: Ref): boolean {
  return group === '' && kind === 'Service' && name === service.name && (namespace ?? home) === service.namespace
}

/** The rule that a request is for: that of the closest match of all routes. */
export function ruleFor(routes: readonly RequestRoute[], request: SentRequest): ChosenRule | undefined {
  const found = routes.flatMap((route) =>
    route.rules.flatMap((rule) =>
      rule.matches.filter((match) => match.isFor(request)).map((match) => ({ route, rule, match })),
    ),
  )
  // Routes come in their order, and sorting keeps that of equals.
  return found.toSorted((a, b) => compareRanks(b.match.rank, a.match.rank))[0]
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  return a.map((number, index) => number - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}
