import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Command, Option } from 'commander'

import { fakeContext } from '../../test/fake-context.js'
import { defaultConfig } from '../config/cli-config.js'
import { buildProgram } from '../program.js'
import { commandTree } from './command-tree.js'
import { completionScript } from './completion-script.js'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

function program(): Command {
  return buildProgram({ context: fakeContext().context, config: defaultConfig, onExit: () => undefined })
}

/** Says which words bash was given, as it splits them, and prints what the completion offers for the last. */
const askBash = `
source "$1"
shift
function_of_osm=$(complete -p osm | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@")
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
"$function_of_osm" osm "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "\${COMPREPLY[@]}"`

describe('the completion of bash', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-completion-'))
    writeFileSync(join(folder, 'osm.bash'), completionScript('bash', program()))
    writeFileSync(join(folder, 'pods.yaml'), '')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const complete = (...words: readonly string[]): readonly string[] =>
    execFileSync('bash', ['--norc', '--noprofile', '-c', askBash, 'bash', join(folder, 'osm.bash'), 'osm', ...words], {
      cwd: folder,
      encoding: 'utf8',
    })
      .split('\n')
      .filter((word) => word !== '')

  it.each<[string, string[], string[]]>([
    ['commands', ['st'], ['standalone']],
    ['commands below a command', ['standalone', ''], ['run', 'validate']],
    ['commands behind flags, with values or without', ['--verbose', 'proxy', 'sta'], ['status']],
    ['flags', ['proxy', 'list', '--out'], ['--output']],
    ['what a flag takes', ['proxy', 'list', '-o', ''], ['table', 'json']],
    ['what a flag takes behind =, where bash splits there', ['proxy', 'list', '--output', '=', 'j'], ['json']],
    ['what a flag takes behind = before anything is written', ['proxy', 'list', '--output', '='], ['table', 'json']],
    ['what an argument may be', ['completion', 'z'], ['zsh']],
    ['what an argument may be behind a flag with a value', ['proxy', 'get', '--state', 'x', 'con'], ['config_dump']],
    ['files where a flag takes any value', ['inject', '-f', 'po'], ['pods.yaml']],
    ['nothing where a command has to come', ['proxy', 'po'], []],
    ['nothing more where all arguments are there', ['completion', 'zsh', 'fi'], []],
  ])('offers %s', (_what, words, offered) => {
    expect(complete(...words)).toEqual(offered)
  })

  it('offers all commands that help shows', () => {
    const shown = program()
      .createHelp()
      .visibleCommands(program())
      .map((command) => command.name())
    expect(complete('')).toEqual(shown.filter((name) => name !== 'help'))
  })
})

describe('completions', () => {
  const tree = commandTree(program())

  it.each(shells)('of %s have every command, flag and choice', (shell) => {
    const script = completionScript(shell, program())
    for (const { path, commands, options, argumentChoices } of tree) {
      const words = [
        ...commands.map(({ word }) => word),
        ...options.flatMap(({ flags, choices }) => [
          ...flags.map((flag) => (shell === 'fish' ? flag.replace(/^-+/, '') : flag)),
          ...choices,
        ]),
        ...argumentChoices.flat(),
      ]
      expect(script).toContain(`'${path}'`)
      for (const word of words) expect([word, script.includes(word)]).toEqual([word, true])
    }
  })

  /** Bash is everywhere; others where they are installed. */
  const installed = (['bash', 'zsh', 'fish'] as const).filter(
    (shell) => spawnSync(shell, ['--version']).error === undefined,
  )
  it.each(installed)('of %s are accepted by that shell', (shell) => {
    const folder = mkdtempSync(join(tmpdir(), 'osm-completion-'))
    const file = join(folder, 'script')
    writeFileSync(file, completionScript(shell, program()))
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    rmSync(folder, { recursive: true })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  it('quote what descriptions say for their shell', () => {
    const risky = new Command('osm')
    risky.command('go').description(`it's "$HOME" \\ \`date\` ’x’`)
    const about = (shell: (typeof shells)[number]): string => completionScript(shell, risky)
    expect(about('zsh')).toContain(`'go:it'\\''s "$HOME" \\ \`date\` ’x’'`)
    expect(about('fish')).toContain(`-d 'it\\'s "$HOME" \\\\ \`date\` ’x’'`)
    expect(about('powershell')).toContain(`'go\tit''s "$HOME" \\ \`date\` ’’x’’'`)
  })

  it('leave out what help hides, and refuse words that shells would read', () => {
    const hiding = new Command('osm').addOption(new Option('--secret').hideHelp())
    hiding.command('gone', { hidden: true })
    expect(commandTree(hiding)).toEqual([expect.objectContaining({ path: 'osm', commands: [] })])
    expect(completionScript('bash', hiding)).not.toMatch(/secret|gone/)
    const wrong = new Command('osm').addOption(new Option('--x <y>').choices(['a;b']))
    expect(() => completionScript('bash', wrong)).toThrow('"a;b" cannot be completed')
  })
})
