/** What one character may be. */
interface CharacterSet {
  /** Of ASCII, by code. */
  readonly ascii: readonly boolean[]
  /** Beyond ASCII: none, any, or that one. */
  readonly beyond: 'none' | 'any' | { readonly character: string }
}

/** A set that so many characters in a row are of. */
interface Atom {
  readonly set: CharacterSet
  readonly least: number
  /** May be infinite. */
  readonly most: number
}

/** Largest number in a quantifier. */
const MAX_COUNT = 255
/** Longest text that may be looked at again for each place where what is before it could end. */
const MAX_TAIL = 256

const PUNCTUATION = /[!-/:-@[-`{-~]/
const META = /[\\^$|?*+()[\]{}]/
/** A character of UTF-8 that takes several bytes, which HAProxy tells PCRE2 nothing of. */
const BEYOND = String.raw`[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}`

const ANY = setOf(() => true, 'any')
const CLASSES: Readonly<Record<string, CharacterSet>> = {
  d: setOf((character) => /[0-9]/.test(character)),
  D: setOf((character) => /[^0-9]/.test(character), 'any'),
  w: setOf((character) => /[0-9A-Za-z_]/.test(character)),
  W: setOf((character) => /[^0-9A-Za-z_]/.test(character), 'any'),
  s: setOf((character) => /[\t\n\f\r ]/.test(character)),
  S: setOf((character) => /[^\t\n\f\r ]/.test(character), 'any'),
}

/**
 * Says an expression of RE2 without groups for PCRE2, such that the engine never tracks back over what repeats: what a repetition has taken it keeps, where
 * nothing that follows could begin with it. One repetition may be without that, if all that follows it has a fixed length.
 *
 * @returns an expression that matches the same texts as a whole, or undefined if there is none of that sort
 */
export function steadyExpression(expression: string): string | undefined {
  const atoms = atomsOf(Array.from(expression))
  if (atoms === undefined) return undefined
  const said: string[] = []
  for (const [index, atom] of atoms.entries()) {
    const rest = atoms.slice(index + 1)
    const keeps = atom.least === atom.most || isApartFrom(atom.set, rest)
    if (!keeps && !hasFixedLength(rest)) return undefined
    said.push(`${characters(atom.set)}${quantifier(atom)}${keeps && atom.least !== atom.most ? '+' : ''}`)
  }
  return `^${said.join('')}$`
}

function atomsOf(text: readonly string[]): readonly Atom[] | undefined {
  const atoms: Atom[] = []
  for (let at = 0; at < text.length;) {
    const one = readSet(text, at)
    if (one === undefined) return undefined
    const count = readQuantifier(text, one.end)
    if (count === undefined) return undefined
    atoms.push({ set: one.set, least: count.least, most: count.most })
    at = count.end
  }
  return atoms
}

interface ReadSet {
  readonly set: CharacterSet
  readonly end: number
}

function readSet(text: readonly string[], at: number): ReadSet | undefined {
  const character = text[at] ?? ''
  if (character === '.') return { set: ANY, end: at + 1 }
  if (character === '[') return readBrackets(text, at + 1)
  if (character === '\\') {
    const next = text[at + 1] ?? ''
    const set = CLASSES[next] ?? (PUNCTUATION.test(next) ? only(next) : undefined)
    return set === undefined ? undefined : { set, end: at + 2 }
  }
  return META.test(character) ? undefined : { set: only(character), end: at + 1 }
}

/** Characters, ranges and classes; what has a meaning in some engines and none in others is left out. */
function readBrackets(text: readonly string[], begin: number): ReadSet | undefined {
  const negated = text[begin] === '^'
  const members = new Set<string>()
  let at = negated ? begin + 1 : begin
  const first = at
  while (text[at] !== ']') {
    const one = readMember(text, at)
    if (one === undefined) return undefined
    at = one.end
    const isRange = text[at] === '-' && text[at + 1] !== ']'
    const last = isRange ? readMember(text, at + 1) : one
    if (last === undefined) return undefined
    if (isRange) at = last.end
    if (one.characters.length > 1 || last.characters.length > 1) {
      if (isRange) return undefined
      for (const character of one.characters) members.add(character)
      continue
    }
    const [from, to] = [codeOf(one.characters[0]), codeOf(last.characters[0])]
    if (from > to) return undefined
    for (let code = from; code <= to; code += 1) members.add(String.fromCodePoint(code))
  }
  if (at === first) return undefined
  return { set: setOf((each) => members.has(each) !== negated, negated ? 'any' : 'none'), end: at + 1 }
}

function readMember(
  text: readonly string[],
  at: number,
): { readonly characters: readonly string[]; readonly end: number } | undefined {
  const character = text[at]
  if (character === undefined || character === '[' || character === ']' || codeOf(character) > 127) return undefined
  if (character !== '\\') return { characters: [character], end: at + 1 }
  const next = text[at + 1] ?? ''
  if (PUNCTUATION.test(next)) return { characters: [next], end: at + 2 }
  const set = CLASSES[next]
  if (set === undefined || set.beyond !== 'none') return undefined
  return {
    characters: set.ascii.flatMap((is, code) => (is ? [String.fromCodePoint(code)] : [])),
    end: at + 2,
  }
}

function readQuantifier(text: readonly string[], at: number): (Omit<Atom, 'set'> & { end: number }) | undefined {
  const counted = /^(?:([?*+])|\{([0-9]{1,3})(?:(,)([0-9]{1,3})?)?\})/.exec(text.slice(at, at + 9).join(''))
  if (counted === null) return text[at] === '{' ? undefined : { least: 1, most: 1, end: at }
  const [whole, mark, from = '', comma, to] = counted
  const bounds = mark === undefined ? boundsOf(from, comma, to) : MARKS[mark]
  if (bounds === undefined) return undefined
  // Lazy or not, a whole match is a whole match. What else may follow a quantifier is another expression.
  const end = at + whole.length + (text[at + whole.length] === '?' ? 1 : 0)
  return /[?*+{]/.test(text[end] ?? '') ? undefined : { ...bounds, end }
}

const MARKS: Readonly<Record<string, Omit<Atom, 'set'>>> = {
  '?': { least: 0, most: 1 },
  '*': { least: 0, most: Infinity },
  '+': { least: 1, most: Infinity },
}

function boundsOf(from: string, comma: string | undefined, to: string | undefined): Omit<Atom, 'set'> | undefined {
  const least = Number(from)
  const most = comma === undefined ? least : to === undefined ? Infinity : Number(to)
  return least > MAX_COUNT || (most > MAX_COUNT && most !== Infinity) || most < least ? undefined : { least, most }
}

/** True if nothing that follows can begin with a character of the set. */
function isApartFrom(set: CharacterSet, rest: readonly Atom[]): boolean {
  const needed = rest.findIndex(({ least }) => least > 0)
  const next = needed === -1 ? rest : rest.slice(0, needed + 1)
  return next.every(
    (atom) =>
      !atom.set.ascii.some((is, code) => is && set.ascii[code] === true) &&
      (atom.set.beyond === 'none' || set.beyond === 'none'),
  )
}

function hasFixedLength(atoms: readonly Atom[]): boolean {
  return (
    atoms.every(({ least, most }) => least === most) && atoms.reduce((sum, { least }) => sum + least, 0) <= MAX_TAIL
  )
}

function setOf(has: (character: string) => boolean, beyond: CharacterSet['beyond'] = 'none'): CharacterSet {
  return { ascii: Array.from({ length: 128 }, (_, code) => has(String.fromCodePoint(code))), beyond }
}

function only(character: string): CharacterSet {
  return setOf((each) => each === character, codeOf(character) > 127 ? { character } : 'none')
}

function codeOf(character = ''): number {
  return character.codePointAt(0) ?? 0
}

/** Numbers only: no character of a user is ever read as part of an expression. */
function characters({ ascii, beyond }: CharacterSet): string {
  const ranges: string[] = []
  for (let code = 0; code < ascii.length; code += 1) {
    if (ascii[code] !== true) continue
    const from = code
    while (ascii[code + 1] === true) code += 1
    ranges.push(from === code ? hex(code) : `${hex(from)}-${hex(code)}`)
  }
  const within = ranges.length === 0 ? [] : [`[${ranges.join('')}]`]
  if (beyond === 'none') return within[0] ?? '(?!)'
  const without = beyond === 'any' ? BEYOND : [...Buffer.from(beyond.character, 'utf8')].map(hex).join('')
  return `(?:${[...within, without].join('|')})`
}

function hex(code: number): string {
  return String.raw`\x${code.toString(16).padStart(2, '0')}`
}

function quantifier({ least, most }: Atom): string {
  if (least === 1 && most === 1) return ''
  if (most === Infinity) return least === 0 ? '*' : least === 1 ? '+' : `{${least},}`
  return least === most ? `{${least}}` : `{${least},${most}}`
}
