import { Argument, type Command } from 'commander'

import { exitCodes } from '../exit-code.js'
import type { CommandHost } from './cli-command.js'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

/** `osm completion <shell>` */
export function addCompletion(program: Command, { context, onExit }: CommandHost): void {
  program
    .command('completion')
    .description('print a shell completion script')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      `
Load it in the profile of the shell:
  bash        source <(osm completion bash)                      in ~/.bashrc
  zsh         source <(osm completion zsh)                       in ~/.zshrc, after compinit
  fish        osm completion fish | source                       in ~/.config/fish/config.fish
  powershell  osm completion powershell | Out-String | Invoke-Expression    in $PROFILE`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { completionScript } = await import('../completion/completion-script.js')
      context.stdout.write(completionScript(shell, program))
      onExit(exitCodes.ok)
    })
}
