import type { Argument, Command, Option } from 'commander'

/** What may be at the place of the cursor. */
export interface Completion {
  /** Whole words that begin with what is written there. */
  readonly offered: readonly { readonly word: string; readonly description: string }[]
  /** True: the name of a file is possible there. */
  readonly files: boolean
}

/**
 * Completes a command line.
 *
 * @param previous - words before the cursor, without the name of the program
 * @param current - what is written of the word at the cursor
 */
export function complete(program: Command, previous: readonly string[], current: string): Completion {
  let command = program
  let position = 0
  let pending: Option | undefined
  for (const word of previous) {
    if (pending !== undefined) pending = undefined
    else if (word.startsWith('-')) pending = word.includes('=') ? undefined : valuedOption(command, word)
    else {
      const child = visibleCommands(command).find((each) => each.name() === word)
      if (child === undefined) position += 1
      else command = child
    }
  }
  if (pending !== undefined) return valuesOf(pending, current, '')
  const [, flag] = /^(--[^=]+)=/.exec(current) ?? []
  if (flag !== undefined) {
    const option = valuedOption(command, flag)
    return option === undefined ? nothing : valuesOf(option, current, `${flag}=`)
  }
  if (current.startsWith('-')) {
    const flags = visibleOptions(command).flatMap(({ short, long, description }) =>
      [short, long].flatMap((word) => (word === undefined ? [] : [{ word, description }])),
    )
    return { offered: startingWith(current, flags), files: false }
  }
  const children = visibleCommands(command).map((child) => ({
    word: child.name(),
    description: child.summary() || child.description(),
  }))
  const argument = command.registeredArguments[position]
  const choices = (argument?.argChoices ?? []).map((word) => ({ word, description: argument?.description ?? '' }))
  const offered = [...choices, ...children]
  const files = offered.length === 0 && !isFull(command, position)
  return { offered: startingWith(current, offered), files }
}

/** The completion as scripts of shells read it: a word, a tab and its meaning on each line; then what else is possible there. */
export function completionLines({ offered, files }: Completion): string {
  const lines = offered.map(({ word, description }) => `${word}\t${description.replaceAll(/\s+/g, ' ')}`)
  return [...lines, files ? ':files' : ':none'].map((line) => `${line}\n`).join('')
}

const nothing: Completion = { offered: [], files: false }

function valuesOf({ argChoices, description }: Option, current: string, prefix: string): Completion {
  if (argChoices === undefined) return { offered: [], files: true }
  const words = argChoices.map((choice) => ({ word: `${prefix}${choice}`, description }))
  return { offered: startingWith(current, words), files: false }
}

/** Options of the command that help shows, and those of the commands above it that it does not redefine. */
function visibleOptions(command: Command): readonly Option[] {
  const own = command.createHelp().visibleOptions(command)
  if (command.parent === null) return own
  const taken = new Set(own.flatMap(flagsOf))
  const inherited = visibleOptions(command.parent)
    // Help and version are about the command that they stand at.
    .filter(({ long }) => long !== '--help' && long !== '--version')
    .filter((option) => !flagsOf(option).some((flag) => taken.has(flag)))
  return [...own, ...inherited]
}

function valuedOption(command: Command, flag: string): Option | undefined {
  return visibleOptions(command).find(
    (option) => (option.required || option.optional) && flagsOf(option).includes(flag),
  )
}

function flagsOf({ short, long }: Option): readonly string[] {
  return [short, long].filter((flag) => flag !== undefined)
}

/** True if the command takes no argument at that position. */
function isFull({ registeredArguments }: Command, position: number): boolean {
  const last: Argument | undefined = registeredArguments.at(-1)
  return position >= registeredArguments.length && last?.variadic !== true
}

function startingWith<T extends { readonly word: string }>(text: string, words: readonly T[]): readonly T[] {
  return words.filter(({ word }) => word.startsWith(text))
}

/** Commands that help shows, without the one for help. */
export function visibleCommands(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => command.commands.includes(child))
}
