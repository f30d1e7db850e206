import { RE2JS } from 're2js'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { RegexTable } from '../config/types.js'
import { foldsOf } from './fold.js'

/**
 * States that an automaton may have at most. What users write has some tens; `.*a.{20}` would have a million. A table is looked up once for each
 * character, so this bounds memory and bytes, not time.
 */
const MAX_STATES = 1000
/** Entries that a table may have at most. */
const MAX_ENTRIES = 40_000

const LAST_CODE_POINT = 0x10ffff

/** Instructions of a program of RE2, by number. */
const op = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
  any: 10,
  anyNotNewline: 11,
} as const

/** Conditions of an empty-width instruction, as bits. */
const empty = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, wordBoundary: 16, noWordBoundary: 32 } as const

const FOLD_CASE = 1

interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: ArrayLike<number>
}

/** First and last of characters. */
type Range = readonly [number, number]

/** Where classes of characters begin that count for conditions without width: ends of lines and characters of words. */
const CONDITION_EDGES = [10, 11, 48, 58, 65, 91, 95, 96, 97, 123]

interface Program {
  readonly start: number
  readonly inst: readonly Instruction[]
}

/** An expression that has no table: too large, or beyond RE2. The text says why. */
export class RegexRefused extends Error {}

/**
 * The automaton that takes exactly the texts that RE2 finds the whole of to match.
 *
 * Everything is decided here, where time is ours: by the sidecar each character costs one step. A backtracking engine, which Pipy has, never sees the
 * expression.
 *
 * @throws RegexRefused if the automaton would be too large, or the text is not an expression of RE2
 */
export function regexTable(pattern: string): RegexTable {
  return new Construction(programOf(pattern)).table()
}

function programOf(pattern: string): Program {
  try {
    // The library leaves the type of the program open.
    return RE2JS.compile(pattern).re2().prog as Program
  } catch (error) {
    throw new RegexRefused(`no expression of RE2: ${errorMessage(error)}`)
  }
}

/** Characters that an instruction takes, as pairs of first and last. */
function rangesOf({ op: kind, arg, runes }: Instruction): readonly Range[] {
  switch (kind) {
    case op.any:
      return [[0, LAST_CODE_POINT]]
    case op.anyNotNewline:
      return [
        [0, 9],
        [11, LAST_CODE_POINT],
      ]
    case op.rune:
    case op.rune1: {
      const [only] = Array.from(runes)
      if (runes.length === 1 && only !== undefined)
        return ((arg & FOLD_CASE) === 0 ? [only] : foldsOf(only)).map((rune) => [rune, rune])
      const pairs: Range[] = []
      for (let i = 0; i + 1 < runes.length; i += 2) pairs.push([runes[i] ?? 0, runes[i + 1] ?? 0])
      return pairs
    }
    default:
      return []
  }
}

/** First characters of classes: all characters of a class lead to the same place, whatever the state. */
function boundsOf(ranges: readonly (readonly Range[])[], hasConditions: boolean): readonly number[] {
  const edges = new Set(hasConditions ? [0, ...CONDITION_EDGES] : [0])
  for (const [first, last] of ranges.flat()) {
    edges.add(first)
    if (last < LAST_CODE_POINT) edges.add(last + 1)
  }
  return [...edges].sort((a, b) => a - b)
}

function isWord(rune: number): boolean {
  return (rune >= 48 && rune <= 57) || (rune >= 65 && rune <= 90) || rune === 95 || (rune >= 97 && rune <= 122)
}

/** Places in the program before their conditions are known, and what came before them. */
interface State {
  readonly places: readonly number[]
  /** The character before: -1 at the beginning, else the first of its class. */
  readonly before: number
}

class Construction {
  readonly #program: Program
  readonly #ranges: readonly (readonly Range[])[]
  readonly #bounds: readonly number[]
  readonly #hasConditions: boolean
  readonly #states: State[] = []
  readonly #numbers = new Map<string, number>()

  constructor(program: Program) {
    const ranges = program.inst.map(rangesOf)
    this.#program = program
    this.#ranges = ranges
    this.#hasConditions = program.inst.some((each) => each.op === op.emptyWidth)
    this.#bounds = boundsOf(ranges, this.#hasConditions)
  }

  table(): RegexTable {
    const next: number[][] = []
    const accepts: number[] = []
    this.#number([this.#program.start], -1)
    for (let i = 0; i < this.#states.length; i += 1) {
      const state = this.#states[i]
      if (state === undefined) break
      accepts.push(this.#accepts(state) ? 1 : 0)
      next.push(this.#bounds.map((rune) => this.#step(state, rune)))
      if (this.#states.length > MAX_STATES || next.length * this.#bounds.length > MAX_ENTRIES)
        throw new RegexRefused(
          `its automaton would have more than ${MAX_STATES} states or ${MAX_ENTRIES} entries; repeat less often`,
        )
    }
    return { bounds: this.#bounds, next, accepts }
  }

  #number(places: readonly number[], before: number): number {
    const mark = !this.#hasConditions ? 0 : before < 0 ? -1 : before === 10 ? 10 : isWord(before) ? 97 : 0
    const key = `${mark}:${places.join(',')}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#states.length
    this.#states.push({ places, before: mark })
    this.#numbers.set(key, number)
    return number
  }

  #step(state: State, rune: number): number {
    const after = new Set<number>()
    for (const place of this.#closure(state, rune)) {
      const instruction = this.#program.inst[place]
      if (
        instruction !== undefined &&
        (this.#ranges[place] ?? []).some(([first, last]) => first <= rune && rune <= last)
      )
        after.add(instruction.out)
    }
    return after.size === 0
      ? -1
      : this.#number(
          [...after].sort((a, b) => a - b),
          rune,
        )
  }

  #accepts(state: State): boolean {
    return this.#closure(state, -1).some((place) => this.#program.inst[place]?.op === op.match)
  }

  /** All places that are reached without a character. `after` is the next one, -1 at the end of the text. */
  #closure(state: State, after: number): readonly number[] {
    const holds = conditions(state.before, after)
    const seen = new Set<number>()
    const waiting = [...state.places]
    for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
      const instruction = this.#program.inst[place]
      if (seen.has(place) || instruction === undefined) continue
      seen.add(place)
      switch (instruction.op) {
        case op.alt:
        case op.altMatch:
          waiting.push(instruction.out, instruction.arg)
          break
        case op.capture:
        case op.nop:
          waiting.push(instruction.out)
          break
        case op.emptyWidth:
          if ((instruction.arg & ~holds) === 0) waiting.push(instruction.out)
          break
        case op.fail:
        case op.match:
        case op.rune:
        case op.rune1:
        case op.any:
        case op.anyNotNewline:
          break
        default:
          throw new RegexRefused('it looks behind, which is beyond RE2')
      }
    }
    return [...seen]
  }
}

/** Conditions without width that hold between two characters, as bits. */
function conditions(before: number, after: number): number {
  const boundary = (before >= 0 && isWord(before)) !== (after >= 0 && isWord(after))
  return (
    (before < 0 ? empty.beginText | empty.beginLine : 0) |
    (before === 10 ? empty.beginLine : 0) |
    (after < 0 ? empty.endText | empty.endLine : 0) |
    (after === 10 ? empty.endLine : 0) |
    (boundary ? empty.wordBoundary : empty.noWordBoundary)
  )
}
