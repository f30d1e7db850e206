import type { CliContext } from '../cli-context.js'
import type { CliConfig } from '../config/cli-config.js'
import { renderedLine } from '../output/style.js'

/** What the exit codes of every command mean. */
export const exitCodes = {
  /** It did what was asked, and what it was asked about is in order. */
  ok: 0,
  /** It did what was asked, and found a problem; or it could not do it. */
  problem: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
} as const

/** A value of {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** What all commands share. */
export interface CommandHost {
  /** The process; undefined while only the help is wanted, as for the reference. */
  readonly context: CliContext
  readonly config: CliConfig
  /** Told with which code the program is to end. */
  readonly onExit: (code: ExitCode) => void
}

/** Lines as text, each with its end. */
export function toText(lines: readonly string[]): string {
  return lines.map((line) => `${renderedLine(line)}\n`).join('')
}
