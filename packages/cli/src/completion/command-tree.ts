import type { Argument, Command, Option } from 'commander'

/** A word with what it stands for. */
export interface DescribedWord {
  readonly word: string
  readonly description: string
}

/** An option as it may be written. */
export interface CompletedOption {
  /** Short form first. */
  readonly flags: readonly string[]
  readonly takesValue: boolean
  /** Values that it takes; empty where any may stand. */
  readonly choices: readonly string[]
  readonly description: string
}

/** A command with everything that may follow its name. */
export interface CompletedCommand {
  /** Names from the program down to the command, such as `osm proxy get`. */
  readonly path: string
  readonly commands: readonly DescribedWord[]
  /** Its own options, and those of the commands above it. */
  readonly options: readonly CompletedOption[]
  /** What each of its arguments may be; empty where any may stand. */
  readonly argumentChoices: readonly (readonly string[])[]
}

/** All commands that help shows, depth first. */
export function commandTree(program: Command): readonly CompletedCommand[] {
  return branch(program, '', [])
}

function branch(command: Command, above: string, inherited: readonly CompletedOption[]): readonly CompletedCommand[] {
  const help = command.createHelp()
  const path = `${above} ${command.name()}`.trim()
  const children = help.visibleCommands(command).filter((child) => command.commands.includes(child))
  const visible = help.visibleOptions(command)
  const own = visible.map(completedOption)
  const taken = new Set(own.flatMap(({ flags }) => flags))
  const options = [...own, ...inherited.filter(({ flags }) => !flags.some((flag) => taken.has(flag)))]
  // Help and version speak of the command that they stand at.
  const passedOn = options.filter(({ flags }) => !flags.includes('--help') && !flags.includes('--version'))
  return [
    {
      path: plain(path),
      commands: children.map((child) => ({
        word: plain(child.name()),
        description: child.summary() || child.description(),
      })),
      options,
      argumentChoices: command.registeredArguments.map(choicesOf),
    },
    ...children.flatMap((child) => branch(child, path, passedOn)),
  ]
}

function completedOption(option: Option): CompletedOption {
  return {
    flags: [option.short, option.long].flatMap((flag) => (flag === undefined ? [] : [plain(flag)])),
    takesValue: option.required || option.optional,
    choices: choicesOf(option),
    description: option.description,
  }
}

function choicesOf({ argChoices }: Option | Argument): readonly string[] {
  return (argChoices ?? []).map(plain)
}

/** Words stand unquoted in lists of words of the scripts. */
function plain(word: string): string {
  if (/^[\w. -]+$/.test(word)) return word
  throw new Error(`${JSON.stringify(word)} cannot be completed: it has characters that shells would read`)
}

/** Words of an option that takes a value, with the command they belong to: `osm proxy list -o`. */
export function valuedFlags({ path, options }: CompletedCommand): readonly string[] {
  return options.flatMap(({ flags, takesValue }) => (takesValue ? flags.map((flag) => `${path} ${flag}`) : []))
}

/**
 * Where a choice is to be made, and between what: by the command and the flag, as in `osm proxy list -o`, or by the command and the
 * position of the argument, as in `osm proxy get 0`.
 */
export function choicePoints({ path, options, argumentChoices }: CompletedCommand): readonly {
  readonly at: readonly string[]
  readonly choices: readonly string[]
}[] {
  return [
    ...options.map(({ flags, choices }) => ({ at: flags.map((flag) => `${path} ${flag}`), choices })),
    ...argumentChoices.map((choices, position) => ({ at: [`${path} ${position}`], choices })),
  ].filter(({ choices }) => choices.length > 0)
}
