import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type TestMesh, startTestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { Spire } from './support/spire.js'
import { shopEntries } from './support/svid-entries.js'
import { load, throughProxy } from './support/traffic.js'

/** Those that talk to others: a sidecar that no one may call has no certificate. */
const workloads = ['client', 'thief', 'store-v1', 'store-v2', 'store-v3']

interface EnvoyCertificates {
  readonly certificates: readonly { readonly cert_chain: readonly EnvoyCertificate[] }[]
}

interface EnvoyCertificate {
  readonly subject_alt_names: readonly { readonly uri?: string; readonly dns?: string }[]
  readonly serial_number: string
}

describe('a mesh whose sidecars take their certificates from a real SPIRE', () => {
  let folder: string
  let spire: Spire
  let mesh: TestMesh

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-spire-'))
    spire = await Spire.start(folder)
    await spire.register(shopEntries)
    mesh = await startTestMesh(shop(), { workloadApiSocket: spire.agentSocket })
  })

  afterAll(async () => {
    await mesh.stop()
    await spire.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const ask = async (from: string, path: string, method = 'GET'): Promise<number> =>
    (await throughProxy(mesh.proxyOf(`shop/${from}`), `http://store-v1.shop:8080${path}`, { method })).status

  /** Leaves that the Envoy of a workload shows. */
  async function shown(workload: string): Promise<readonly EnvoyCertificate[]> {
    const { admin } = mesh.instance(`shop/${workload}`)
    const response = await fetch(`http://${admin?.address}:${admin?.port}/certs`)
    const { certificates } = (await response.json()) as EnvoyCertificates
    return certificates.flatMap(({ cert_chain }) => cert_chain)
  }

  /** Serial numbers of the identities that each Envoy has. */
  async function serials(): Promise<readonly string[]> {
    const certificates = (await Promise.all(workloads.map(shown))).map((leaves) =>
      leaves.filter(({ subject_alt_names: names }) => names.some(({ uri }) => uri !== undefined)),
    )
    return certificates.map((leaves) => [...new Set(leaves.map(({ serial_number }) => serial_number))].sort().join())
  }

  async function spireRoots(): Promise<number> {
    const page = JSON.parse(await mesh.debug('/debug/certs')) as { readonly trusted: readonly { source?: string }[] }
    return page.trusted.filter(({ source }) => source === 'workload-api').length
  }

  it('allows and denies calls by TrafficTargets', async () => {
    await eventually(
      () => ask('client', '/books/1'),
      (status) => status === 200,
    )
    expect(await ask('client', '/buy', 'POST')).toBe(200)
    expect(await ask('thief', '/books/1')).toBe(200)
    expect(await ask('thief', '/buy', 'POST')).toBe(403)
  })

  it('shows certificates with the identity and the names of services, of SPIRE alone', async () => {
    const names = (await shown('store-v1')).flatMap(({ subject_alt_names }) => subject_alt_names)
    expect(names).toContainEqual({ uri: 'spiffe://cluster.local/store-v1/shop' })
    expect(names).toContainEqual({ dns: 'store.shop.svc.cluster.local' })
    const page = JSON.parse(await mesh.debug('/debug/certs')) as { readonly certificates: readonly { kind: string }[] }
    expect(page.certificates.filter(({ kind }) => kind === 'service')).toEqual([])
    expect(await mesh.debug('/debug/certs')).not.toContain('PRIVATE KEY')
  })

  it('loses no request while SPIRE replaces its root', async () => {
    const before = await serials()
    const stop = load(() => throughProxy(mesh.proxyOf('shop/client'), 'http://store-v1.shop:8080/books/1'), 3)
    await spire.prepareRoot()
    await eventually(spireRoots, (count) => count === 2, { what: 'that the next root is trusted', timeoutMs: 90_000 })
    await mesh.settled()
    await spire.activateRoot()
    await eventually(serials, (now) => now.every((each, at) => each !== '' && each !== before[at]), {
      what: 'certificates of the next root, in all sidecars',
    })
    await spire.revokeRoot()
    await eventually(spireRoots, (count) => count === 1, { what: 'that the former root is gone', timeoutMs: 90_000 })
    await mesh.settled()
    expect(await ask('client', '/books/1')).toBe(200)
    const failures = await stop(100)
    expect(failures).toEqual([])
  })
})
