import { steadyExpression } from './steady-expression.js'

/** Text that matches an expression, in words that take HAProxy no time to speak of. */
export type Pattern =
  /** Exactly that. */
  | { readonly kind: 'equal'; readonly text: string }
  /** Begins and ends so, and is at least that long; both may be empty. */
  | { readonly kind: 'between'; readonly begin: string; readonly end: string; readonly least: number }
  /** What an expression for PCRE2 matches that takes time in proportion to the text. */
  | { readonly kind: 'steady'; readonly expression: string }

/** Most alternatives of one expression. */
const MAX_ALTERNATIVES = 32

const PUNCTUATION = /[!-/:-@[-`{-~]/
const META = /[\\^$.|?*+()[\]{}]/

/**
 * The patterns of which one matches exactly the texts that an expression of RE2 matches as a whole; undefined if it has none.
 *
 * HAProxy is built with PCRE2, an engine that tracks back: an expression of a user can take it as long as the user likes. So none ever gets there as it is. What
 * policies are mostly made of are literals, with one `.*` or `.+` somewhere, and alternatives of such; those are prefixes, suffixes and lengths. Other
 * alternatives without groups are said again, where they can be said so that nothing is tried twice.
 */
export function patternsOf(expression: string): readonly Pattern[] | undefined {
  // What divides expressions does not within brackets.
  if (/\[[^\]]*[()|]/.test(expression)) return undefined
  const alternatives = splitAlternatives(withoutAnchors(expression))
  if (alternatives === undefined || alternatives.length > MAX_ALTERNATIVES) return undefined
  const patterns = alternatives.map((alternative) => patternOf(alternative) ?? steadyPattern(alternative))
  return patterns.every((pattern) => pattern !== undefined) ? patterns : undefined
}

/** Expressions match as a whole anyway. An anchor of one alternative is not an anchor of all. */
function withoutAnchors(expression: string): string {
  if (expression.includes('|')) return expression
  return expression.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')
}

/** The alternatives of `a|b`, `(a|b)`, and `begin(a|b)end`; undefined for groups in groups, or two of them. */
function splitAlternatives(expression: string): readonly string[] | undefined {
  const group = /^((?:[^\\()]|\\.)*)\((\?:)?((?:[^\\()]|\\.)*)\)((?:[^\\()]|\\.)*)$/s.exec(expression)
  if (group === null) return splitBars(expression)
  const [, begin = '', , inside = '', end = ''] = group
  // A quantifier would repeat the group, and a bar outside would divide more than it.
  if (/^[?*+{]/.test(end) || splitBars(begin).length > 1 || splitBars(end).length > 1) return undefined
  // `(?` begins a group of another sort.
  if (inside.startsWith('?')) return undefined
  return splitBars(inside).map((alternative) => `${begin}${alternative}${end}`)
}

function splitBars(expression: string): readonly string[] {
  const parts: string[] = []
  let part = ''
  for (let at = 0; at < expression.length; at += 1) {
    const character = expression[at] ?? ''
    if (character === '|') {
      parts.push(part)
      part = ''
      continue
    }
    part += character
    if (character !== '\\') continue
    at += 1
    part += expression[at] ?? ''
  }
  return [...parts, part]
}

function steadyPattern(alternative: string): Pattern | undefined {
  const expression = steadyExpression(alternative)
  return expression === undefined ? undefined : { kind: 'steady', expression }
}

function patternOf(expression: string): Pattern | undefined {
  let begin = ''
  let end: string | undefined
  let any = 0
  for (let at = 0; at < expression.length; at += 1) {
    const character = expression[at] ?? ''
    const next = expression[at + 1] ?? ''
    if (character === '.' && (next === '*' || next === '+') && end === undefined) {
      end = ''
      any = next === '+' ? 1 : 0
      at += 1
      // Lazy or not, a whole match is a whole match. What else may follow a quantifier is another expression.
      if (/[?*+{]/.test(expression[at + 1] ?? '')) return undefined
      continue
    }
    let literal = character
    if (character === '\\') {
      // Escaped letters and digits are classes, and more.
      if (!PUNCTUATION.test(next)) return undefined
      literal = next
      at += 1
    } else if (META.test(character)) return undefined
    if (/[?*+{]/.test(expression[at + 1] ?? '')) return undefined
    if (end === undefined) begin += literal
    else end += literal
  }
  if (end === undefined) return { kind: 'equal', text: begin }
  return { kind: 'between', begin, end, least: byteLength(begin) + byteLength(end) + any }
}

/** HAProxy counts bytes. */
function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}
