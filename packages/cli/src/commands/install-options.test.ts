import { describe, expect, it } from '@jest/globals'
import { Command } from 'commander'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'
import { isOn, switchOption, withChartOptions } from './install-options.js'

function parse(...args: readonly string[]): Readonly<Record<string, unknown>> {
  const command = withChartOptions(new Command('install'))
    .addOption(switchOption('--careful', '', true))
    .addOption(switchOption('--bold', '', false))
  return command.parse(args, { from: 'user' }).opts()
}

describe('the options of an installation', () => {
  it('have the defaults of OSM', () => {
    expect(parse()).toEqual({ meshName: 'osm', set: [], timeout: '5m', careful: true, bold: false })
  })

  it('keep every --set as it is, commas, spaces and all', () => {
    expect(parse('--set', 'a=1,b=2', '--set=c=x y;$(z)', '--set', '-d=--e')['set']).toEqual([
      'a=1,b=2',
      'c=x y;$(z)',
      '-d=--e',
    ])
  })

  it.each([
    ['90s', '90s'],
    ['1h30m', '1h30m'],
    ['1.5m', '1.5m'],
    ['0', '8760h'],
    ['0s', '8760h'],
    ['0.0m', '8760h'],
  ])('read the time %s as %s', (given, expected) => {
    expect(parse('--timeout', given)['timeout']).toBe(expected)
  })

  it.each<[string[], boolean, boolean]>([
    [['--careful', '--bold'], true, true],
    [['--careful=false', '--bold=true'], false, true],
    [['--careful', 'false', '--bold', 'false'], false, false],
  ])('read switches from %j', (args, careful, bold) => {
    const found = parse(...args)
    expect([isOn(found['careful'] as string), isOn(found['bold'] as string)]).toEqual([careful, bold])
  })

  it.each([
    ['--timeout', 'soon'],
    ['--timeout', '5'],
    ['--timeout', '-5m'],
    ['--mesh-name', 'Big'],
    ['--mesh-name', 'a,b=c'],
    ['--mesh-name', '-x'],
    ['--mesh-name', 'x'.repeat(54)],
    ['--enforce-single-mesh=perhaps'],
  ])('refuse %s %s as a wrong command line', async (...args) => {
    const { context, stderr } = fakeContext()
    expect(await runCli(['install', ...args], context)).toBe(2)
    expect(stderr.text).toContain(args.join(' ').split(/[ =]/)[0] ?? '')
  })
})
