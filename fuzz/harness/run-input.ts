import { cpuUsage } from 'node:process'
import { isPromise } from 'node:util/types'

import { type FuzzTarget, InvariantError, type Outcome } from '../fuzz-target.js'

const DEFAULT_BUDGET_MS = 100
/** Processor time that each byte of an input may take on top. */
const MS_PER_BYTE = 0.05
/** An outcome may repeat its input a few times, and a list of what is known. */
const OUTCOME_CHARACTERS = 64 * 1024
const OUTCOME_CHARACTERS_PER_BYTE = 64
/** The machine may be busy, and the collector of garbage may run: a slow input is slow each time. */
const TIMED_RUNS = 3

/** How an input is run. */
export interface RunOptions {
  /** Multiplies processor time: instrumented code is slower. 1 if absent. */
  readonly slowness?: number
}

/**
 * Runs a target on one input and checks what has to hold for every target: no undocumented error, bounded processor time, a bounded outcome that is the same
 * each time, untouched prototypes, and no secret.
 *
 * @throws whatever the target throws
 * @throws InvariantError if one of these does not hold
 */
export async function runInput(target: FuzzTarget, input: Uint8Array, options: RunOptions = {}): Promise<void> {
  const copy = Uint8Array.from(input)
  const prototypes = prototypeMembers()
  const first = await timed(target, input)
  if (Buffer.compare(input, copy) !== 0) throw new InvariantError('changes its input')
  if (prototypeMembers() !== prototypes) throw new InvariantError('changes a prototype')
  const text = textOfOutcome(first.outcome)
  if (text.length > OUTCOME_CHARACTERS + OUTCOME_CHARACTERS_PER_BYTE * input.length)
    throw new InvariantError(`makes ${text.length} characters of ${input.length} bytes`)
  if (target.secret !== undefined && text.includes(target.secret)) throw new InvariantError('repeats a secret')
  const second = await timed(target, input)
  if (textOfOutcome(second.outcome) !== text) throw new InvariantError('gives another outcome the second time')
  await checkTime(target, input, Math.min(first.ms, second.ms), options)
}

async function checkTime(
  target: FuzzTarget,
  input: Uint8Array,
  ms: number,
  { slowness = 1 }: RunOptions,
): Promise<void> {
  const budgetMs = ((target.budgetMs ?? DEFAULT_BUDGET_MS) + MS_PER_BYTE * input.length) * slowness
  let least = ms
  for (let turn = 2; turn < TIMED_RUNS && least > budgetMs; turn += 1)
    least = Math.min(least, (await timed(target, input)).ms)
  if (least > budgetMs)
    throw new InvariantError(
      `takes ${Math.round(least)} ms of processor time for ${input.length} bytes; ${Math.round(budgetMs)} ms are allowed`,
    )
}

async function timed(
  target: FuzzTarget,
  input: Uint8Array,
): Promise<{ readonly ms: number; readonly outcome: Outcome }> {
  const before = cpuUsage()
  const given = target.run(input)
  // Most targets are synchronous, and waiting costs more than they do.
  const outcome: Outcome = isPromise(given) ? await given : given
  const { user, system } = cpuUsage(before)
  return { ms: (user + system) / 1000, outcome }
}

function textOfOutcome(outcome: Outcome): string {
  // In a list, so that there is a text of undefined as well.
  return JSON.stringify([outcome], (_key, value: unknown) => plain(value))
}

/** What JSON has no form for. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Map) return [...value]
  if (value instanceof Set) return [...value]
  return value
}

function prototypeMembers(): string {
  return [Object, Array, String, Number, Function, Map, Set]
    .map(({ prototype }) => Reflect.ownKeys(prototype as object).length)
    .join()
}
