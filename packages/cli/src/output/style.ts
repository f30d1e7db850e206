import { printable } from '@osm-ts/driver-api/toolkit'

/** How a piece of text stands out. */
export type Emphasis = 'plain' | 'bold' | 'dim' | 'good' | 'bad' | 'warn' | 'accent'

/** Text as it is shown, with how it stands out. */
export interface Span {
  readonly text: string
  readonly emphasis: Emphasis
}

const codes: Readonly<Record<Emphasis, string>> = {
  plain: '',
  bold: '1',
  dim: '2',
  good: '32',
  bad: '31',
  warn: '33',
  accent: '36',
}

/** Characters that steer a terminal, hide text or change its order. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** The same, and the escape sequences that {@link renderSpans} writes. */
const EMPHASIS_OR_STEERING = new RegExp(
  `\\u001B\\[(?:${['0', ...Object.values(codes).filter(Boolean)].join('|')})m|${STEERING.source}`,
  'gu',
)
const DOT = '·'

/** A line that came from elsewhere: characters that would steer the terminal are shown as dots. */
export function plainLine(text: string): string {
  return printable(text)
}

/** As {@link plainLine}, for text of several lines: these, and tabs, stay. */
export function plainText(text: string): string {
  return text.replace(STEERING, (found) => (found === '\n' || found === '\t' ? found : DOT))
}

/** Text of several lines for a stream: a terminal gets it as {@link plainText}, a file or a program as it is. */
export function shownText(text: string, { isTTY }: { readonly isTTY?: boolean }): string {
  return isTTY === true ? plainText(text) : text
}

/** A rendered line, whose emphasis stays: what else would steer the terminal came from elsewhere. */
export function renderedLine(line: string): string {
  return line.replace(EMPHASIS_OR_STEERING, (found) => (found.length > 1 && found.startsWith('\u001B') ? found : DOT))
}

/** A span of text that came from elsewhere: characters that would steer the terminal are shown as dots. */
export function span(text: string, emphasis: Emphasis = 'plain'): Span {
  return { text: plainLine(text), emphasis }
}

/** Spans as text, with the escape sequences of a terminal where colours are wanted. */
export function renderSpans(spans: readonly Span[], color: boolean): string {
  return spans
    .map(({ text, emphasis }) => {
      const code = color && text.trim() !== '' ? codes[emphasis] : ''
      return code === '' ? text : `\u001B[${code}m${text}\u001B[0m`
    })
    .join('')
    .trimEnd()
}

/** Cut to so many characters, with an ellipsis for what is gone. */
export function clip(text: string, width: number): string {
  const characters = Array.from(text)
  if (characters.length <= width) return text
  return width <= 1 ? '…'.slice(0, width) : `${characters.slice(0, width - 1).join('')}…`
}

/** How many columns the text takes, for the narrow characters that names and messages of a mesh are made of. */
export function textWidth(text: string): number {
  return Array.from(text).length
}

/** Lines of at most so many characters, broken between words; a word that is longer is cut. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && textWidth(last) + 1 + textWidth(word) <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(clip(word, width))
  }
  return lines
}
