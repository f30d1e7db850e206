/** What a target makes of one input: JSON, or a promise of it. Compared between two runs and searched for secrets. */
export type Outcome = unknown

/** One parser of bytes that come from outside, with what has to hold for every input. */
export interface FuzzTarget {
  /** Lower case with hyphens; also the folder of its corpus. */
  readonly name: string
  /** What is parsed, where the bytes come from, and the invariants beside those that hold for every target. */
  readonly about: string
  /** `json` inputs are also changed as documents: members, lists and values, so that most of them pass the first checks. */
  readonly form: 'bytes' | 'text' | 'json'
  /** Words of the grammar, put into inputs whole. */
  readonly words?: readonly string[]
  /** Longest input in bytes; 4096 if absent. */
  readonly maxBytes?: number
  /** Milliseconds of processor time that any input may take beside what its length allows; 100 if absent. */
  readonly budgetMs?: number
  /** Text that is in inputs of the corpus and must never be in an outcome. */
  readonly secret?: string
  /** Parses an input. Throws if an invariant does not hold, so that an expected error has to be caught: see `outcomeOf`. */
  readonly run: (input: Uint8Array) => Outcome
}

/** An invariant that does not hold. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/** @throws InvariantError unless the condition holds */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

/** The text of an input as a program would decode it, with U+FFFD for what is not UTF-8. */
export function textOf(input: Uint8Array): string {
  return Buffer.from(input).toString('utf8')
}

/** The document of an input; undefined for what is not JSON. */
export function jsonOf(input: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(input)) as unknown
  } catch {
    return undefined
  }
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The value that a parser gives, or the error that it documents.
 *
 * @param isExpected - says which errors are documented; any other is thrown on
 */
export function outcomeOf(parse: () => unknown, isExpected: (error: unknown) => boolean): Outcome {
  try {
    return { value: parse() }
  } catch (error) {
    return errorOutcome(error, isExpected)
  }
}

/** As {@link outcomeOf}, for parsers that take time. */
export async function asyncOutcomeOf(
  parse: () => Promise<unknown>,
  isExpected: (error: unknown) => boolean,
): Promise<Outcome> {
  try {
    return { value: await parse() }
  } catch (error) {
    return errorOutcome(error, isExpected)
  }
}

function errorOutcome(error: unknown, isExpected: (error: unknown) => boolean): Outcome {
  if (!isExpected(error) || !(error instanceof Error)) throw error
  return { error: error.message }
}

/** Accepts errors with a stable code that begins with one of these. */
export function hasCode(...beginnings: readonly string[]): (error: unknown) => boolean {
  return (error) =>
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    beginnings.some((beginning) => (error.code as string).startsWith(beginning))
}
