import { isInRange } from './addresses.js'
import { ANY, type EgressOpening, openingsOn } from './egress-openings.js'
import { isHostOf, plainHost } from './mesh-names.js'
import { type Objects, type Ref, type Rule, shown } from './objects.js'
import { type HttpRequest, isAbout } from './route-match.js'

/** What the oracle is asked about a destination outside the mesh: may this caller reach it? */
export type EgressQuestion = {
  /** Service account of the caller. */
  readonly from: Ref
  /**
   * Without the port: whom an HTTP request is for, the server name of a TLS connection, or the address that is dialled. It must be none of the mesh. Names
   * are taken to be dialled at an address that is in no range.
   */
  readonly host: string
  readonly port: number
} & (
  | { readonly protocol: 'http'; readonly request: HttpRequest }
  | { readonly protocol: 'https' }
  | { readonly protocol: 'tcp' }
)

/** What becomes of traffic to a destination outside. */
export interface EgressVerdict {
  readonly outcome: 'allow' | 'deny'
  readonly reason: string
  /** What lets it out, and by which of its parts; empty for global egress, and where nothing does. */
  readonly by: readonly Rule[]
}

/** Says whether traffic may leave the mesh. */
export function decideEgress(objects: Objects, question: EgressQuestion, clusterDomain: string): EgressVerdict {
  const { from, port, protocol, host } = question
  const open = openingsOn(objects, from, port, clusterDomain)
  if (protocol === 'http') return decideRequest(objects, question, open)
  const fitting = open.find((opening) => takesConnection(opening, protocol, host))
  if (fitting !== undefined) return allow(fitting, host)
  // Where hosts distinguish requests, everything on the port is read as HTTP.
  const isRead = open.some((opening) => opening.protocol === 'http')
  return isGlobal(objects) && !isRead
    ? byGlobalEgress
    : nothing(host, port, isRead ? ', where the host selects requests' : '')
}

/** Only the closest host that an Egress of the caller names counts, with all Egress objects that name it. */
function decideRequest(
  objects: Objects,
  { host, port, request }: Extract<EgressQuestion, { protocol: 'http' }>,
  open: readonly EgressOpening[],
): EgressVerdict {
  const name = plainHost(host)
  const covering = open.filter(({ protocol, target }) => protocol === 'http' && covers(target, name))
  // A name is closer than what it is below, of which the longest is, and that than every host.
  const closest = covering
    .map(({ target }) => target)
    .toSorted((a, b) => Number(b === name) - Number(a === name) || b.length - a.length)[0]
  const holding = covering.filter(({ target }) => target === closest)
  for (const opening of holding) {
    const by = letsOut(opening, request)
    if (by === undefined) continue
    if (!opening.usable)
      return deny(`Egress ${shown(opening.egress)} asks for a client certificate that can't be shown`)
    return allow(opening, host, by)
  }
  // Of hosts that an Egress names, global egress has no say.
  if (isGlobal(objects) && (closest === undefined || closest === ANY)) return byGlobalEgress
  const [first] = holding
  if (first === undefined) return nothing(host, port)
  return deny(
    `Egress ${shown(first.egress)} names ${first.target} on port ${port}, and none of its matches lets the request out`,
  )
}

/** TLS with a server name is let out by anyone who opens the name, or the port to every address; other connections by ranges. */
function takesConnection({ protocol, target }: EgressOpening, asked: 'https' | 'tcp', host: string): boolean {
  if (protocol === 'tcp') return target === ANY || (asked === 'tcp' && isInRange(host, target))
  return protocol === 'https' && asked === 'https' && covers(target, plainHost(host))
}

/** What of an Egress lets a request out; undefined if nothing does. */
function letsOut({ matches }: EgressOpening, { method, target, headers }: HttpRequest): readonly Rule[] | undefined {
  if (matches === undefined) return []
  const [path = ''] = (typeof target === 'string' ? target : Buffer.from(target).toString('latin1')).split('?')
  const found = matches.find(({ match }) => isAbout(match, method, path, headers))
  return found && [found.rule]
}

function covers(target: string, host: string): boolean {
  return target === ANY || isHostOf(target, host)
}

function isGlobal(objects: Objects): boolean {
  return objects.list('MeshConfig').some(({ spec }) => spec.traffic?.enableEgress === true)
}

const byGlobalEgress: EgressVerdict = { outcome: 'allow', reason: 'global egress is on', by: [] }

function allow({ egress, rule }: EgressOpening, host: string, by: readonly Rule[] = []): EgressVerdict {
  return { outcome: 'allow', reason: `Egress ${shown(egress)} lets it out to ${host}`, by: [rule, ...by] }
}

function nothing(host: string, port: number, why = ''): EgressVerdict {
  return deny(`nothing lets it out to ${host} on port ${port}${why}`)
}

function deny(reason: string): EgressVerdict {
  return { outcome: 'deny', reason, by: [] }
}
