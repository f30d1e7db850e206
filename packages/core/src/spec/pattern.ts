import { RE2JS } from 're2js'

import { canBacktrackBadly } from './regex-cost.js'

/** Longest expression that is taken. */
export const maxPatternLength = 1024
/** Largest program that an expression may compile to: `(a{1000}){1000}` is short and huge. */
const maxProgramSize = 20_000
const rememberedPatterns = 20_000

/** What is known of an expression that a user wrote. */
export type PatternFacts =
  | { readonly valid: true; /** A backtracking engine may take very long over it. */ readonly costly: boolean }
  | { readonly valid: false; readonly reason: string }

/**
 * Says whether expressions of users are valid RE2 syntax. Never runs them in a backtracking engine. Remembers its
 * answers.
 */
export class PatternChecker {
  readonly #known = new Map<string, PatternFacts>()

  check(pattern: string): PatternFacts {
    const known = this.#known.get(pattern)
    if (known !== undefined) return known
    const facts = factsOf(pattern)
    if (this.#known.size >= rememberedPatterns) this.#known.clear()
    this.#known.set(pattern, facts)
    return facts
  }
}

function factsOf(pattern: string): PatternFacts {
  if (pattern.length > maxPatternLength)
    return { valid: false, reason: `is ${pattern.length} characters long; at most ${maxPatternLength} are taken` }
  try {
    const size = RE2JS.compile(pattern).programSize()
    if (size > maxProgramSize) return { valid: false, reason: 'stands for too large a program; repeat less often' }
    return { valid: true, costly: canBacktrackBadly(pattern) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { valid: false, reason: `is no RE2 expression: ${reason.replace(/^error parsing regexp: /, '')}` }
  }
}
