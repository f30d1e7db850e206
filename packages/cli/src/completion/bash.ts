import { choicePoints, valuedFlags, type CompletedCommand } from './command-tree.js'

/** Works with bash 3.2 too, which macOS has: no associative arrays, no mapfile. */
export function bashCompletion(tree: readonly CompletedCommand[]): string {
  return `# Completion of osm for bash. To load it: source <(osm completion bash)

# Sets what may follow a command.
__osm_command() {
  case "$1" in
${tree.map(commandCase).join('\n')}
  esac
}

# True if the flag of the command takes a value.
__osm_valued() {
  case "$1" in
${alternatives(tree.flatMap(valuedFlags))}) return 0 ;;
  esac
  return 1
}

# Sets what the value of a flag, or the argument at a position, may be.
__osm_choices() {
  case "$1" in
${tree
  .flatMap(choicePoints)
  .map(({ at, choices }) => `    ${at.map(quoted).join(' | ')}) choices='${choices.join(' ')}' ;;`)
  .join('\n')}
    *) choices='' ;;
  esac
}

__osm() {
  local commands flags choices word flag='' path=osm position=0 index prefix=''
  local -a words
  words=()
  # Where = separates words, --output=json comes as three.
  for ((index = 1; index <= COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if ((\${#words[@]} > 0)) && [[ $word == '=' || \${COMP_WORDS[index - 1]} == '=' ]] && [[ \${words[\${#words[@]} - 1]} == --* ]]; then
      words[\${#words[@]} - 1]+="$word"
    else
      words+=("$word")
    fi
  done
  local last=$((\${#words[@]} - 1))
  local current="\${words[last]}"
  COMPREPLY=()
  __osm_command "$path"
  for ((index = 0; index < last; index++)); do
    word="\${words[index]}"
    if [[ -n $flag ]]; then
      flag=''
    elif [[ $word == -* ]]; then
      if [[ $word != *=* ]] && __osm_valued "$path $word"; then flag="$word"; fi
    elif [[ " $commands " == *" $word "* ]]; then
      path="$path $word"
      __osm_command "$path"
    else
      position=$((position + 1))
    fi
  done
  if [[ -z $flag && $current == --*=* ]]; then
    flag="\${current%%=*}"
    current="\${current#*=}"
    if [[ $COMP_WORDBREAKS != *=* ]]; then prefix="$flag="; fi
  fi
  if [[ -n $flag ]]; then
    __osm_choices "$path $flag"
  elif [[ $current == -* ]]; then
    choices="$flags"
  else
    __osm_choices "$path $position"
    choices="$choices $commands"
  fi
  local IFS=$'\\n'
  if [[ -n \${choices// /} ]]; then
    COMPREPLY=($(IFS=' ' compgen -P "$prefix" -W "$choices" -- "$current"))
  elif [[ -n $flag || -z $commands ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -P "$prefix" -f -- "$current"))
  fi
}

complete -F __osm osm
`
}

function commandCase({ path, commands, options }: CompletedCommand): string {
  const words = commands.map(({ word }) => word).join(' ')
  return `    ${quoted(path)}) commands='${words}' flags='${options.flatMap(({ flags }) => flags).join(' ')}' ;;`
}

function alternatives(words: readonly string[]): string {
  return words.map((word) => `    ${quoted(word)}`).join(' | \\\n')
}

function quoted(word: string): string {
  return `'${word}'`
}
