import type { Command } from 'commander'

/** Commands that help shows, without the one for help. */
export function visibleCommands(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => command.commands.includes(child))
}
