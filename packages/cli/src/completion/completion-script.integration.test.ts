import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { bundlePrograms } from '../../../../tools/lib/bundle.mjs'
import { fakeContext } from '../../test/fake-context.js'
import { defaultConfig } from '../config/cli-config.js'
import { buildProgram } from '../program.js'
import { completionScript } from './completion-script.js'

/** Says which words bash was given, as it splits them, and prints what the completion offers for the last. */
const askBash = `
source "$1"
shift
function_of_osm=$(complete -p osm | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@")
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
"$function_of_osm" osm "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "\${COMPREPLY[@]}"`

/** Runs the function of zsh with stand-ins for what only a line editor has, and prints what they are given. */
const askZsh = `
compdef() { : }
compset() { PREFIX="\${PREFIX#*=}" }
_describe() { print -rl -- "\${(@P)@[-1]}" }
_files() { print -rl -- $PREFIX*(N) }
source "$1"
shift
words=("$@")
CURRENT=$#words
PREFIX="$words[-1]"
_osm`

const askFish = `
source $argv[1]
complete -C (string join ' ' -- $argv[2..-1])`

/** How each shell is asked; bash is everywhere, and set-up installs the others where it may. */
const shells = {
  bash: ['--norc', '--noprofile', '-c', askBash, 'bash'],
  zsh: ['-f', '-c', askZsh, 'zsh'],
  fish: ['--no-config', '-c', askFish],
} as const
type Shell = keyof typeof shells

const names: readonly Shell[] = ['bash', 'zsh', 'fish']
const installed = names.filter((shell) => spawnSync(shell, ['--version']).error === undefined)

describe('the completion scripts of osm', () => {
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'osm-completion-'))
    const [program = ''] = await bundlePrograms(['osm'])
    mkdirSync(join(folder, 'bin'))
    const start = `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} "$@"\n`
    writeFileSync(join(folder, 'bin', 'osm'), start, { mode: 0o755 })
    for (const shell of installed) writeFileSync(join(folder, `osm.${shell}`), completionScript(shell))
    mkdirSync(join(folder, 'work'))
    writeFileSync(join(folder, 'work', 'pods.yaml'), '')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const ask = (shell: Shell, words: readonly string[]): readonly string[] =>
    execFileSync(shell, [...shells[shell], join(folder, `osm.${shell}`), 'osm', ...words], {
      cwd: join(folder, 'work'),
      env: { ...process.env, HOME: folder, PATH: [join(folder, 'bin'), process.env['PATH']].join(delimiter) },
      encoding: 'utf8',
    })
      .split('\n')
      // zsh and fish show meanings beside the words.
      .map((line) => (shell === 'bash' ? line : line.replace(shell === 'zsh' ? /:.*$/ : /\t.*$/, '')))
      .filter((word) => word !== '')

  describe.each(installed)('for %s', (shell) => {
    it.each<[string, string[], string[]]>([
      ['commands', ['st'], ['standalone']],
      ['commands below a command', ['standalone', ''], ['run', 'validate']],
      ['commands behind flags, with values or without', ['--verbose', 'proxy', 'sta'], ['status']],
      ['flags', ['proxy', 'list', '--out'], ['--output']],
      ['what a flag takes', ['proxy', 'list', '-o', ''], ['table', 'json']],
      ['what an argument may be', ['completion', 'z'], ['zsh']],
      ['what an argument may be behind a flag with a value', ['proxy', 'get', '--state', 'x', 'con'], ['config_dump']],
      ['files where a flag takes any value', ['inject', '-f', 'po'], ['pods.yaml']],
      ['nothing where a command has to come', ['proxy', 'po'], []],
      ['nothing more where all arguments are there', ['completion', 'zsh', 'po'], []],
    ])('offer %s', (_what, words, offered) => {
      expect(ask(shell, words).toSorted()).toEqual(offered.toSorted())
    })
  })

  it.each<[string, string[], string[]]>([
    ['bash, which splits there', ['proxy', 'list', '--output', '=', 'j'], ['json']],
    ['bash, before anything is written', ['proxy', 'list', '--output', '='], ['table', 'json']],
  ])('offer what a flag takes behind = in %s', (_what, words, offered) => {
    expect(ask('bash', words)).toEqual(offered)
  })

  it('offer what a flag takes behind = in the other shells, which do not split there', () => {
    for (const shell of installed.filter((name) => name !== 'bash'))
      expect([shell, ask(shell, ['proxy', 'list', '--output=j'])]).toEqual([shell, ['--output=json']])
  })

  it('offer all commands that help shows', () => {
    const program = buildProgram({ context: fakeContext().context, config: defaultConfig, onExit: () => undefined })
    const shown = program
      .createHelp()
      .visibleCommands(program)
      .map((command) => command.name())
    expect(ask('bash', [''])).toEqual(shown.filter((name) => name !== 'help'))
  })
})
