import { type Known, type Objects, type Ref, shown } from './objects.js'
import { isUsable, letsIn, matchesByName, type ReadRequest } from './route-match.js'
import type { Place } from './services.js'

/** The TrafficTarget that lets a caller in; undefined if none does. */
export function allowing(
  objects: Objects,
  from: Ref,
  place: Place,
  request: ReadRequest | undefined,
): Known<'TrafficTarget'> | undefined {
  return objects
    .list('TrafficTarget')
    .filter((target) => counts(target) && isDestination(target, place) && isSource(target, from))
    .find((target) => opens(objects, target, place, request))
}

/** True if a TrafficTarget says something about calls of an account, be it about ports that it then names none of: sidecars of callers know the services. */
export function opensSomething(objects: Objects, target: Known<'TrafficTarget'>, from: Ref): boolean {
  if (!counts(target) || !isSource(target, from)) return false
  const { rules = [] } = target.spec
  const ports = rules.filter(({ kind }) => kind === 'TCPRoute')
  const groups = rules.filter(({ kind }) => kind === 'HTTPRouteGroup')
  const at = ({ name }: { readonly name: string }) => ({ namespace: target.namespace, name })
  const opensPort = ports.some((rule) => objects.find('TCPRoute', at(rule)) !== undefined)
  const opensRequest = groups.some((rule) => {
    const matches = matchesByName(objects.find('HTTPRouteGroup', at(rule))?.spec.matches ?? [])
    const { matches: wanted = [] } = rule
    return [...matches.values()].some(
      (match) => isUsable(match) && (wanted.length === 0 || wanted.includes(match.name)),
    )
  })
  return opensPort || opensRequest
}

/** Headers that rules for a place name, no matter who they let in. */
export function namedHeaders(objects: Objects, place: Place): readonly string[] {
  return objects
    .list('TrafficTarget')
    .filter((target) => counts(target) && isDestination(target, place))
    .flatMap(({ namespace, spec: { rules = [] } }) =>
      rules.flatMap(({ kind, name, matches: wanted = [] }) => {
        const group = kind === 'HTTPRouteGroup' ? objects.find('HTTPRouteGroup', { namespace, name }) : undefined
        return [...matchesByName(group?.spec.matches ?? []).values()]
          .filter((match) => (wanted.length === 0 || wanted.includes(match.name)) && isUsable(match))
          .flatMap(({ headers = [] }) => headers.flatMap((entry) => Object.keys(entry)))
      }),
    )
}

/** A TrafficTarget counts as a whole or not at all. */
function counts({ spec, namespace }: Known<'TrafficTarget'>): boolean {
  const { destination, rules = [], sources = [] } = spec
  return (
    isAccount(destination.kind) &&
    (destination.namespace ?? namespace) === namespace &&
    rules.length > 0 &&
    sources.length > 0 &&
    rules.every(({ kind }) => kind === 'HTTPRouteGroup' || kind === 'TCPRoute')
  )
}

function isAccount(kind: string | undefined): boolean {
  return kind === undefined || kind === 'ServiceAccount'
}

function isDestination({ spec, namespace }: Known<'TrafficTarget'>, place: Place): boolean {
  return namespace === place.service.namespace && spec.destination.name === place.account
}

function isSource({ spec, namespace }: Known<'TrafficTarget'>, from: Ref): boolean {
  return (spec.sources ?? []).some(
    (source) =>
      isAccount(source.kind) && shown({ name: source.name, namespace: source.namespace ?? namespace }) === shown(from),
  )
}

/** TCPRoutes say on which ports, HTTPRouteGroups which requests. */
function opens(
  objects: Objects,
  target: Known<'TrafficTarget'>,
  place: Place,
  request: ReadRequest | undefined,
): boolean {
  const { rules = [] } = target.spec
  const tcp = rules.filter(({ kind }) => kind === 'TCPRoute')
  const http = rules.filter(({ kind }) => kind === 'HTTPRouteGroup')
  const opensPort = tcp.some(({ name }) => {
    const route = objects.find('TCPRoute', { namespace: target.namespace, name })
    if (route === undefined) return false
    const ports = route.spec.matches?.ports ?? []
    return ports.length === 0 || ports.includes(place.targetPort)
  })
  if (tcp.length > 0 && !opensPort) return false
  if (!place.readsRequests) return opensPort
  if (http.length === 0) return opensPort
  if (request === undefined) return false
  return http.some(({ name, matches: wanted = [] }) => {
    const group = objects.find('HTTPRouteGroup', { namespace: target.namespace, name })
    const matches = matchesByName(group?.spec.matches ?? [])
    return [...matches.values()].some(
      (match) => (wanted.length === 0 || wanted.includes(match.name)) && letsIn(match, request),
    )
  })
}
