import { choicePoints, valuedFlags, type CompletedCommand, type DescribedWord } from './command-tree.js'

/** Can be sourced, and can be a file `_osm` in a folder of `fpath`. */
export function zshCompletion(tree: readonly CompletedCommand[]): string {
  return `#compdef osm
# Completion of osm for zsh. To load it: source <(osm completion zsh), after compinit.

# Sets what may follow a command.
__osm_command() {
  case "$1" in
${tree.map(commandCase).join('\n')}
  esac
}

# True if the flag of the command takes a value.
__osm_valued() {
  local -a valued=(
${tree
  .flatMap(valuedFlags)
  .map((word) => `    ${quoted(word)}`)
  .join('\n')}
  )
  ((\${valued[(Ie)$1]}))
}

# Sets what the value of a flag, or the argument at a position, may be.
__osm_choices() {
  choices=()
  case "$1" in
${tree
  .flatMap(choicePoints)
  .map(({ at, choices }) => `    ${at.map(quoted).join(' | ')}) choices=(${choices.map(quoted).join(' ')}) ;;`)
  .join('\n')}
  esac
}

_osm() {
  local word flag='' osm_path=osm
  local -a commands flags choices
  integer index position=0
  __osm_command "$osm_path"
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    if [[ -n $flag ]]; then
      flag=''
    elif [[ $word == -* ]]; then
      if [[ $word != *=* ]] && __osm_valued "$osm_path $word"; then flag="$word"; fi
    elif ((\${commands[(I)\${(b)word}:*]})); then
      osm_path="$osm_path $word"
      __osm_command "$osm_path"
    else
      position=$((position + 1))
    fi
  done
  if [[ -z $flag && $PREFIX == --*=* ]]; then
    flag="\${PREFIX%%=*}"
    compset -P '*='
  fi
  if [[ -n $flag ]]; then
    __osm_choices "$osm_path $flag"
    if (($#choices)); then compadd -a choices; else _files; fi
  elif [[ $PREFIX == -* ]]; then
    _describe -o 'option' flags
  else
    __osm_choices "$osm_path $position"
    if (($#choices)); then
      compadd -a choices
    elif (($#commands)); then
      _describe 'command' commands
    else
      _files
    fi
  fi
}

if [[ "$funcstack[1]" == _osm ]]; then
  _osm "$@"
else
  compdef _osm osm
fi
`
}

function commandCase({ path, commands, options }: CompletedCommand): string {
  const flags = options.flatMap(({ flags: words, description }) => words.map((word) => ({ word, description })))
  return `    ${quoted(path)})
      commands=(${described(commands)})
      flags=(${described(flags)})
      ;;`
}

function described(words: readonly DescribedWord[]): string {
  return words.map(({ word, description }) => `\n        ${quoted(`${word}:${description}`)}`).join('')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
