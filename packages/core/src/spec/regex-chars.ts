/** A set of characters: one bit for each of ASCII, and one for everything else. */
export type Chars = bigint

/** Everything beyond ASCII. */
export const otherChars: Chars = 1n << 128n
/** Every character. */
export const allChars: Chars = (1n << 129n) - 1n
/** No character. */
export const noChars: Chars = 0n

/** One character, given by its code point. */
export function charOf(code: number): Chars {
  return code < 128 ? 1n << BigInt(code) : otherChars
}

/** The characters from one code point to another. */
export function range(from: number, to: number): Chars {
  let chars = to >= 128 ? otherChars : noChars
  for (let code = from; code <= Math.min(to, 127); code += 1) chars |= charOf(code)
  return chars
}

/** `\d`, `\w`, `\s` and their complements, given by the letter. */
export function perlClass(name: string): Chars {
  const digits = range(0x30, 0x39)
  const words = digits | range(0x41, 0x5a) | range(0x61, 0x7a) | charOf(0x5f)
  const spaces = range(0x09, 0x0a) | range(0x0c, 0x0d) | charOf(0x20)
  const classes: Readonly<Record<string, Chars>> = { d: digits, w: words, s: spaces }
  const chars = classes[name.toLowerCase()] ?? allChars
  return name === name.toLowerCase() ? chars : allChars & ~chars
}
