import { allChars, charOf, noChars, otherChars, perlClass, range, type Chars } from './regex-chars.js'
import { TextScanner } from './text-scanner.js'

/**
 * Tells expressions that a backtracking engine can take very long over.
 *
 * Engines of the RE2 family take linear time over any expression; others do not, and some sidecars have such an engine.
 * The answer errs on the side of caution: an expression found harmless is harmless, one found costly may still be fine.
 * Repetition is costly
 *
 * - inside repetition, unless each round begins or ends with a character that the inner repetition can't match:
 *   `(a+)+`, but not `(/[^/]+)*`;
 * - of alternatives that begin alike: `(a|ab)*`;
 * - of what can be empty: `(a?)*`;
 * - more than three times in a row over the same characters: `.*.*.*.*`.
 *
 * The expression must be valid RE2 syntax.
 */
export function canBacktrackBadly(pattern: string): boolean {
  return new CostParser(pattern).isCostly()
}

/** What matters of a part of an expression. */
interface Part {
  /** Characters that it can begin with. */
  readonly first: Chars
  /** Characters that occur anywhere in it. */
  readonly any: Chars
  /** Characters of repetitions without a bound inside it. */
  readonly repeated: Chars
  /** Largest number of such repetitions in a row. */
  readonly inARow: number
  /** True if it can match nothing. */
  readonly nullable: boolean
  /** True if it is one character, neither more nor less. */
  readonly single: boolean
  /** Members in order, for a sequence. */
  readonly members: readonly Part[]
  /** Alternatives that begin alike. */
  readonly ambiguous: boolean
}

const empty: Part = {
  first: noChars,
  any: noChars,
  repeated: noChars,
  inARow: 0,
  nullable: true,
  single: false,
  members: [],
  ambiguous: false,
}
/** Repetitions in a row over common characters that are still borne. */
const borneInARow = 3
/** A bounded repetition beyond this many rounds counts as unbounded. */
const manyRounds = 16

class CostParser {
  readonly #scanner: TextScanner
  readonly #foldCase: boolean
  #costly = false

  constructor(text: string) {
    this.#scanner = new TextScanner(text)
    this.#foldCase = /\(\?[a-z]*i/.test(text)
  }

  isCostly(): boolean {
    this.#alternatives()
    return this.#costly
  }

  #alternatives(): Part {
    const parts = [this.#sequence()]
    while (this.#scanner.take('|')) parts.push(this.#sequence())
    const [only] = parts
    if (parts.length === 1 && only !== undefined) return only
    let first = noChars
    let ambiguous = parts.some((part) => part.ambiguous)
    for (const part of parts) {
      if ((first & part.first) !== noChars || part.nullable) ambiguous = true
      first |= part.first
    }
    return {
      first,
      any: union(parts, 'any'),
      repeated: union(parts, 'repeated'),
      inARow: Math.max(...parts.map((part) => part.inARow)),
      nullable: parts.some((part) => part.nullable),
      single: parts.every((part) => part.single),
      members: [],
      ambiguous,
    }
  }

  #sequence(): Part {
    const members: Part[] = []
    while (!this.#scanner.ended && !this.#scanner.sees('|') && !this.#scanner.sees(')')) {
      const member = this.#quantified()
      if (member !== undefined) members.push(member)
    }
    const inARow = longestRow(members)
    if (inARow > borneInARow) this.#costly = true
    const [only] = members
    if (members.length === 1 && only !== undefined) return only
    let first = noChars
    for (const member of members) {
      first |= member.first
      if (!member.nullable) break
    }
    return {
      first,
      any: union(members, 'any'),
      repeated: union(members, 'repeated'),
      inARow,
      nullable: members.every((member) => member.nullable),
      single: false,
      members,
      ambiguous: members.some((member) => member.ambiguous),
    }
  }

  #quantified(): Part | undefined {
    let part = this.#atom()
    for (let bounds = this.#quantifier(); bounds !== undefined; bounds = this.#quantifier()) {
      this.#scanner.take('?')
      if (part === undefined) continue
      const { least, most } = bounds
      const many = most > manyRounds
      if (many && this.#roundsAreUnclear(part)) this.#costly = true
      part = {
        ...part,
        repeated: many ? part.any : part.repeated,
        inARow: many ? 1 : part.inARow * Math.max(most, 1),
        nullable: part.nullable || least === 0,
        single: part.single && least === 1 && most === 1,
        members: [],
        ambiguous: false,
      }
    }
    return part
  }

  /** True if a text may be divided into rounds of the part in several ways. */
  #roundsAreUnclear(part: Part): boolean {
    if (part.ambiguous || part.nullable) return true
    if (part.repeated === noChars) return false
    const ends = [part.members[0], part.members.at(-1)]
    return !ends.some((end) => end?.single === true && (end.any & part.repeated) === noChars)
  }

  #quantifier(): { readonly least: number; readonly most: number } | undefined {
    if (this.#scanner.take('*')) return { least: 0, most: Infinity }
    if (this.#scanner.take('+')) return { least: 1, most: Infinity }
    if (this.#scanner.take('?')) return { least: 0, most: 1 }
    const [all, least, comma, most] = this.#scanner.match(/\{(\d+)(,(\d*))?\}/y) ?? []
    if (all === undefined) return undefined
    if (comma === undefined) return { least: Number(least), most: Number(least) }
    return { least: Number(least), most: most === '' || most === undefined ? Infinity : Number(most) }
  }

  #atom(): Part | undefined {
    if (this.#scanner.match(/\(\?[a-zA-Z-]*\)/y) !== undefined) return undefined
    if (this.#scanner.match(/\((\?(P?<[^>]*>|[a-zA-Z-]*:))?/y) !== undefined) {
      const inner = this.#alternatives()
      this.#scanner.take(')')
      return inner
    }
    if (this.#scanner.match(/[\^$]|\\[AbBz]/y) !== undefined) return empty
    const [, quoted] = this.#scanner.match(/\\Q([\s\S]*?)(?:\\E|$)/y) ?? []
    if (quoted !== undefined) return this.#literalText(quoted)
    if (this.#scanner.take('.')) return one(allChars)
    return one(this.#scanner.sees('[') ? this.#bracket() : this.#character())
  }

  #literalText(text: string): Part {
    const members = Array.from(text, (character) => one(this.#fold(charOf(character.codePointAt(0) ?? 0))))
    const [head] = members
    return head === undefined ? empty : { ...head, any: union(members, 'any'), single: members.length === 1, members }
  }

  #bracket(): Chars {
    this.#scanner.take('[')
    const negated = this.#scanner.take('^')
    let chars = noChars
    for (let start = true; !this.#scanner.ended && (start || !this.#scanner.sees(']')); start = false) {
      const [, named] = this.#scanner.match(/\[:(\^?[a-z]+):\]/y) ?? []
      if (named !== undefined) {
        chars |= allChars
        continue
      }
      const from = this.#codePoint()
      const [, to] =
        from.code === undefined || !this.#scanner.match(/-(?!\])/y) ? [] : [undefined, this.#codePoint().code]
      chars |= from.code === undefined || to === undefined ? from.chars : range(from.code, to)
    }
    this.#scanner.take(']')
    const folded = this.#fold(chars)
    // What is not ASCII is one bit: the complement of some of it is still some of it.
    return negated ? (allChars & ~folded) | otherChars : folded
  }

  #character(): Chars {
    return this.#fold(this.#codePoint().chars)
  }

  /** One character, or a class of them, in or out of brackets. */
  #codePoint(): { readonly code: number | undefined; readonly chars: Chars } {
    const [, hex, octal, perl, property, escaped] =
      this.#scanner.match(/\\(?:x\{?([0-9A-Fa-f]+)\}?|([0-7]{1,3})|([dDwWsS])|([pP](?:\{[^}]*\}|.))|([\s\S]))/y) ?? []
    if (hex !== undefined) return single(parseInt(hex, 16))
    if (octal !== undefined) return single(parseInt(octal, 8))
    if (perl !== undefined) return { code: undefined, chars: perlClass(perl) }
    if (property !== undefined) return { code: undefined, chars: allChars }
    if (escaped !== undefined) return single(controls[escaped] ?? escaped.codePointAt(0) ?? 0)
    return single(this.#scanner.codePoint())
  }

  #fold(chars: Chars): Chars {
    if (!this.#foldCase) return chars
    const upper = range(0x41, 0x5a)
    const lower = range(0x61, 0x7a)
    return chars | ((chars & upper) << 32n) | ((chars & lower) >> 32n) | otherChars
  }
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }

function one(chars: Chars): Part {
  return {
    first: chars,
    any: chars,
    repeated: noChars,
    inARow: 0,
    nullable: false,
    single: true,
    members: [],
    ambiguous: false,
  }
}

/** Repetitions that can pass characters to each other multiply the ways to divide a text among them. */
function longestRow(members: readonly Part[]): number {
  let shared = allChars
  let inARow = 0
  let longest = 0
  for (const member of members) {
    if (member.repeated === noChars) {
      // A separator that the repetitions can't match themselves ends the row.
      if (!member.nullable && (member.any & shared) === noChars) [shared, inARow] = [allChars, 0]
      continue
    }
    const common = shared & member.repeated
    ;[shared, inARow] = common === noChars ? [member.repeated, member.inARow] : [common, inARow + member.inARow]
    longest = Math.max(longest, inARow)
  }
  return longest
}

function union(parts: readonly Part[], member: 'any' | 'repeated'): Chars {
  return parts.reduce((chars, part) => chars | part[member], noChars)
}

function single(code: number): { readonly code: number; readonly chars: Chars } {
  return { code, chars: charOf(code) }
}
