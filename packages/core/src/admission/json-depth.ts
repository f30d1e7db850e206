const QUOTE = 0x22
const BACKSLASH = 0x5c
const LEFT_BRACKET = 0x5b
const RIGHT_BRACKET = 0x5d
const LEFT_BRACE = 0x7b
const RIGHT_BRACE = 0x7d

/**
 * True if a JSON text is nested deeper than that. Looks at the text before it is parsed: what works on a parsed value calls itself for every
 * level of it.
 */
export function isNestedDeeper(text: string, limit: number): boolean {
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === LEFT_BRACE || code === LEFT_BRACKET) {
      depth += 1
      if (depth > limit) return true
    } else if (code === RIGHT_BRACE || code === RIGHT_BRACKET) depth -= 1
  }
  return false
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
