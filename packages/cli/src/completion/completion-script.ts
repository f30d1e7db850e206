import type { Command } from 'commander'

import { bashCompletion } from './bash.js'
import { commandTree, type CompletedCommand } from './command-tree.js'
import { fishCompletion } from './fish.js'
import { powershellCompletion } from './powershell.js'
import { zshCompletion } from './zsh.js'

const scripts = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
  powershell: powershellCompletion,
} as const satisfies Readonly<Record<string, (tree: readonly CompletedCommand[]) => string>>

/** The script by which a shell completes the program. */
export function completionScript(shell: keyof typeof scripts, program: Command): string {
  return scripts[shell](commandTree(program))
}
