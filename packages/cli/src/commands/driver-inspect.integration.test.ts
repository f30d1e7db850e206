import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { bundleModule } from '../../../../tools/lib/bundle.mjs'
import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

const packages = join(import.meta.dirname, '../../../driver-process/test/packages')
let programFolder: string

beforeAll(async () => {
  programFolder = await mkdtemp(join(tmpdir(), 'osm-cli-'))
  await bundleModule('packages/driver-process/src/driver-host-main.ts', join(programFolder, 'osm-driver-host.mjs'))
})
afterAll(() => rm(programFolder, { recursive: true }))

async function inspect(...args: readonly string[]) {
  const { context, stdout, stderr } = fakeContext({ cwd: packages, programFolder })
  const code = await runCli(['driver', 'inspect', ...args], context)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

describe('osm driver inspect', () => {
  it('tells the digest of a package and what its driver declares', async () => {
    const { code, stdout, stderr } = await inspect('failing', '--run')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^integrity {6}sha512-[A-Za-z0-9+/]{86}==$/m)
    expect(stdout).toMatch(/^class {10}failing$/m)
    expect(stdout).toMatch(/^version {8}1\.2\.3$/m)
    expect(stdout).toMatch(/^ {2}protocols {10}http$/m)
    const json = await inspect('failing', '--run', '-o', 'json')
    const [, integrity] = /^integrity +(\S+)$/m.exec(stdout) ?? []
    expect(JSON.parse(json.stdout)).toMatchObject({
      integrity,
      driver: { name: 'failing', contract: { min: 1, max: 1 } },
    })
  })

  it('shows the reason a host would refuse a package, and its digest all the same', async () => {
    const { code, stdout } = await inspect('later-contract', '--run')
    expect(code).toBe(1)
    expect(stdout).toContain('integrity      sha512-')
    expect(stdout).toContain(
      'OSM_DRIVER_CONTRACT: driver later-contract supports contract versions 98 to 99, this host version 1',
    )
    const json = await inspect('throws-at-load', '--run', '-o', 'json')
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { refused: { code: 'OSM_DRIVER_LOAD' } }])
  })

  it('runs nothing of a package without --run, and shows its name, version, entry and digest', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-inspected-'))
    const mark = join(folder, '..', `${basename(folder)}.ran`)
    try {
      const manifest = { name: 'marks', version: '1.2.3', type: 'module', main: 'index.js' }
      await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
      await writeFile(
        join(folder, 'index.js'),
        `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(mark)}, '')\nexport const createDriver = 1\n`,
      )
      const { code, stdout, stderr } = await inspect(folder)
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(/^integrity {6}sha512-\S+\npackage {8}"marks" "1\.2\.3"\nentry {10}"index\.js"\n$/)
      expect(existsSync(mark)).toBe(false)
      // The package does leave its mark when it is run.
      await inspect(folder, '--run')
      expect(existsSync(mark)).toBe(true)
    } finally {
      await rm(folder, { recursive: true })
      await rm(mark, { force: true })
    }
  })

  it('says that there is no such folder', async () => {
    const { code, stderr } = await inspect('nowhere')
    expect(code).toBe(1)
    expect(stderr).toContain('OSM_DRIVER_INTEGRITY')
  })
})
