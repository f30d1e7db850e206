import { choicePoints, valuedFlags, type CompletedCommand, type DescribedWord } from './command-tree.js'

/** Compares case-sensitively throughout: -h and -H are different flags. */
export function powershellCompletion(tree: readonly CompletedCommand[]): string {
  return `# Completion of osm for PowerShell. To load it: osm completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName osm -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  # What may follow a command: each word, a tab, and what it stands for.
  function commandsOf($path) {
    switch -CaseSensitive -Exact ($path) {
${tree
  .filter(({ commands }) => commands.length > 0)
  .map(({ path, commands }) => switchCase(path, commands.map(described)))
  .join('\n')}
    }
  }

  function flagsOf($path) {
    switch -CaseSensitive -Exact ($path) {
${tree
  .map(({ path, options }) =>
    switchCase(
      path,
      options.flatMap(({ flags, description }) => flags.map((word) => described({ word, description }))),
    ),
  )
  .join('\n')}
    }
  }

  # What the value of a flag, or the argument at a position, may be.
  function choicesAt($place) {
    switch -CaseSensitive -Exact ($place) {
${tree
  .flatMap(choicePoints)
  .flatMap(({ at, choices }) => at.map((place) => switchCase(place, choices)))
  .join('\n')}
    }
  }

  $valued = @(
${tree
  .flatMap(valuedFlags)
  .map((word) => `    ${quoted(word)}`)
  .join('\n')}
  )

  $path = 'osm'
  $flag = ''
  $position = 0
  $prefix = ''
  $current = "$wordToComplete"
  $written = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
  foreach ($word in $written) {
    $names = @(commandsOf $path | ForEach-Object { $_.Split("\`t")[0] })
    if ($flag -ne '') { $flag = '' }
    elseif ($word.StartsWith('-')) { if ($valued -ccontains "$path $word") { $flag = $word } }
    elseif ($names -ccontains $word) { $path = "$path $word" }
    else { $position++ }
  }
  if ($flag -eq '' -and $current -match '^(--[^=]+)=(.*)$') {
    $flag = $Matches[1]
    $current = $Matches[2]
    $prefix = "$flag="
  }
  if ($flag -ne '') { $offered = @(choicesAt "$path $flag") }
  elseif ($current.StartsWith('-')) { $offered = @(flagsOf $path) }
  else { $offered = @(choicesAt "$path $position") + @(commandsOf $path) }
  foreach ($entry in $offered) {
    $word, $description = $entry.Split("\`t", 2)
    if (-not $word.StartsWith($current, [System.StringComparison]::Ordinal)) { continue }
    if (-not $description) { $description = $word }
    [System.Management.Automation.CompletionResult]::new("$prefix$word", $word, 'ParameterValue', $description)
  }
}
`
}

function switchCase(path: string, words: readonly string[]): string {
  return `      ${quoted(path)} { ${words.map((word) => quoted(word)).join(', ')} }`
}

/** A word and what it stands for in one text, so that PowerShell has a flat list. */
function described({ word, description }: DescribedWord): string {
  return `${word}\t${description}`
}

/** PowerShell takes typographic quotes for quotes as well. */
function quoted(text: string): string {
  return `'${text.replaceAll(/['\u2018-\u201B]/g, '$&$&')}'`
}
