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

/** A span of text that came from elsewhere: characters that would steer the terminal are shown as dots. */
export function span(text: string, emphasis: Emphasis = 'plain'): Span {
  return { text: text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '·'), emphasis }
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
