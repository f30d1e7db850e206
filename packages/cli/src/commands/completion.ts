import { Argument, type Command } from 'commander'

import type { Shell } from '../completion/completion-script.js'
import { type CommandHost, exitCodes } from './cli-command.js'

const shells: readonly Shell[] = ['bash', 'zsh', 'fish', 'powershell']

/** `osm completion <shell>`, and the hidden `osm __complete` that its scripts run. */
export function addCompletion(program: Command, { context, onExit }: CommandHost): void {
  program
    .command('completion')
    .description('print a shell completion script')
    .addArgument(new Argument('<shell>', 'shell to print the script for').choices(shells))
    .addHelpText(
      'after',
      `
Load it in the profile of the shell:
  bash        source <(osm completion bash)                      in ~/.bashrc
  zsh         source <(osm completion zsh)                       in ~/.zshrc, after compinit
  fish        osm completion fish | source                       in ~/.config/fish/config.fish
  powershell  osm completion powershell | Out-String | Invoke-Expression    in $PROFILE`,
    )
    .action(async (shell: Shell) => {
      const { completionScript } = await import('../completion/completion-script.js')
      context.stdout.write(completionScript(shell))
      onExit(exitCodes.ok)
    })

  program
    .command('__complete', { hidden: true })
    .description('print completions, for the completion script of a shell')
    .requiredOption('--current <word>', 'text of the word at the cursor')
    .argument('[words...]', 'words before the cursor, after --')
    .action(async (words: readonly string[], { current }: { readonly current: string }) => {
      const { complete, completionLines } = await import('../completion/complete.js')
      context.stdout.write(completionLines(complete(program, words, current)))
      onExit(exitCodes.ok)
    })
}
