import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { coversRange, parseIpRange } from '../../spec/ip-range.js'
import { canonicalHost } from '../../spec/names.js'
import { ANYWHERE } from '../policy/egress/egress-destinations.js'
import type { PlannedEgress } from '../policy/egress/egress-plan.js'
import type { SourceRef } from '../policy/parts/policy-part.js'
import { isHostOf } from './boundary.js'
import { lowerHeaderNames, matchesRoute, type MatchableRequest } from './match-route.js'

/** May this caller reach this destination outside the mesh? */
export interface EgressQuestion {
  readonly from: ServiceAccountRef
  readonly protocol: 'http' | 'https' | 'tcp'
  /** Host of an HTTP request, server name of a TLS connection, or address that is dialled; without the port. */
  readonly host: string
  readonly port: number
  /** Used for `http` only. The path is that of the request, with its query. */
  readonly request: { readonly method: string; readonly path: string; readonly headers: MatchableRequest['headers'] }
}

/** What is open to the caller. */
export interface EgressPolicy {
  /** As the `egress` parts of the caller's policy are made of them, in order. */
  readonly destinations: readonly PlannedEgress[]
  /** True: destinations that no rule is about are open. */
  readonly egressEnabled: boolean
}

/** What becomes of the traffic. */
export interface EgressVerdict {
  readonly allowed: boolean
  readonly reason: string
  readonly by: readonly SourceRef[]
}

const byGlobalEgress: EgressVerdict = { allowed: true, reason: 'global egress is on', by: [] }

/** Decides by the policy that the sidecar of the caller gets. */
export function decideEgress({ destinations, egressEnabled }: EgressPolicy, question: EgressQuestion): EgressVerdict {
  const { protocol, host, port } = question
  const onPort = destinations.filter((destination) => destination.port === port)
  if (protocol === 'http') return decideRequest(onPort, egressEnabled, question)
  const found = onPort.find((destination) => takesConnection(destination, protocol, host))
  if (found !== undefined) return allow(found, host)
  // Where hosts distinguish requests, everything on the port is read as HTTP.
  const isRead = onPort.some((destination) => destination.protocol === 'http')
  if (egressEnabled && !isRead) return byGlobalEgress
  return nothing(host, port, isRead ? ', where the host selects requests' : '')
}

/** Sidecars choose the closest host first, and then look for a route. */
function decideRequest(
  onPort: readonly PlannedEgress[],
  egressEnabled: boolean,
  { host, port, request }: EgressQuestion,
): EgressVerdict {
  const name = canonicalHost(host)
  const closest = onPort
    .filter(({ protocol, target }) => protocol === 'http' && covers(target, name))
    .toSorted((a, b) => Number(b.target === name) - Number(a.target === name) || b.target.length - a.target.length)[0]
  if (closest === undefined) return egressEnabled ? byGlobalEgress : nothing(host, port)
  const [path = ''] = request.path.split('?', 1)
  const asked = { method: request.method, path, headers: lowerHeaderNames(request.headers) }
  const route = closest.routes.find(({ match }) => matchesRoute(match, asked))
  const egress = nameOf(closest)
  if (route !== undefined)
    return closest.originate === 'unavailable'
      ? deny(`${egress} asks for a client certificate that cannot be shown`)
      : allow(closest, host, route.origins)
  // Global egress is about hosts that no Egress names.
  if (egressEnabled && closest.target === ANYWHERE) return byGlobalEgress
  return deny(`${egress} names ${closest.target} on port ${port}, and none of its matches lets the request out`)
}

/** TLS leaves by its server name, or by a port that is open to every address; other connections leave by ranges. */
function takesConnection({ protocol, target }: PlannedEgress, asked: 'https' | 'tcp', host: string): boolean {
  if (protocol === 'http') return false
  if (protocol === 'https') return asked === 'https' && covers(target, canonicalHost(host))
  return target === ANYWHERE || (asked === 'tcp' && isInRange(host, target))
}

function covers(target: string, host: string): boolean {
  return target === ANYWHERE || isHostOf(target, host)
}

function isInRange(address: string, range: string): boolean {
  const [inner, outer] = [parseIpRange(address), parseIpRange(range)]
  return inner !== undefined && outer !== undefined && coversRange(outer, inner)
}

function allow(destination: PlannedEgress, host: string, route: readonly SourceRef[] = []): EgressVerdict {
  // Of each object the last place is the closest: the host or range, where it names one.
  const places = new Map(destination.origins.map((source) => [textOf(source), source]))
  const chosen = route.find(({ object }) => object.kind === 'Egress')
  const opened = chosen === undefined ? undefined : places.get(textOf(chosen))
  const by = opened === undefined ? [...places.values()] : [opened]
  const egress = by[0] === undefined ? nameOf(destination) : textOf(by[0])
  return {
    allowed: true,
    reason: `${egress} lets it out to ${host}`,
    by: [...by, ...route.filter(({ object }) => object.kind !== 'Egress')],
  }
}

function nameOf({ origins: [first] }: PlannedEgress): string {
  return first === undefined ? 'an Egress' : textOf(first)
}

function textOf({ object: { kind, namespace, name } }: SourceRef): string {
  return `${kind} ${namespace}/${name}`
}

function nothing(host: string, port: number, why = ''): EgressVerdict {
  return deny(`nothing lets it out to ${host} on port ${port}${why}`)
}

function deny(reason: string): EgressVerdict {
  return { allowed: false, reason, by: [] }
}
