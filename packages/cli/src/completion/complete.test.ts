import { describe, expect, it } from '@jest/globals'
import { Command, Option } from 'commander'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'
import { complete, completionLines } from './complete.js'

describe('osm __complete', () => {
  const ask = async (...args: readonly string[]): Promise<string> => {
    const { context, stdout } = fakeContext()
    expect(await runCli(['__complete', ...args], context)).toBe(0)
    return stdout.text
  }

  it('prints each word with its meaning, and what else is possible there', async () => {
    expect(await ask('--current=valid', '--', 'standalone')).toMatch(/^validate\t\S.*\n:none\n$/)
    expect(await ask('--current=', '--', 'inject', '-f')).toBe(':files\n')
  })

  it('takes flags before the cursor for words of the line that is completed', async () => {
    expect(await ask('--current=j', '--', 'proxy', 'list', '--kubeconfig', 'x', '--output')).toMatch(/^json\t/)
    expect(await ask('--current=--output=j', '--', '--verbose', 'proxy', 'list')).toMatch(/^--output=json\t/)
  })

  it('is not shown by help', async () => {
    const { context, stdout } = fakeContext()
    await runCli(['--help'], context)
    expect(stdout.text).not.toContain('__complete')
  })
})

describe('complete', () => {
  const words = (program: Command, previous: readonly string[], current: string): readonly string[] =>
    complete(program, previous, current).offered.map(({ word }) => word)

  it('leaves out what help hides', () => {
    const program = new Command('osm').addOption(new Option('--secret').hideHelp())
    program.command('gone', { hidden: true })
    expect(words(program, [], '')).toEqual([])
    expect(words(program, [], '--')).not.toContain('--secret')
  })

  it('offers the options of the commands above, but not their help', () => {
    const program = new Command('osm').version('1').option('--verbose').option('-o, --output <x>', 'theirs')
    program.command('go').addOption(new Option('-o, --output <x>', 'own').choices(['a;b', 'c']))
    expect(words(program, ['go'], '--')).toEqual(['--output', '--help', '--verbose'])
    expect(complete(program, ['go', '-o'], 'a').offered).toEqual([{ word: 'a;b', description: 'own' }])
  })

  it('offers files for arguments without choices, as far as the command takes any', () => {
    const program = new Command('osm')
    program.command('one').argument('<file>')
    program.command('many').argument('[files...]')
    expect(complete(program, ['one'], '')).toEqual({ offered: [], files: true })
    expect(complete(program, ['one', 'a'], '')).toEqual({ offered: [], files: false })
    expect(complete(program, ['many', 'a', 'b'], '')).toEqual({ offered: [], files: true })
  })

  it('keeps each word on its own line', () => {
    const offered = [{ word: 'go', description: 'two\nlines\tand a tab' }]
    expect(completionLines({ offered, files: false })).toBe('go\ttwo lines and a tab\n:none\n')
  })
})
