import type { Command } from 'commander'

import { visibleCommands } from '../completion/complete.js'

const introduction = `# The command line

This page contains the \`--help\` output of every command. It is generated from the commands by
\`UPDATE_GOLDEN=1 npm run check -- unit\`; change the commands, not the page.

Results go to standard output, everything else to standard error. Colours are disabled if the output is not a terminal or \`NO_COLOR\` is
set; \`FORCE_COLOR=1\` enables them. With \`--verbose\`, errors include a stack trace.

| exit code | meaning                                                      |
| --------- | ------------------------------------------------------------ |
| 0         | success                                                      |
| 1         | a problem was found, the answer is no, or the command failed |
| 2         | the command line is invalid; nothing was changed             |
`

const helpWidth = 100

/** The reference of a command line: the help of all its commands, depth first. */
export function renderReference(program: Command): string {
  return [introduction, ...commandsOf(program).map(section)].join('\n')
}

function commandsOf(command: Command): readonly Command[] {
  return [command, ...visibleCommands(command).flatMap((child) => commandsOf(child))]
}

function section(command: Command): string {
  return `## ${fullName(command)}\n\n\`\`\`text\n${helpOf(command).trim()}\n\`\`\`\n`
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (more) => (text += more),
    getOutHelpWidth: () => helpWidth,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return text
}
