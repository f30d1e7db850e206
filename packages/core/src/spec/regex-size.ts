import { TextScanner } from './text-scanner.js'
import { unicodeClassNames } from './unicode-classes.js'

/**
 * Reads RE2 expressions and bounds the size of their programs, in time that is linear in the length of the text.
 *
 * No program is built: `a{1000}` has six characters and a thousand instructions, and anyone who wants to know by compiling has paid already. The bound holds
 * for engines that match byte by byte and for those that match character by character: a class counts one instruction for each of its ranges, as
 * byte engines need, and a character outside ASCII one for each byte of UTF-8.
 *
 * Syntax is that of RE2 with Perl's classes, as https://github.com/google/re2/wiki/Syntax has it. Classes that only some engines of the family know
 * (`\p{Ascii}`, `\C`) are refused, and so are escapes above `\x{ff}`: Envoy refuses a listener that has one.
 */
export function measureRegex(text: string): RegexMeasure {
  try {
    return { valid: true, programSize: new RegexReader(text).read().size + FRAME }
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error
    return { valid: false, reason: error.message }
  }
}

/** What {@link measureRegex} finds. */
export type RegexMeasure =
  /** The real program has as many instructions at most. */
  { readonly valid: true; readonly programSize: number } | { readonly valid: false; readonly reason: string }

/** Instructions that every program has beside those of its expression: begin, fail, match and the search for the first match. */
const FRAME = 8
/** Rounds of a counted repetition, those of repetitions around it multiplied. */
const MAX_ROUNDS = 1000
/** Ranges that a class of Unicode has among the first 256 code points, at most: byte engines keep no others apart. */
const UNICODE_CLASS_RANGES = 32
/** Ranges of 256 code points that do not touch. */
const MAX_CLASS_RANGES = 128
/** Engines that match byte by byte refuse escapes of anything larger. */
const MAX_ESCAPE = 0xff

/** What matters of a part of an expression. */
interface Part {
  /** Instructions at most. Exact below 2^53: the longest expression can't reach that. */
  readonly size: number
  /** Largest product of the counts of repetitions inside one another. */
  readonly rounds: number
}

const empty: Part = { size: 1, rounds: 1 }

class RegexSyntaxError extends Error {}

class RegexReader {
  readonly #scanner: TextScanner
  readonly #groupNames = new Set<string>()
  #foldsCase = false
  /** False once it is known that no class of POSIX ends from here on: an expression may begin hundreds. */
  #posixEnds = true

  constructor(text: string) {
    this.#scanner = new TextScanner(text)
  }

  read(): Part {
    const part = this.#alternatives()
    if (!this.#scanner.ended) throw this.#fault('unexpected )', this.#scanner.at)
    return part
  }

  #alternatives(): Part {
    let { size, rounds } = this.#sequence()
    while (this.#scanner.take('|')) {
      const next = this.#sequence()
      size += next.size + 1
      rounds = Math.max(rounds, next.rounds)
    }
    return { size, rounds }
  }

  #sequence(): Part {
    let size = 0
    let rounds = 1
    let last: Part | undefined
    let repeated = false
    while (!this.#scanner.ended && !this.#scanner.sees('|') && !this.#scanner.sees(')')) {
      const start = this.#scanner.at
      const bounds = this.#quantifier()
      if (bounds === undefined) {
        repeated = false
        const atom = this.#atom()
        // Flags, and a quotation of nothing, are not atoms: what repeats after them repeats what is before.
        if (atom === undefined) continue
        size += last?.size ?? 0
        last = atom
      } else {
        this.#scanner.take('?')
        if (repeated) throw this.#fault('a repetition cannot be repeated without a group', start)
        if (last === undefined) throw this.#fault('missing argument of a repetition', start)
        last = this.#repeat(last, bounds, start)
        repeated = true
      }
      rounds = Math.max(rounds, last.rounds)
    }
    return { size: Math.max(size + (last?.size ?? 0), 1), rounds }
  }

  #repeat(part: Part, { least, most }: Bounds, start: number): Part {
    if (most === undefined) {
      const rounds = part.rounds * Math.max(least, 1)
      if (rounds > MAX_ROUNDS) throw this.#tooMany(start)
      // A loop around what may be empty takes one more, so that it ends.
      return { size: part.size * Math.max(least, 1) + 2, rounds }
    }
    if (most === 0) return empty
    const rounds = part.rounds * most
    if (rounds > MAX_ROUNDS) throw this.#tooMany(start)
    return { size: Math.max(part.size * most + (most - least), 1), rounds }
  }

  #tooMany(start: number): RegexSyntaxError {
    return this.#fault(`a repeat count, or the product of those inside one another, is above ${MAX_ROUNDS}`, start)
  }

  /** The repetition at this position, if any. A brace without a repetition is a literal. */
  #quantifier(): Bounds | undefined {
    if (this.#scanner.take('*')) return { least: 0, most: undefined }
    if (this.#scanner.take('+')) return { least: 1, most: undefined }
    if (this.#scanner.take('?')) return { least: 0, most: 1 }
    if (!this.#scanner.sees('{')) return undefined
    const start = this.#scanner.at
    const [all, least, comma, most] = this.#scanner.match(counts) ?? []
    if (all === undefined || least === undefined) return undefined
    const from = Number(least)
    const to = comma === undefined ? from : most === undefined || most === '' ? undefined : Number(most)
    if (from > MAX_ROUNDS || (to !== undefined && (to > MAX_ROUNDS || to < from)))
      throw this.#fault(`invalid repeat count: counts go from 0 to ${MAX_ROUNDS}, the lower first`, start)
    return { least: from, most: to }
  }

  /** Undefined for what takes no part in matching, such as flags. */
  #atom(): Part | undefined {
    const start = this.#scanner.at
    switch (this.#scanner.text[start]) {
      case '(':
        return this.#group(start)
      case '[':
        return { size: this.#bracket(start), rounds: 1 }
      case '.':
        this.#scanner.at += 1
        return { size: 2, rounds: 1 }
      case '^':
      case '$':
        this.#scanner.at += 1
        return empty
      case '\\':
        return this.#backslash()
      default:
        return this.#literal(this.#scanner.codePoint())
    }
  }

  #group(start: number): Part | undefined {
    if (!this.#scanner.match(/\(\?/y)) {
      this.#scanner.at += 1
      return this.#inside(start, 2)
    }
    if (this.#scanner.match(/P?</y)) {
      const name = this.#scanner.until('>')
      if (name === undefined) throw this.#fault('invalid name of a group', start)
      if (!/^[A-Za-z0-9_]+$/.test(name)) throw this.#fault('invalid name of a group', start)
      if (this.#groupNames.has(name)) throw this.#fault('duplicate name of a group', start)
      this.#groupNames.add(name)
      return this.#inside(start, 2)
    }
    const [, on, off, end] = this.#scanner.match(/([imsU]*)(?:-([imsU]+))?([:)])/y) ?? []
    if (end === undefined) throw this.#fault('invalid or unsupported group after (?', start)
    const before = this.#foldsCase
    if (on?.includes('i') === true) this.#foldsCase = true
    if (off?.includes('i') === true) this.#foldsCase = false
    return end === ':' ? this.#inside(start, 0, before) : undefined
  }

  /** What is between the parentheses; flags that are set there end with them. */
  #inside(start: number, captureSize: number, foldsCaseAfter = this.#foldsCase): Part {
    const { size, rounds } = this.#alternatives()
    if (!this.#scanner.take(')')) throw this.#fault('missing closing )', start)
    this.#foldsCase = foldsCaseAfter
    return { size: size + captureSize, rounds }
  }

  #backslash(): Part | undefined {
    if (this.#scanner.match(/\\[AbBz]/y)) return empty
    if (this.#scanner.match(/\\Q/y)) {
      const rest = this.#scanner.text.slice(this.#scanner.at)
      const quoted = this.#scanner.until('\\E') ?? rest
      if (quoted === rest) this.#scanner.at = this.#scanner.text.length
      return this.#quotation(quoted)
    }
    const ranges = this.#classEscape()
    return ranges === undefined ? this.#literal(this.#escape()) : { size: ranges, rounds: 1 }
  }

  #quotation(quoted: string): Part | undefined {
    let size = 0
    for (const character of quoted) size += this.#literal(character.codePointAt(0) ?? 0).size
    return size === 0 ? undefined : { size, rounds: 1 }
  }

  #literal(code: number): Part {
    return { size: code < 0x80 ? (this.#foldsCase ? 2 : 1) : code < 0x800 ? 4 : 8, rounds: 1 }
  }

  /** Number of ranges of a bracket expression. */
  #bracket(start: number): number {
    this.#scanner.at += 1
    const ascii: Range[] = []
    let others = this.#scanner.take('^') ? 1 : 0
    for (let first = true; first || !this.#scanner.sees(']'); first = false) {
      if (this.#scanner.ended) throw this.#fault('missing closing ]', start)
      const ranges = this.#posixClass() ?? this.#classEscape()
      if (ranges !== undefined) {
        others += ranges
        continue
      }
      const range = this.#range(start)
      if (range.to < 0x80) ascii.push(...(this.#foldsCase ? folded(range) : [range]))
      // Byte engines see the bytes of what is not ASCII, in any order.
      else others += this.#foldsCase ? 12 : 8
    }
    this.#scanner.at += 1
    return Math.min(Math.max(countApart(ascii) + others, 1), MAX_CLASS_RANGES)
  }

  #posixClass(): number | undefined {
    const start = this.#scanner.at
    if (!this.#posixEnds || !this.#scanner.text.startsWith('[:', start)) return undefined
    this.#scanner.at += 2
    const name = this.#scanner.until(':]')
    if (name === undefined) {
      this.#posixEnds = false
      this.#scanner.at = start
      return undefined
    }
    const ranges = posixRanges[name.startsWith('^') ? name.slice(1) : name]
    if (ranges === undefined) throw this.#fault('invalid character class range', start)
    return ranges + 1 + (this.#foldsCase ? 2 : 0)
  }

  /** Number of ranges of a class that is written as an escape. */
  #classEscape(): number | undefined {
    const [, perl] = this.#scanner.match(/\\([dDsSwW])/y) ?? []
    if (perl !== undefined) return 6
    const start = this.#scanner.at
    if (!this.#scanner.match(/\\[pP]/y)) return undefined
    const name = this.#scanner.take('{') ? this.#scanner.until('}') : this.#scanner.text[this.#scanner.at++]
    if (!classNames.has(name?.replace(/^\^/, '') ?? '')) throw this.#fault('invalid character class range', start)
    return UNICODE_CLASS_RANGES
  }

  #range(bracket: number): Range {
    const start = this.#scanner.at
    const from = this.#member(bracket)
    if (!this.#scanner.sees('-') || this.#scanner.text[this.#scanner.at + 1] === ']') return { from, to: from }
    this.#scanner.at += 1
    const to = this.#member(bracket)
    if (to < from) throw this.#fault('invalid character class range', start)
    return { from, to }
  }

  #member(bracket: number): number {
    if (this.#scanner.ended) throw this.#fault('missing closing ]', bracket)
    return this.#scanner.sees('\\') ? this.#escape() : this.#scanner.codePoint()
  }

  /** Code point of an escaped character. */
  #escape(): number {
    const start = this.#scanner.at
    if (start + 1 >= this.#scanner.text.length) throw this.#fault('trailing backslash at the end', start)
    const [all, octal, long, short, control, mark] = this.#scanner.match(escapes) ?? []
    if (all === undefined) throw this.#fault('invalid escape sequence', start)
    if (octal !== undefined) return this.#codePoint(parseInt(octal, 8), start)
    if (long !== undefined) return this.#codePoint(parseInt(long, 16), start)
    if (short !== undefined) return parseInt(short, 16)
    if (control !== undefined) return controls[control] ?? 0
    return mark?.codePointAt(0) ?? 0
  }

  #codePoint(code: number, start: number): number {
    if (code > MAX_ESCAPE)
      throw this.#fault('invalid escape sequence: paths and headers are bytes, from \\x{0} to \\x{ff}', start)
    return code
  }

  #fault(what: string, at: number): RegexSyntaxError {
    return new RegexSyntaxError(`${what}, at character ${at + 1}`)
  }
}

/** Code points from one to another. */
interface Range {
  readonly from: number
  readonly to: number
}

/** A range of ASCII, and what counts as the same as its letters. */
function folded(range: Range): readonly Range[] {
  const twin = (first: number, last: number, shift: number): readonly Range[] => {
    const [from, to] = [Math.max(range.from, first), Math.min(range.to, last)]
    return from <= to ? [{ from: from + shift, to: to + shift }] : []
  }
  return [range, ...twin(0x41, 0x5a, 0x20), ...twin(0x61, 0x7a, -0x20)]
}

/** Number of ranges once those that touch are joined. */
function countApart(ranges: readonly Range[]): number {
  let apart = 0
  let end = -Infinity
  for (const { from, to } of [...ranges].sort((a, b) => a.from - b.from)) {
    if (from > end + 1) apart += 1
    end = Math.max(end, to)
  }
  return apart
}

interface Bounds {
  readonly least: number
  /** Undefined: without a bound. */
  readonly most: number | undefined
}

/** Counts have no leading zeros: a brace with one stands for itself. */
const counts = /\{(0|[1-9]\d*)(,(0|[1-9]\d*|))?\}/y
const escapes =
  /\\(?:(0[0-7]{0,2}|[1-7][0-7]{1,2})|x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|([afnrtv])|([!-/:-@[-`{-~\0- \x7f]))/y
const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }
/** Ranges of the classes of POSIX. */
const posixRanges: Readonly<Record<string, number>> = Object.assign(Object.create(null) as Record<string, number>, {
  alnum: 3,
  alpha: 2,
  ascii: 1,
  blank: 2,
  cntrl: 2,
  digit: 1,
  graph: 1,
  lower: 1,
  print: 1,
  punct: 4,
  space: 2,
  upper: 1,
  word: 4,
  xdigit: 3,
})
const classNames: ReadonlySet<string> = new Set(unicodeClassNames())
