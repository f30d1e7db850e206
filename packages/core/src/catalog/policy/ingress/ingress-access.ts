import type { Principal } from '@osm-ts/driver-api'
import { canonicalJson, compareText, type IngressPart, type RouteMatch } from '@osm-ts/driver-api/policy'

import { IpRangeSet, parseIpRange } from '../../../spec/ip-range.js'
import type { AccessBackend, Opening } from './access-objects.js'
import { sortedUnique } from '../parts/keys.js'
import { unionOfMatches } from '../routing/referenced-matches.js'

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
  readonly names: NameSet
  readonly ranges: IpRangeSet
}

/** What is the same for all callers of a group. */
type Terms = Pick<IngressAccessGroup, 'tls' | 'protocol' | 'principals' | 'matches' | 'backends'>

/** Stands for clients that request a name which no backend has, or for none. */
const OTHER_NAMES = ''

/**
 * Access that backends of different objects give to one port.
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
    if (opening === undefined) return []
    return [{ backend, opening, names: new NameSet(opening.serverNames), ranges: rangesOf(opening.sources) }]
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
  const [names, others] = [new NameSet(a.serverNames), new NameSet(b.serverNames)]
  const anyName = a.serverNames.length === 0 || b.serverNames.length === 0
  const sameName = a.serverNames.some((name) => others.takes(name)) || b.serverNames.some((name) => names.takes(name))
  return (anyName || sameName) && rangesOf(a.sources).meets(rangesOf(b.sources))
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
  const ranges = [...new Map(open.flatMap((each) => each.ranges.ranges).map((range) => [range.text, range])).values()]
  // Names and ranges that match the same backends form one class. There are few classes, however many names and ranges there are.
  const nameClasses = classesOf(names, (name) => open.map((each) => each.names.takes(name)))
  const rangeClasses = classesOf(ranges, (range) => open.map((each) => each.ranges.covers(range)))
  const byTerms = new Map<string, { readonly terms: Terms; readonly sources: Map<NameClass, string[]> }>()
  for (const named of nameClasses)
    for (const ranged of rangeClasses) {
      const letIn = open.filter((_, index) => named.takenBy[index] === true && ranged.takenBy[index] === true)
      if (letIn.length === 0) continue
      const terms = termsOf(letIn, contradictions)
      const { tls, protocol, principals, matches } = terms
      const key = canonicalJson({ tls, protocol, principals, matches })
      const group = byTerms.get(key) ?? { terms, sources: new Map<NameClass, string[]>() }
      byTerms.set(key, group)
      const sources = ranged.members.map(({ text }) => text)
      group.sources.set(named, [...(group.sources.get(named) ?? []), ...sources])
    }
  return [...byTerms.values()].flatMap(({ terms, sources }) =>
    namesBySources(sources).map((selected) => ({ ...terms, ...selected })),
  )
}

/** Names or ranges that match the same backends. */
interface Class<T> {
  readonly members: readonly T[]
  /** For each backend, whether it matches the members. */
  readonly takenBy: readonly boolean[]
}

type NameClass = Class<string>

function classesOf<T>(items: readonly T[], takenByOf: (item: T) => readonly boolean[]): readonly Class<T>[] {
  const classes = new Map<string, { readonly members: T[]; readonly takenBy: readonly boolean[] }>()
  for (const item of items) {
    const takenBy = takenByOf(item)
    const known = classes.get(takenBy.join(' '))
    if (known === undefined) classes.set(takenBy.join(' '), { members: [item], takenBy })
    else known.members.push(item)
  }
  return [...classes.values()]
}

/** Names with equal sources share a group. Those that no one names have one of their own. */
function namesBySources(
  sourcesByNames: ReadonlyMap<NameClass, readonly string[]>,
): readonly Pick<IngressAccessGroup, 'serverNames' | 'sources'>[] {
  const groups = new Map<string, { readonly serverNames: string[]; readonly sources: readonly string[] }>()
  for (const [{ members }, unsorted] of sourcesByNames) {
    const sources = sortedUnique(unsorted)
    const text = sources.join(' ')
    for (const name of members) {
      const key = `${String(name === OTHER_NAMES)} ${text}`
      const group = groups.get(key) ?? { serverNames: [], sources }
      groups.set(key, group)
      if (name !== OTHER_NAMES) group.serverNames.push(name)
    }
  }
  return [...groups.values()].map(({ serverNames, sources }) => ({ serverNames: sortedUnique(serverNames), sources }))
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

/** Server names, some of them wildcards. An empty set matches every name. A lookup costs one step for each label of the name. */
class NameSet {
  readonly #names: ReadonlySet<string>

  constructor(names: readonly string[]) {
    this.#names = new Set(names)
  }

  /** True if the set matches the name, which may be a wildcard itself. */
  takes(asked: string): boolean {
    if (this.#names.size === 0 || this.#names.has(asked)) return true
    for (let dot = asked.indexOf('.'); dot !== -1; dot = asked.indexOf('.', dot + 1))
      if (this.#names.has(`*${asked.slice(dot)}`)) return true
    return false
  }
}

function rangesOf(sources: readonly string[]): IpRangeSet {
  return new IpRangeSet(sources.map(parseIpRange).filter((range) => range !== undefined))
}

function selector({
  tls,
  serverNames,
  sources,
}: IngressAccessGroup): Pick<IngressAccessGroup, 'tls' | 'serverNames' | 'sources'> {
  return { tls, serverNames, sources }
}
