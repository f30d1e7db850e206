import { canonicalJson, compareText, type IngressPart, type Principal, type RouteMatch } from '@osm-ts/driver-api'

import { coversRange, parseIpRange, rangesMeet, type IpRange } from '../../spec/ip-range.js'
import type { AccessBackend, Opening } from './access-objects.js'
import { sortedUnique } from './keys.js'
import { unionOfMatches } from './referenced-matches.js'

/** Callers of one port that are treated alike. */
export interface IngressAccessGroup extends Pick<IngressPart, 'tls' | 'serverNames' | 'sources'> {
  readonly protocol: Opening['protocol']
  readonly principals: readonly Principal[]
  readonly matches: readonly RouteMatch[]
  /** Backends that it comes from, the one that holds first. */
  readonly backends: readonly AccessBackend[]
}

/** A backend that contradicts another for some callers, who are let in by the other one alone. */
export interface Contradiction {
  readonly loser: AccessBackend
  readonly owner: AccessBackend
}

interface OpenBackend {
  readonly backend: AccessBackend
  readonly opening: Opening
  readonly ranges: readonly IpRange[]
}

/** What is the same for all callers of a group. */
type Terms = Pick<IngressAccessGroup, 'tls' | 'protocol' | 'principals' | 'matches' | 'backends'>

/** Stands for clients that ask for a name which no backend has, or for none. */
const OTHER_NAMES = ''

/**
 * Doors that backends of different objects open into one port.
 *
 * A sidecar treats a connection by the longest range and the longest name that fit, and by nothing else. So every range and every name gets what all backends
 * together let in there: objects add up, as allow rules of the mesh do, however their ranges and names overlap.
 *
 * @param backends - in the order in which they hold where they contradict each other
 */
export function mergeIngressAccess(backends: readonly AccessBackend[]): {
  readonly groups: readonly IngressAccessGroup[]
  readonly contradictions: readonly Contradiction[]
} {
  const open = backends.flatMap((backend): readonly OpenBackend[] => {
    const { opening } = backend
    return opening === undefined ? [] : [{ backend, opening, ranges: rangesOf(opening.sources) }]
  })
  const contradictions = new Map<AccessBackend, AccessBackend>()
  const overTls = (tls: boolean): readonly OpenBackend[] =>
    open.filter(({ opening }) => (opening.tls !== 'none') === tls)
  const groups = [...groupsOver(overTls(false), contradictions), ...groupsOver(overTls(true), contradictions)]
  const rank = ({ backends: [first] }: IngressAccessGroup): number => open.findIndex(({ backend }) => backend === first)
  return {
    groups: groups.sort(
      (a, b) => rank(a) - rank(b) || compareText(canonicalJson(selector(a)), canonicalJson(selector(b))),
    ),
    contradictions: [...contradictions].map(([loser, owner]) => ({ loser, owner })),
  }
}

/** True if some connection fits both. */
export function accessGroupsOverlap(
  a: Omit<IngressAccessGroup, 'backends'>,
  b: Omit<IngressAccessGroup, 'backends'>,
): boolean {
  if ((a.tls === 'none') !== (b.tls === 'none')) return false
  const anyName = a.serverNames.length === 0 || b.serverNames.length === 0
  const sameName = a.serverNames.some((name) =>
    b.serverNames.some((other) => covers(name, other) || covers(other, name)),
  )
  if (!anyName && !sameName) return false
  const others = rangesOf(b.sources)
  return rangesOf(a.sources).some((range) => others.some((other) => rangesMeet(range, other)))
}

function groupsOver(
  open: readonly OpenBackend[],
  contradictions: Map<AccessBackend, AccessBackend>,
): readonly IngressAccessGroup[] {
  const [first, ...others] = open
  if (first === undefined) return []
  if (others.length === 0) {
    const { serverNames, sources } = first.opening
    return [{ ...termsOf(open, contradictions), serverNames, sources }]
  }
  const names = sortedUnique(
    open.flatMap(({ opening: { serverNames } }) => (serverNames.length === 0 ? [OTHER_NAMES] : serverNames)),
  )
  const ranges = [...new Map(open.flatMap((each) => each.ranges).map((range) => [range.text, range])).values()]
  const byTerms = new Map<string, { readonly terms: Terms; readonly sources: Map<string, string[]> }>()
  for (const name of names)
    for (const range of ranges) {
      const letIn = open.filter(
        (each) => takesName(each.opening, name) && each.ranges.some((it) => coversRange(it, range)),
      )
      if (letIn.length === 0) continue
      const terms = termsOf(letIn, contradictions)
      const { tls, protocol, principals, matches } = terms
      const key = canonicalJson({ tls, protocol, principals, matches })
      const group = byTerms.get(key) ?? { terms, sources: new Map<string, string[]>() }
      byTerms.set(key, group)
      group.sources.set(name, [...(group.sources.get(name) ?? []), range.text])
    }
  return [...byTerms.values()].flatMap(({ terms, sources }) =>
    namesBySources(sources).map((selected) => ({ ...terms, ...selected })),
  )
}

/** Names with equal sources share a group. Those that nobody names have one of their own. */
function namesBySources(
  sourcesByName: ReadonlyMap<string, readonly string[]>,
): readonly Pick<IngressAccessGroup, 'serverNames' | 'sources'>[] {
  const groups = new Map<string, { readonly serverNames: string[]; readonly sources: readonly string[] }>()
  for (const [name, unsorted] of sourcesByName) {
    const sources = sortedUnique(unsorted)
    const key = `${String(name === OTHER_NAMES)} ${sources.join(' ')}`
    const group = groups.get(key) ?? { serverNames: [], sources }
    groups.set(key, group)
    if (name !== OTHER_NAMES) group.serverNames.push(name)
  }
  return [...groups.values()]
}

/** What these backends let in together. One that can't be joined with those before it is left out. */
function termsOf(open: readonly OpenBackend[], contradictions: Map<AccessBackend, AccessBackend>): Terms {
  const [first, ...others] = open
  if (first === undefined) throw new RangeError('a group has a backend')
  const { tls, protocol, principals, matches } = first.opening
  let terms: Terms = { tls, protocol, principals, matches, backends: [first.backend] }
  for (const { backend, opening } of others) {
    const joined = join(terms, opening)
    if (joined === undefined) contradictions.set(backend, first.backend)
    else terms = { ...terms, ...joined, backends: [...terms.backends, backend] }
  }
  return terms
}

function join(terms: Terms, opening: Opening): Pick<Terms, 'principals' | 'matches'> | undefined {
  if (terms.tls !== opening.tls || terms.protocol !== opening.protocol) return undefined
  const matches = unionOfMatches([terms.matches, opening.matches])
  const principals = sortedUnique([...terms.principals, ...opening.principals])
  // Who may ask and what may be asked are two lists. Joining both would let each caller ask what the other one may.
  const samePrincipals =
    principals.join(' ') === terms.principals.join(' ') && principals.join(' ') === opening.principals.join(' ')
  const sameMatches = [terms.matches, opening.matches].every((list) => canonicalJson(list) === canonicalJson(matches))
  return samePrincipals || sameMatches ? { principals, matches } : undefined
}

function takesName({ serverNames }: Opening, name: string): boolean {
  return serverNames.length === 0 || serverNames.some((own) => covers(own, name))
}

/** True if whoever asks for the second name asks for the first, which may be a wildcard. */
function covers(name: string, asked: string): boolean {
  return name === asked || (name.startsWith('*.') && asked.endsWith(name.slice(1)))
}

function rangesOf(sources: readonly string[]): readonly IpRange[] {
  return sources.flatMap((source) => parseIpRange(source) ?? [])
}

function selector({
  tls,
  serverNames,
  sources,
}: IngressAccessGroup): Pick<IngressAccessGroup, 'tls' | 'serverNames' | 'sources'> {
  return { tls, serverNames, sources }
}
