/** Reads a text from its beginning to its end. */
export class TextScanner {
  readonly text: string
  /** Index of the next character. */
  at = 0

  constructor(text: string) {
    this.text = text
  }

  get ended(): boolean {
    return this.at >= this.text.length
  }

  sees(character: string): boolean {
    return this.text[this.at] === character
  }

  take(character: string): boolean {
    if (!this.sees(character)) return false
    this.at += 1
    return true
  }

  /** Takes the text up to the mark, and the mark; undefined where none follows. */
  until(mark: string): string | undefined {
    const end = this.text.indexOf(mark, this.at)
    if (end === -1) return undefined
    const text = this.text.slice(this.at, end)
    this.at = end + mark.length
    return text
  }

  /** Takes what the expression, which must be sticky, matches here. */
  match(expression: RegExp): readonly (string | undefined)[] | undefined {
    expression.lastIndex = this.at
    const found = expression.exec(this.text)
    if (found === null) return undefined
    this.at += found[0].length
    return found
  }

  /** Takes the next code point. */
  codePoint(): number {
    const code = this.text.codePointAt(this.at) ?? 0
    this.at += code > 0xffff ? 2 : 1
    return code
  }
}
