import { canBacktrackBadly } from './regex-cost.js'
import { measureRegex } from './regex-size.js'

/** Longest expression that is taken, in characters. */
export const maxPatternLength = 1024
/**
 * Instructions that the program of an expression may have at most, as {@link measureRegex} counts them. A sidecar must take what is taken here: the
 * limits of proxies are this one or higher.
 */
export const maxProgramSize = 4096
/** Expressions that are remembered: 8 MiB of text at most. */
const rememberedPatterns = 4096

/** What is known of an expression that a user wrote. */
export type PatternFacts =
  { readonly valid: true; readonly programSize: number } | { readonly valid: false; readonly reason: string }

/** Says whether an expression is RE2 syntax and small enough. Builds no program of it: takes time that is linear in the length of the text. */
export function patternFacts(pattern: string): PatternFacts {
  if (pattern.length > maxPatternLength)
    return { valid: false, reason: `is ${pattern.length} characters long; at most ${maxPatternLength} are taken` }
  const measured = measureRegex(pattern)
  if (!measured.valid) return { valid: false, reason: `is not an RE2 expression: ${measured.reason}` }
  const { programSize } = measured
  if (programSize <= maxProgramSize) return measured
  return {
    valid: false,
    reason: `stands for a program of up to ${programSize} instructions; at most ${maxProgramSize} are taken: repeat less often`,
  }
}

/** Says whether expressions of users can be used, and whether they can hurt. Never runs them in any engine. Remembers its newest answers. */
export class PatternChecker {
  readonly #known = new Map<string, PatternFacts>()
  readonly #costly = new Map<string, boolean>()

  check(pattern: string): PatternFacts {
    return remembered(this.#known, pattern, patternFacts)
  }

  /** True for an expression that a backtracking engine may take very long over. It must be a valid one. */
  isCostly(pattern: string): boolean {
    return remembered(this.#costly, pattern, canBacktrackBadly)
  }
}

function remembered<T>(answers: Map<string, T>, pattern: string, find: (pattern: string) => T): T {
  const known = answers.get(pattern)
  if (known !== undefined) return known
  const found = find(pattern)
  const [oldest] = answers.keys()
  if (answers.size >= rememberedPatterns && oldest !== undefined) answers.delete(oldest)
  if (pattern.length <= maxPatternLength) answers.set(pattern, found)
  return found
}
