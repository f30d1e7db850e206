/** What a screen needs of a terminal. */
export interface Terminal {
  readonly columns?: number
  readonly rows?: number
  write(text: string): unknown
}

const escape = '\u001B['
const enter = `${escape}?1049h${escape}?25l${escape}2J`
const leave = `${escape}?25h${escape}?1049l`
// Terminals that know it show everything between the two at once; others ignore it.
const beginUpdate = `${escape}?2026h`
const endUpdate = `${escape}?2026l`

/**
 * Draws lines over the ones drawn before, on the alternate screen of a terminal. Each drawing is one write that overwrites in place and never
 * clears first, so nothing flickers.
 */
export class Screen {
  readonly #terminal: Terminal
  #open = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  get columns(): number {
    return this.#terminal.columns ?? 80
  }

  draw(lines: readonly string[]): void {
    if (!this.#open) this.#terminal.write(enter)
    this.#open = true
    const shown = fit(lines, this.#terminal.rows ?? 24)
    const text = shown.map((line) => `${line}${escape}K`).join('\r\n')
    this.#terminal.write(`${beginUpdate}${escape}H${text}${escape}J${endUpdate}`)
  }

  /** Gives back what was on the terminal before. */
  close(): void {
    if (this.#open) this.#terminal.write(leave)
    this.#open = false
  }
}

function fit(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines
  return [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines; enlarge the terminal`]
}
