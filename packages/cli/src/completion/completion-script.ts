/** Works with bash 3.2 too, which macOS has: no associative arrays, no mapfile. */
const bash = `# Completion of osm for bash. To load it: source <(osm completion bash)

__osm() {
  local index word line current action='' trimmed='' kept=''
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
  current="\${words[\${#words[@]} - 1]}"
  unset "words[\${#words[@]} - 1]"
  if [[ $current == --*=* ]]; then
    if [[ $COMP_WORDBREAKS == *=* ]]; then trimmed="\${current%%=*}="; else kept="\${current%%=*}="; fi
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :* ]]; then action="$line"; else
      line="\${line%%$'\\t'*}"
      COMPREPLY+=("\${line#"$trimmed"}")
    fi
  done < <("\${COMP_WORDS[0]/#\\~/$HOME}" __complete "--current=$current" -- \${words[@]+"\${words[@]}"} 2>/dev/null)
  if [[ $action == :files ]]; then
    compopt -o filenames 2>/dev/null
    if [[ $current == --*=* ]]; then current="\${current#*=}"; fi
    while IFS= read -r line; do COMPREPLY+=("$kept$line"); done < <(compgen -f -- "$current")
  fi
}

complete -F __osm osm
`

/** Can be sourced, and can be a file `_osm` in a folder of `fpath`. */
const zsh = `#compdef osm
# Completion of osm for zsh. To load it: source <(osm completion zsh), after compinit.

_osm() {
  local line word action=''
  local -a offered
  while IFS= read -r line; do
    if [[ $line == :* ]]; then action="$line"; else
      word="\${line%%$'\\t'*}"
      offered+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done < <("\${(Q)words[1]}" __complete "--current=$PREFIX" -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)
  if [[ $action == :files ]]; then
    if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi
    _files
  elif [[ $PREFIX == -* ]]; then
    _describe -o 'option' offered
  else
    _describe 'command' offered
  fi
}

if [[ "$funcstack[1]" == _osm ]]; then
  _osm "$@"
else
  compdef _osm osm
fi
`

const fish = `# Completion of osm for fish. To load it: osm completion fish | source

function __osm_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l action ''
  for line in (command $words[1] __complete "--current=$current" -- $words[2..-1] 2>/dev/null)
    if string match -q -- ':*' $line
      set action $line
    else
      echo $line
    end
  end
  if test "$action" = ':files'
    set -l flag (string match -r -- '^--[^=]+=' "$current")
    for file in (__fish_complete_path (string replace -r -- '^--[^=]+=' '' "$current"))
      echo "$flag$file"
    end
  end
end

complete -c osm -f -a '(__osm_complete)'
`

/** PowerShell completes files itself where nothing is offered. */
const powershell = `# Completion of osm for PowerShell. To load it: osm completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName osm -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  $program = $commandAst.CommandElements[0].Extent.Text
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
  foreach ($line in @(& $program __complete "--current=$wordToComplete" '--' @words 2>$null)) {
    if ($line.StartsWith(':')) { continue }
    $word, $description = $line.Split("\`t", 2)
    if (-not $description) { $description = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $description)
  }
}
`

const scripts = { bash, zsh, fish, powershell } as const

/** A shell that completions exist for. */
export type Shell = keyof typeof scripts

/** The script by which a shell asks `osm __complete` what may follow. */
export function completionScript(shell: Shell): string {
  return scripts[shell]
}
