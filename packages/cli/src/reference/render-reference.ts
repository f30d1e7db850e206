import type { Command } from 'commander'

const introduction = `# The command line

This page is what \`--help\` says, of every command. It is made from the commands themselves by
\`UPDATE_GOLDEN=1 npm run check -- unit\`; change those, not the page.

Results go to standard output, everything else to standard error. Colours are left out where the output is no terminal or \`NO_COLOR\` is
set; \`FORCE_COLOR=1\` asks for them. With \`--verbose\`, errors tell where in the program they happened.

| exit code | meaning                                                                 |
| --------- | ----------------------------------------------------------------------- |
| 0         | it did what was asked, and what it was asked about is in order          |
| 1         | it found a problem, the answer is no, or it could not do what it should |
| 2         | the command line is wrong; nothing was done                             |
`

const helpWidth = 100

/** The reference of a command line: the help of all its commands, depth first. */
export function renderReference(program: Command): string {
  return [introduction, ...commandsOf(program).map(section)].join('\n')
}

function commandsOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap((child) => commandsOf(child))]
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
