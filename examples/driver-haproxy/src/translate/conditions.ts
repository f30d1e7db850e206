import type { HeaderMatch, OutboundMatch, PartRef, QueryMatch, RoutedPathMatch } from '@osm-ts/driver-api/policy'

import { type Pattern, patternsOf } from './expression.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { headerName, parameterExpression, quoted, Unsayable } from './words.js'

/** A term that holds never; a condition that can't be said stands for it, inverted or not. */
const NEVER = '{ always_false }'

/**
 * Conditions on requests, in one frontend. What is said twice is written once: names of access lists count up, and equal lists share a name.
 */
export class Conditions {
  /** Access lists, to stand before what uses them. */
  readonly lists: string[] = []
  /** Lines that set variables. They are carried out where they stand: after the path was put in order, before the terms are used. */
  readonly variables: string[] = []
  readonly #names = new Map<string, string>()
  readonly #reader: HaproxyPolicyReader
  readonly #readings: readonly string[]

  /** @param readings - samples of other ways to read a path, for each of which the condition on a path must hold */
  constructor(reader: HaproxyPolicyReader, readings: readonly string[] = []) {
    this.#reader = reader
    this.#readings = readings
  }

  /**
   * The terms of a match, all of which must hold. A condition that can't be said holds for no request, and is refused with its place in the part.
   */
  terms(match: OutboundMatch, ref: PartRef, pointer: string): readonly string[] {
    const terms: string[] = []
    const { path, methods, headers = [], queryParameters = [] } = match
    if (path !== undefined)
      terms.push(
        ...this.#reader.attempt(ref, `${pointer}/path`, [NEVER], () =>
          // What is compared as text names the very path that is sent.
          ['path', ...(path.type === 'exact' ? [] : this.#readings)].map((sample) => this.#text(sample, path)),
        ),
      )
    if (methods !== undefined)
      terms.push(
        this.#reader.attempt(ref, `${pointer}/methods`, NEVER, () =>
          this.list(methods.map((method) => `method -m str -- ${quoted(method)}`)),
        ),
      )
    headers.forEach((header, index) =>
      terms.push(...this.#reader.attempt(ref, `${pointer}/headers/${index}`, [NEVER], () => this.#header(header))),
    )
    queryParameters.forEach((parameter, index) =>
      terms.push(this.#reader.attempt(ref, `${pointer}/queryParameters/${index}`, NEVER, () => this.#query(parameter))),
    )
    return terms
  }

  /** The name of an access list: it holds if one of its criteria does. */
  list(criteria: readonly string[]): string {
    if (criteria.length === 0) return NEVER
    const key = criteria.join('\n')
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const name = `c${this.#names.size + 1}`
    this.#names.set(key, name)
    this.lists.push(...criteria.map((criterion) => `acl ${name} ${criterion}`))
    return name
  }

  #header({ name, match, invert = false }: HeaderMatch): readonly string[] {
    const header = headerName(name)
    if (match.type === 'present') {
      const present = this.list([`req.fhdr_cnt(${header}) gt 0`])
      return [invert ? `!${present}` : present]
    }
    // HAProxy does not join the values of a header that comes several times: such a request matches no condition on it.
    const single = this.list([`req.fhdr_cnt(${header}) eq 1`])
    const text = this.#text(`req.fhdr(${header})`, match)
    return [single, invert ? `!${text}` : text]
  }

  #query({ name, match }: QueryMatch): string {
    return this.#text(this.#parameter(name), match)
  }

  /** The variable with the first value of a parameter. HAProxy's own sample also ends parameters at semicolons. */
  #parameter(name: string): string {
    const key = JSON.stringify({ parameter: name })
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const variable = `txn.q${this.#names.size + 1}`
    const sample = `var(${variable})`
    this.#names.set(key, sample)
    const text = parameterExpression(name)
    const others = `^(?:(?!${text}(?:[=&]|$))[^&]*+&)*+`
    const isThere = this.list([`query -m reg -- ${quoted(`${others}${text}(?:[=&]|$)`)}`])
    const value = quoted(`query,regsub('${others}${text}=?+([^&]*+).*+$','\\1')`)
    this.variables.push(`http-request set-var(${variable}) ${value} if ${isThere}`)
    return sample
  }

  #text(sample: string, match: RoutedPathMatch): string {
    switch (match.type) {
      case 'exact':
        return this.list([equal(sample, match.value)])
      case 'prefix':
        return match.value === '' ? '{ always_true }' : this.list([`${sample} -m beg -- ${quoted(match.value)}`])
      case 'segments':
        return this.list([equal(sample, match.value), `${sample} -m beg -- ${quoted(`${match.value}/`)}`])
      case 'regex': {
        const patterns = patternsOf(match.value)
        if (patterns === undefined)
          throw new Unsayable(
            'class haproxy takes expressions with one group of alternatives at most, in which no repetition has to give back what it took; this one would need an engine that tracks back',
          )
        return this.#patterns(sample, patterns)
      }
    }
  }

  #patterns(sample: string, patterns: readonly Pattern[]): string {
    const others = patterns.filter((pattern) => pattern.kind === 'between')
    const single = patterns.flatMap((pattern) => criterionOf(sample, pattern))
    if (others.length === 0) return this.list(single)
    // Access lists have "or" inside and "and" between them; alternatives of conjunctions take a variable.
    const key = JSON.stringify([sample, patterns])
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const variable = `txn.m${this.#names.size + 1}`
    const term = `{ var(${variable}) -m bool }`
    this.#names.set(key, term)
    const set = (terms: readonly string[]) =>
      this.variables.push(`http-request set-var(${variable}) bool(true) if ${terms.join(' ')}`)
    if (single.length > 0) set([this.list(single)])
    for (const { begin, end, least } of others)
      set([
        // A header that is not there has no value, not an empty one.
        ...(begin === '' ? [] : [this.list([`${sample} -m beg -- ${quoted(begin)}`])]),
        ...(end === '' ? [] : [this.list([`${sample} -m end -- ${quoted(end)}`])]),
        this.list([`${sample},length ge ${least}`]),
      ])
    return term
  }
}

/** What one criterion can say; nothing where it takes several. */
function criterionOf(sample: string, pattern: Pattern): readonly string[] {
  switch (pattern.kind) {
    case 'equal':
      return [equal(sample, pattern.text)]
    case 'steady':
      return [`${sample} -m reg -- ${quoted(pattern.expression)}`]
    case 'between':
      return []
  }
}

function equal(sample: string, text: string): string {
  // An empty pattern would be an empty word.
  return text === '' ? `${sample},length eq 0` : `${sample} -m str -- ${quoted(text)}`
}
