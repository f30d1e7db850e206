import type { CliContext } from '../cli-context.js'
import type { CliConfig } from '../config/cli-config.js'
import type { ExitCode } from '../exit-code.js'

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
  return lines.map((line) => `${line}\n`).join('')
}
