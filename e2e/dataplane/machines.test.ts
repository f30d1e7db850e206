import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { listedProviders } from '@osm-ts/driver-process'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { clientMayCallStore } from './support/store.js'
import { throughProxy } from './support/traffic.js'
import { account, service, trafficSplit, workload } from './support/yaml.js'

const PORT = 8080
const http = { protocol: 'http' }
const policy = [...clientMayCallStore, account('shop/stranger')]

/** What the debug page of endpoints says of a provider. */
interface ProviderState {
  readonly id: string
  readonly state?: string
  readonly faults?: readonly { readonly code: string }[]
}

// A machine has a sidecar and a control plane of its own, which share the roots of the mesh. The mesh learns its address by a provider alone.
describe('a service whose endpoints are a process of the mesh and a machine outside of it', () => {
  let folder: string
  let mesh: TestMesh
  let machine: TestMesh

  /** Writes the file of the provider: the machine behind these services, by the listeners of its sidecar. */
  async function announce(services: readonly string[], more: readonly unknown[] = []): Promise<void> {
    const entries = await Promise.all(
      services.map(async (name) => {
        const page = JSON.parse(await machine.debug(`/debug/services?service=shop/${name}`)) as {
          readonly endpoints: readonly { readonly address: string; readonly port: number }[]
        }
        const instances = page.endpoints.map(({ address, port }) => ({
          id: 'rack-7',
          addresses: [address],
          ports: [{ name: 'main', port }],
          serviceAccount: 'store',
          sidecar: {},
        }))
        return { service: { namespace: 'shop', name }, instances: [...instances, ...more] }
      }),
    )
    await write(JSON.stringify({ services: entries }))
  }

  async function write(text: string): Promise<void> {
    await writeFile(join(folder, 'new'), text)
    await rename(join(folder, 'new'), join(folder, 'instances.yaml'))
  }

  /** Answers by server, or by status without one. */
  async function answers(url: string, times: number, from = 'shop/client'): Promise<Readonly<Record<string, number>>> {
    const found: Record<string, number> = {}
    for (let n = 0; n < times; n += 1) {
      const { status, server } = await throughProxy(mesh.proxyOf(from), url)
      const name = status === 200 ? (server ?? '') : String(status)
      found[name] = (found[name] ?? 0) + 1
    }
    return found
  }

  async function provider(): Promise<ProviderState | undefined> {
    const { providers } = JSON.parse(await mesh.debug('/debug/endpoints')) as {
      readonly providers: readonly ProviderState[]
    }
    return providers.find(({ id }) => id === 'file')
  }

  const serversOf = (url: string, expected: readonly string[]) =>
    eventually(
      () => answers(url, 20),
      (found) => Object.keys(found).sort().join() === expected.join(),
      { what: `that ${expected.join(' and ')} answer at ${url}` },
    )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-machines-'))
    await write('services: []')
    const list = JSON.stringify({
      providers: [{ name: 'file', settings: { path: join(folder, 'instances.yaml') } }],
    })
    mesh = await startTestMesh(
      {
        'mesh.yaml': [
          ...policy,
          workload('shop/client', { program: programs.idle }),
          workload('shop/stranger', { program: programs.idle }),
          workload('shop/process', { program: programs.http, port: PORT, account: 'store' }),
          service('shop/store', 'process', PORT, http),
          service('shop/store-process', 'process', PORT, http),
          service('shop/store-machine', {}, PORT, http),
          service('shop/both', 'process', PORT, http),
          trafficSplit('shop/store', 'store', { 'store-process': 70, 'store-machine': 30 }),
        ],
      },
      { endpointsProviders: await listedProviders(list, {}) },
    )
    machine = await startTestMesh(
      {
        'machine.yaml': [
          ...policy,
          workload('shop/machine', { program: programs.http, port: PORT, account: 'store' }),
          service('shop/store-machine', 'machine', PORT, http),
          service('shop/both', 'machine', PORT, http),
        ],
      },
      { peer: mesh },
    )
    await announce(['store-machine', 'both'])
  })
  afterAll(async () => {
    await machine.stop()
    await mesh.stop()
    await rm(folder, { recursive: true })
  })

  it('are behind one split, with mutual TLS and policy on each', async () => {
    await serversOf('http://store.shop:8080/', ['machine', 'process'])
    const found = await answers('http://store.shop:8080/', 300)
    expect(Object.keys(found).sort()).toEqual(['machine', 'process'])
    expect(found['machine']).toBeGreaterThan(50)
    expect(found['machine']).toBeLessThan(130)
    await expect(answers('http://store-machine.shop:8080/', 5, 'shop/stranger')).resolves.toEqual({ 403: 5 })
  })

  it('share one Service, and leave it when they are removed from the file', async () => {
    await serversOf('http://both.shop:8080/', ['machine', 'process'])
    await announce(['store-machine'])
    await serversOf('http://both.shop:8080/', ['process'])
    await announce(['store-machine', 'both'])
    await serversOf('http://both.shop:8080/', ['machine', 'process'])
  })

  it('keeps the machine while the provider fails, and refuses addresses of cloud metadata', async () => {
    await write('services: 5')
    await eventually(provider, (it) => it?.state === 'failing', { what: 'that the provider fails' })
    const codes = (await mesh.problems()).map(({ code }) => code)
    expect(codes).toContain('OSM_ENDPOINTS_PROVIDER_FAILED')
    await expect(answers('http://store-machine.shop:8080/', 10)).resolves.toEqual({ machine: 10 })
    await announce(
      ['store-machine', 'both'],
      [{ id: 'thief', addresses: ['169.254.169.254'], serviceAccount: 'store' }],
    )
    await eventually(provider, (it) => it?.state === 'ok' && it.faults?.[0]?.code === 'OSM_ENDPOINTS_ADDRESS', {
      what: 'that the address is refused',
    })
    await expect(answers('http://store-machine.shop:8080/', 10)).resolves.toEqual({ machine: 10 })
  })

  it('loses no request while the control plane restarts', async () => {
    const found: Record<string, number>[] = []
    await mesh.restartController(async () => {
      found.push(await answers('http://store-machine.shop:8080/', 200))
    })
    found.push(await answers('http://store-machine.shop:8080/', 50))
    expect(found).toEqual([{ machine: 200 }, { machine: 50 }])
  })
})
