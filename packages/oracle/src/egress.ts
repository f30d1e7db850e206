import { type HttpMatch, type Known, type Objects, type Ref, shown } from './objects.js'
import { type HttpRequest, isAbout, isUsable, matchesByName } from './route-match.js'

/** What the oracle is asked about a destination outside the mesh: may this caller send this request there? */
export interface EgressQuestion {
  /** Service account of the caller. */
  readonly from: Ref
  /** Name or address that the request is for, without the port. It must be none of the mesh. */
  readonly host: string
  readonly port: number
  readonly request: HttpRequest
}

/** What becomes of a request for a host outside. */
export interface EgressVerdict {
  readonly outcome: 'allow' | 'deny'
  readonly reason: string
}

/** Protocol of the ports whose requests are told by hosts. */
const HTTP = 'http'
const ANY = '*'
const ROUTE_GROUPS = 'specs.smi-spec.io/v1alpha4'

/** Says whether a request may leave the mesh. Only the closest host that an Egress of the caller names counts, with all Egress objects that name it. */
export function decideEgress(objects: Objects, { from, host, port, request }: EgressQuestion): EgressVerdict {
  const name = host.toLowerCase()
  const open = isOn(objects) ? objects.list('Egress').filter((egress) => isFor(objects, egress, from, port)) : []
  const closest = open
    .flatMap(hostsOf)
    .filter((named) => covers(named, name))
    // A name is closer than what it is below, of which the longest is, and that than every host.
    .toSorted((a, b) => Number(b === name) - Number(a === name) || b.length - a.length)[0]
  const holding = open.filter((egress) => closest !== undefined && hostsOf(egress).includes(closest))
  const letting = holding.find((egress) => letsOut(objects, egress, request))
  if (letting !== undefined) return { outcome: 'allow', reason: `Egress ${shown(letting)} lets it out to ${host}` }
  // Of hosts that an Egress names, global egress has no say.
  if (isGlobal(objects) && (closest === undefined || closest === ANY))
    return { outcome: 'allow', reason: 'global egress is on' }
  return { outcome: 'deny', reason: `nothing lets it out to ${host}` }
}

function isOn(objects: Objects): boolean {
  return objects.list('MeshConfig').every(({ spec }) => spec.featureFlags?.enableEgressPolicy !== false)
}

function isGlobal(objects: Objects): boolean {
  return objects.list('MeshConfig').some(({ spec }) => spec.traffic?.enableEgress === true)
}

/** True if an Egress opens HTTP on the port to the account. One whose references all lead nowhere opens nothing. */
function isFor(objects: Objects, egress: Known<'Egress'>, from: Ref, port: number): boolean {
  const { sources = [], ports = [] } = egress.spec
  return (
    sources.some((source) => source.name === from.name && source.namespace === from.namespace) &&
    ports.some(({ number, protocol }) => number === port && protocol.toLowerCase() === HTTP) &&
    (isUnlimited(egress) || usableMatches(objects, egress).length > 0)
  )
}

function letsOut(objects: Objects, egress: Known<'Egress'>, { method, target, headers }: HttpRequest): boolean {
  if (isUnlimited(egress)) return true
  const [path = ''] = (typeof target === 'string' ? target : Buffer.from(target).toString('latin1')).split('?')
  return usableMatches(objects, egress).some((match) => isAbout(match, method, path, headers))
}

/** Hosts in one form. Without any no request is let out by them. */
function hostsOf({ spec }: Known<'Egress'>): readonly string[] {
  return (spec.hosts ?? []).map((host) => host.toLowerCase().replace(/\.$/, ''))
}

function covers(named: string, host: string): boolean {
  if (named === ANY || named === host) return true
  return named.startsWith('*.') && host.endsWith(named.slice(1)) && host.length > named.length - 1
}

/** True if an Egress refers to nothing that could limit its requests. */
function isUnlimited({ spec }: Known<'Egress'>): boolean {
  return (spec.matches ?? []).every(({ kind }) => kind === 'UpstreamTrafficSetting')
}

/** Matches that requests are limited to. A reference that leads nowhere limits them to nothing. */
function usableMatches(objects: Objects, egress: Known<'Egress'>): readonly HttpMatch[] {
  const groups = (egress.spec.matches ?? []).filter(
    ({ apiGroup, kind }) => apiGroup === ROUTE_GROUPS && kind === 'HTTPRouteGroup',
  )
  return groups.flatMap(({ name }) => {
    const group = objects.find('HTTPRouteGroup', { namespace: egress.namespace, name })
    return [...matchesByName(group?.spec.matches ?? []).values()].filter(isUsable)
  })
}
