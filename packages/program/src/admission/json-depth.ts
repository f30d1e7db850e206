const QUOTE = 0x22
const BACKSLASH = 0x5c
const LEFT_BRACKET = 0x5b
const RIGHT_BRACKET = 0x5d
const LEFT_BRACE = 0x7b
const RIGHT_BRACE = 0x7d
const COMMA = 0x2c

/** What a JSON text may hold. */
export interface JsonBounds {
  /** Lists and objects inside one another. */
  readonly depth: number
  /** Scalars, lists and objects in all: a parsed one takes up to thirty times the memory of its text. */
  readonly values: number
}

/**
 * Says which bound a JSON text exceeds. Looks at the text before it is parsed: what works on a parsed value calls itself without endy level of it, and has to
 * hold all of it.
 */
export function exceededJsonBound(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
  let depth = 0
  let values = 1
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === LEFT_BRACE || code === LEFT_BRACKET) {
      depth += 1
      values += 1
      if (depth > bounds.depth) return 'depth'
    } else if (code === COMMA) values += 1
    else if (code === RIGHT_BRACE || code === RIGHT_BRACKET) depth -= 1
    if (values > bounds.values) return 'values'
  }
  return undefined
}

/** Index of the quote that ends a string; the end of the text if none does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes += 1
  return backslashes % 2 === 1
}
