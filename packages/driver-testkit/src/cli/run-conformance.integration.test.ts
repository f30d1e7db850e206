import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'

import { smallDriver } from '../../test/small-driver.js'
import type { Report } from './report.js'
import { runConformance } from './run-conformance.js'

describe('the command line of the conformance suite', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'conformance-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** A package whose driver declares that, and that receives no requests. */
  const packageOf = (name: string, changes: object): void => {
    mkdirSync(join(folder, name))
    const driver = JSON.stringify({ ...smallDriver(), ...changes })
    const manifest = { name: 'a-driver', version: '1.2.3', type: 'module', exports: { '.': { default: './main.js' } } }
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, name, 'main.js'), `export default () => ({ ...${driver}, patch() {}, start() {} })\n`)
  }
  const run = async (...args: readonly string[]) => {
    const said = { out: '', err: '' }
    const code = await runConformance(args, {
      folder,
      environment: process.env,
      node: 'v20.0.0',
      platform: 'linux x64',
      signal: new AbortController().signal,
      now: () => new Date('2030-01-01T00:00:00Z'),
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
    })
    return { code, ...said }
  }

  it('says what passed and what did not, and writes reports that can be published', async () => {
    packageOf('future', { contract: { min: 98, max: 99 }, name: 'small' })
    const { code, out } = await run('--driver', 'future', '--only', 'contract.', '--report', 'reports')
    expect(code).toBe(1)
    expect(out).toMatch(/^ok +contract\.shape /m)
    expect(out).toMatch(
      /^FAILED +contract\.version .*\n +OsmError OSM_DRIVER_CONTRACT: driver small supports contract versions 98 to 99, this host version 1; upgrade the control plane$/m,
    )
    expect(out).toMatch(/3 passed, 1 failed, 0 not claimed\n$/)
    const written = parse(readFileSync(join(folder, 'reports/conformance.yaml'), 'utf8')) as Report
    expect(written).toMatchObject({
      level: 0,
      date: '2030-01-01T00:00:00.000Z',
      driver: { name: 'a-driver', version: '1.2.3', sidecarClass: 'small', contract: { min: 98, max: 99 } },
      summary: { passed: 3, failed: 1, notClaimed: 0 },
    })
    const page = readFileSync(join(folder, 'reports/conformance.html'), 'utf8')
    expect(page).toContain('driver small supports contract versions 98 to 99, this host version 1')
    for (const text of [page, JSON.stringify(written)]) expect(text).not.toContain(folder)
  })

  it.each([
    [
      'has not the class of the driver',
      { sidecar: { sidecarClass: 'large' } },
      'the mesh has no class small: load the driver into its control plane, or name another class of it with --sidecar-class; there are large',
    ],
    [
      'lets everybody in',
      { sidecar: { sidecarClass: 'small' }, traffic: { enablePermissiveTrafficPolicyMode: true } },
      '"enablePermissiveTrafficPolicyMode":false',
    ],
  ])('makes nothing in a cluster whose mesh %s', async (_what, spec, words) => {
    const answers = {
      version: { serverVersion: { gitVersion: 'v1.2.3' } },
      'get deployment/osm-controller': { metadata: {}, spec: { template: { spec: { containers: [] } } } },
      'get meshconfig.config.openservicemesh.io/osm-mesh-config': { spec },
    }
    const script = Object.entries(answers).map(
      ([command, value]) => `  "${command}"*) echo '${JSON.stringify(value)}' ;;`,
    )
    const kubectl = join(mkdtempSync(join(folder, 'kubectl-')), 'kubectl')
    // Whatever else it is asked fails, with the words of no one.
    writeFileSync(kubectl, `#!/bin/sh\ncase "$*" in\n${script.join('\n')}\n  *) exit 9 ;;\nesac\n`, { mode: 0o755 })
    packageOf(`clustered-${words.length}`, { name: 'small' })
    const { code, err } = await run('--driver', `clustered-${words.length}`, '--level', '2', '--kubectl', kubectl)
    expect(err).toContain(words)
    expect(code).toBe(2)
  })

  it('says of checks that need a stand-in that there is none', async () => {
    packageOf('mute', { name: 'small' })
    const { code, out } = await run('--driver', 'mute', '--only', 'policy.same')
    expect(out).toMatch(/0 passed, 0 failed, 1 not claimed\n$/)
    expect(code).toBe(0)
  })

  it('writes what a driver says as text into its page', async () => {
    packageOf('rude', { contract: '<script>alert(1)</script>' })
    await run('--driver', join(folder, 'rude'), '--only', 'contract.version', '--report', 'escaped')
    const page = readFileSync(join(folder, 'escaped/conformance.html'), 'utf8')
    expect(page).not.toContain('<script')
    expect(page).toContain('&#60;script')
  })

  it.each([
    ['json', (text: string): unknown => JSON.parse(text)],
    ['yaml', (text: string): unknown => parse(text)],
  ] as const)('prints %s', async (format, read) => {
    const { out } = await run('--driver', './future', '--only', 'contract.shape', '-o', format)
    expect(read(out)).toMatchObject({ results: [{ id: 'contract.shape', outcome: 'passed' }] })
  })

  it.each([
    ['no driver', [], '--driver is missing'],
    ['a package that is not there', ['--driver', 'nothing-there'], 'no package nothing-there is installed'],
    [
      'a stand-in that is not there',
      ['--driver', 'future', '--stand-in', 'x.js'],
      'x.js, which is to speak for the pro',
    ],
    ['an invalid stand-in', ['--driver', 'future', '--stand-in', 'future/main.js'], 'exports no standIn, by that n'],
    ['an unknown check', ['--driver', 'future', '--only', 'nonsense'], 'the checks are contract.shape, '],
    ['an unknown level', ['--driver', 'future', '--level', '3'], '--level 3: expected 0, 1 or 2'],
    [
      'level 2 without a kubectl',
      ['--driver', 'future', '--level', '2', '--kubectl', './nothing-there'],
      'level 2 takes a cluster with the mesh in namespace osm-system',
    ],
    [
      'a kubeconfig that is not there',
      ['--driver', 'future', '--level', '2', '--kubeconfig', 'nothing-there'],
      'there is no nothing-there, which --kubeconfig names',
    ],
    ['level 1 without a program for meshes', ['--driver', 'future', '--level', '1'], 'install @osm-ts/cli, or name'],
    [
      'level 1 without a proxy',
      ['--driver', 'future', '--level', '1', '--osm', 'future/main.js'],
      'with --proxy, or in SMALL_BIN',
    ],
    [
      'another mode than there is',
      ['--driver', 'future', '--level', '1', '--mode', 'magic'],
      '--mode magic: expected explicit or transparent',
    ],
    [
      'transparent mode where it may not be set up, with the command that may',
      ['--driver', 'future', '--level', '1', '--mode', 'transparent'],
      'npx driver-testkit --driver a-driver --level 1 --mode transparent --proxy <executable>',
    ],
    ['an unknown format', ['--driver', 'future', '-o', 'xml'], 'expected table, json, yaml'],
    ['an unknown option', ['--drivers', '.'], "Unknown option '--drivers'"],
    ['an invalid configuration', ['--driver', 'future', '--config', 'future/main.js'], '--config future/main.js: '],
  ])('refuses %s', async (_what, args, words) => {
    const { code, err } = await run(...args)
    expect(code).toBe(2)
    expect(err).toContain(words)
  })
})
