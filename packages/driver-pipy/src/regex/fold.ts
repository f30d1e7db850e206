const LAST_FOLDING = 0x1ffff
const FIRST_HALF = 0xd800
const AFTER_HALVES = 0xe000
const LAST_ASCII = 0x7f

/** The characters outside of ASCII that are letters of ASCII but for case: the long s and the sign of Kelvin. */
const SIGNS = [0x17f, 0x212a]

/** The characters that are the same as one, but for case, by the simple case folding of Unicode, which RE2 has too; sorted. */
export function foldsOf(rune: number): readonly number[] {
  // One character, escaped: nothing that a user wrote is an expression here.
  const same = new RegExp(`\\u{${rune.toString(16)}}`, 'giu')
  const candidates = rune <= LAST_ASCII ? [...ascii(), ...SIGNS] : everyCharacter()
  const text = candidates.map((each) => String.fromCodePoint(each)).join('')
  return [...text.matchAll(same)].map(([found]) => found.codePointAt(0) ?? rune).sort((a, b) => a - b)
}

function ascii(): readonly number[] {
  return Array.from({ length: LAST_ASCII + 1 }, (_, rune) => rune)
}

/** Halves of pairs are not characters. */
function everyCharacter(): readonly number[] {
  const all: number[] = []
  for (let rune = 0; rune <= LAST_FOLDING; rune += 1) if (rune < FIRST_HALF || rune >= AFTER_HALVES) all.push(rune)
  return all
}
