import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { runDemo } from './support/demo.js'
import { haproxyPackage } from './support/haproxy-package.js'
import type { LoadedClass } from './support/mesh.js'

/** What `osm demo --once --json` ends with, as far as it concerns what was seen of requests. */
interface Seen {
  readonly expectations: readonly { readonly ok: boolean }[]
  readonly split: readonly { readonly ok: boolean }[]
  readonly mtls: { readonly handshakes: readonly { readonly ok: boolean }[] }
  readonly proxies: readonly { readonly class: string; readonly state: string }[]
}

describe('a mesh whose driver is a package that a list names', () => {
  let folder: string
  let loaded: LoadedClass

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-haproxy-package-'))
    loaded = await haproxyPackage(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('carries the bookstore: who may, who may not, splits and mutual TLS', async () => {
    const { name: driver, list, sidecar } = loaded
    const options = ['--class', driver, '--sidecar', `${driver}=${sidecar}`, '--driver-packages', list]
    const { result, trail } = await runDemo([...options, '--seconds', '8'])
    const { expectations, split, mtls, proxies } = result as unknown as Seen
    const checks = { expectations, split, handshakes: mtls.handshakes }
    for (const [name, all] of Object.entries(checks)) {
      expect([name, all.length > 0]).toEqual([name, true])
      expect([name, all.filter(({ ok }) => !ok), trail]).toEqual([name, [], trail])
    }
    expect(new Set(proxies.map((proxy) => `${proxy.class} ${proxy.state}`))).toEqual(new Set(['haproxy applied']))
  })
})
