import type { OutboundPart, OutboundRoute, PartInSet, RouteTarget, WeightedUpstream } from '@osm-ts/driver-api/policy'

import type { Conditions } from './conditions.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { type ChangeLines, headerLines, redirectLines, rewriteLines } from './route-changes.js'
import type { Section } from './section.js'
import { sectionsOf, type Share, type Shares, type WeightedSection } from './shares.js'
import { sectionName } from './words.js'

/** Sections that answer instead of an upstream. */
export const answers = { notFound: 'answer:404', error: 'answer:500', unavailable: 'answer:503' } as const

/** The sections that {@link answers} names. */
export const answerSections: readonly Section[] = Object.values(answers).map((name) => ({
  head: `backend ${name}`,
  lines: ['mode http', `http-request deny deny_status ${name.slice('answer:'.length)}`],
}))

/** What says where traffic goes. */
export interface Ways {
  /** The section of an upstream, or that of answers where it can't be reached. */
  readonly sectionOf: (upstream: string) => string
  readonly shares: Shares
  readonly reader: HaproxyPolicyReader
  /** A silence after which connections end anyway. */
  readonly idleTimeoutMs: number
}

/**
 * Lines of a frontend that carry out routes, in the order in which they have to stand: a route is chosen by the request as it came, before any route
 * changes a request.
 */
export class RouteLines {
  readonly #conditions: Conditions
  readonly #ways: Ways
  readonly #choices: string[] = []
  readonly #requests: string[] = []
  readonly #responses: string[] = []
  readonly #sections: string[] = []

  /** @param conditions - of the frontend */
  constructor(conditions: Conditions, ways: Ways) {
    this.#conditions = conditions
    this.#ways = ways
  }

  get lines(): readonly string[] {
    return [...this.#choices, ...this.#requests, ...this.#responses, ...this.#sections]
  }

  /** What stands for a service in the map of hosts: a section, or a name that lines are written for. */
  destinationOf({ part, ref }: PartInSet<OutboundPart>): string {
    if (part.rules.kind !== 'http') return answers.unavailable
    const { routes } = part.rules
    const [first, ...others] = routes
    if (first === undefined) return answers.notFound
    const single = isPlain(first) ? singleOf(first.targets) : undefined
    if (others.length === 0 && Object.keys(first.match).length === 0 && single !== undefined)
      return this.#ways.sectionOf(single.upstream)
    const name = sectionName('to', part.id)
    const isIt = this.#conditions.list([`var(txn.to) -m str -- ${name}`])
    const isChosenFirst = !routes.every(isPlain)
    routes.forEach((route, index) => {
      const pointer = `/rules/routes/${index}`
      const named = `${name}:${index}`
      const terms = [isIt, ...this.#conditions.terms(route.match, ref, `${pointer}/match`)].join(' ')
      const isRouted = isChosenFirst ? this.#choose(named, terms) : terms
      const sections = this.#sectionsOf(route)
      const [only] = sections
      const isShared = sections.length > 1 || only?.weight === 0
      const shared = isShared ? this.#ways.shares.of(named, sections) : []
      const changes = this.#ways.reader.attempt(ref, pointer, undefined, () =>
        changesOf(route, isRouted, shared, this.#ways),
      )
      // Requests must not go on as if a change were not there; and if all weigh nothing, no one has a share.
      const last = changes === undefined || isShared || only === undefined ? answers.unavailable : only.section
      if (changes !== undefined)
        this.#sections.push(
          ...shared.map(({ condition, section }) => `use_backend ${section} if ${isRouted} ${condition}`),
        )
      this.#sections.push(`use_backend ${last} if ${isRouted}`)
      this.#requests.push(...(changes?.requests ?? []))
      this.#responses.push(...(changes?.responses ?? []))
    })
    return name
  }

  /** Notes the first route whose conditions hold. @returns a term that holds for its requests */
  #choose(name: string, terms: string): string {
    const isChosen = this.#conditions.list(['var(txn.route) -m found'])
    this.#choices.push(`http-request set-var(txn.route) str(${name}) if !${isChosen} ${terms}`)
    return this.#conditions.list([`var(txn.route) -m str -- ${name}`])
  }

  /** Sections that get requests of a route: those of its targets, in order, then the one that answers with errors. */
  #sectionsOf({ targets, errorWeight, errorStatus }: OutboundRoute): readonly WeightedSection[] {
    const sections = sectionsOf(targets, this.#ways.sectionOf)
    if (errorWeight === undefined) return sections
    return [...sections, { section: errorStatus === 503 ? answers.unavailable : answers.error, weight: errorWeight }]
  }
}

/** The one that gets everything; undefined if there is something to share out, or nothing. */
export function singleOf([first, ...others]: readonly WeightedUpstream[]): WeightedUpstream | undefined {
  return others.length === 0 && first !== undefined && first.weight > 0 ? first : undefined
}

/** True for a route that only says where requests go. */
function isPlain({ match: _match, targets, timeoutMs, mirrors: _mirrors, ...changes }: OutboundRoute): boolean {
  return timeoutMs === 0 && Object.keys(changes).length === 0 && !targets.some(changesHeaders)
}

function changesHeaders({ requestHeaders, responseHeaders }: RouteTarget): boolean {
  return requestHeaders !== undefined || responseHeaders !== undefined
}

/** What a route changes, and each of its targets after it. */
function changesOf(
  route: OutboundRoute,
  isRouted: string,
  shared: readonly Share[],
  { idleTimeoutMs }: Ways,
): ChangeLines {
  const { match, targets, redirect, rewrite, timeoutMs } = route
  const own = headerLines(route, isRouted)
  const each = targets.map((target, index) => headerLines(target, [isRouted, ...isShare(shared, index)].join(' ')))
  // The mesh lets no connection be silent for longer anyway.
  const deadline = `http-request set-var(txn.timeout) int(${Math.min(timeoutMs, idleTimeoutMs)}) if ${isRouted}`
  return {
    requests: [
      ...(timeoutMs === 0 ? [] : [deadline]),
      ...own.requests,
      ...each.flatMap(({ requests }) => requests),
      ...(rewrite === undefined ? [] : rewriteLines(rewrite, match, isRouted)),
      ...(redirect === undefined ? [] : redirectLines(redirect, match, isRouted)),
    ],
    responses: [...own.responses, ...each.flatMap(({ responses }) => responses)],
  }
}

/** Terms that hold for what one share gets, and not for what those before it get. */
function isShare(shared: readonly Share[], index: number): readonly string[] {
  const [share, before] = [shared[index], shared[index - 1]]
  return [...(share === undefined ? [] : [share.condition]), ...(before === undefined ? [] : [`!${before.condition}`])]
}
