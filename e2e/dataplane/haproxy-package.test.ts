import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { packageIntegrity } from '@osm-ts/driver-process'

import { bundleModule } from '../../tools/lib/bundle.mjs'
import { runDemo } from './support/demo.js'

const agent = new URL('../../examples/driver-haproxy/agent/main.mjs', import.meta.url).pathname

/** What `osm demo --once --json` ends with, as far as it concerns what was seen of requests. */
interface Seen {
  readonly expectations: readonly { readonly ok: boolean }[]
  readonly split: readonly { readonly ok: boolean }[]
  readonly mtls: { readonly handshakes: readonly { readonly ok: boolean }[] }
  readonly proxies: readonly { readonly class: string; readonly state: string }[]
}

describe('a mesh whose driver is a package that a list names', () => {
  let folder: string
  let list: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-package-'))
    const path = join(folder, 'package')
    await bundleModule('examples/driver-haproxy/src/index.ts', join(path, 'main.js'))
    const manifest = { name: 'osm-driver-haproxy', version: '0.1.0', type: 'module', exports: './main.js' }
    await writeFile(join(path, 'package.json'), JSON.stringify(manifest))
    list = JSON.stringify({ drivers: [{ name: 'haproxy', path, integrity: await packageIntegrity(path) }] })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const sidecar = ['--class', 'haproxy', '--sidecar', `haproxy=${agent}`]

  it('carries the bookstore: who may, who may not, splits and mutual TLS', async () => {
    const { result, trail } = await runDemo([...sidecar, '--driver-packages', list, '--seconds', '8'])
    const { expectations, split, mtls, proxies } = result as unknown as Seen
    const checks = { expectations, split, handshakes: mtls.handshakes }
    for (const [name, all] of Object.entries(checks)) {
      expect([name, all.length > 0]).toEqual([name, true])
      expect([name, all.filter(({ ok }) => !ok), trail]).toEqual([name, [], trail])
    }
    expect(new Set(proxies.map((proxy) => `${proxy.class} ${proxy.state}`))).toEqual(new Set(['haproxy applied']))
  }, 120_000)
})
