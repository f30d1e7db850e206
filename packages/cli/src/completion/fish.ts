import { valuedFlags, type CompletedCommand, type CompletedOption } from './command-tree.js'

/** One line for each thing that may be written, as fish wants it. */
export function fishCompletion(tree: readonly CompletedCommand[]): string {
  return `# Completion of osm for fish. To load it: osm completion fish | source

# Prints the command that has been written so far, then how many arguments it has.
function __osm_state
  set -l commands ${list(tree.map(({ path }) => path))}
  set -l valued ${list(tree.flatMap(valuedFlags))}
  set -l path osm
  set -l position 0
  set -l is_value false
  set -l words (commandline -opc)
  for word in $words[2..-1]
    if test $is_value = true
      set is_value false
      continue
    end
    if string match -q -- '-*' $word
      contains -- "$path $word" $valued; and set is_value true
    else if contains -- "$path $word" $commands
      set path "$path $word"
    else
      set position (math $position + 1)
    end
  end
  echo $path
  echo $position
end

# True at that command, and at that of its arguments if one is given.
function __osm_at
  set -l state (__osm_state)
  test "$state[1]" = "$argv[1]"; or return 1
  test (count $argv) -lt 2; or test "$state[2]" = "$argv[2]"
end

${tree.flatMap(lines).join('\n')}
`
}

function lines({ path, commands, options, argumentChoices }: CompletedCommand): readonly string[] {
  const at = `complete -c osm -n ${quoted(`__osm_at '${path}'`)}`
  return [
    ...(commands.length > 0 ? [`${at} -f`] : []),
    ...commands.map(({ word, description }) => `${at} -a ${word} -d ${quoted(description)}`),
    ...options.map((option) => `${at} ${optionWords(option)}`),
    ...argumentChoices.flatMap((choices, position) =>
      choices.length > 0
        ? [`complete -c osm -n ${quoted(`__osm_at '${path}' ${position}`)} -f -a ${quoted(choices.join(' '))}`]
        : [],
    ),
  ]
}

function optionWords({ flags, takesValue, choices, description }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const value = takesValue ? [choices.length > 0 ? `-x -a ${quoted(choices.join(' '))}` : '-r'] : []
  return [...names, ...value, `-d ${quoted(description)}`].join(' ')
}

function list(words: readonly string[]): string {
  return words.map((word) => `\\\n    ${quoted(word)}`).join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
