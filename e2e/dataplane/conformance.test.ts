import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runConformance } from '@osm-ts/driver-testkit'

import { bundleModule } from '../../tools/lib/bundle.mjs'
import { envoyBinary } from './support/mesh.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What a report says, as far as it matters here. */
interface Reported {
  readonly level: number
  readonly environment: { readonly osm: string; readonly proxy: string }
  readonly results: readonly { readonly id: string; readonly outcome: string; readonly reason?: string }[]
}

// That drivers pass it is what `npm test -- conformance` shows.
describe('level 1 of the conformance suite', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-conformance-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Runs it as its program does, but for the module of actors, which is compiled for tests. */
  const run = async (...args: readonly string[]) => {
    const said = { out: '', err: '' }
    const code = await runConformance(
      [
        ...args,
        '--level',
        '1',
        '--osm',
        join(root, 'packages/cli/dist/osm.mjs'),
        '--proxy',
        envoyBinary(),
        '-o',
        'json',
      ],
      {
        folder,
        environment: process.env,
        node: process.version,
        platform: `${process.platform} ${process.arch}`,
        signal: new AbortController().signal,
        now: () => new Date(),
        out: (text) => void (said.out += text),
        err: (text) => void (said.err += text),
        actor: join(root, 'e2e/dist/scenario-actor.mjs'),
      },
    )
    return { code, ...said }
  }

  /** Writes a package as a third party publishes it: the module of a driver, with everything inside. */
  const packageOf = async (name: string, entry: string) => {
    await bundleModule(entry, join(folder, name, 'main.js'))
    await writeFile(
      join(folder, name, 'package.json'),
      JSON.stringify({ name: `driver-${name}`, version: '1.2.3', type: 'module', exports: './main.js' }),
    )
  }

  it('catches a driver that forgets which requests are allowed', async () => {
    await packageOf('permissive', 'e2e/dataplane/support/permissive-driver.ts')
    const only = 'scenario.smi-traffic-target.the-allowed-account'
    const { code, out, err } = await run('--driver', 'permissive', '--only', only, '--report', 'reports')
    const { level, environment, results } = JSON.parse(out) as Reported
    const [result] = results
    expect([result?.outcome, err]).toEqual(['failed', err])
    // It is refused for that alone: who may call at all is kept.
    expect(result?.reason).toContain('POST http://store.shop:8080/buy')
    expect(result?.reason).toContain('status 200 instead of 403')
    expect(code).toBe(1)
    expect(level).toBe(1)
    expect(environment.proxy).toContain('version')
    const page = await readFile(join(folder, 'reports/conformance.html'), 'utf8')
    expect(page).toContain('Level 1')
    expect(page).not.toContain(folder)
  }, 600_000)
})
