import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { KeyForms, keysInMemory, privateKeysIn } from './support/key-search.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { account, meshConfig, service, workload } from './support/yaml.js'

const recorder = pathToFileURL(fileURLToPath(new URL('support/record-streams.mjs', import.meta.url))).href
const workloads = ['shop/client', 'shop/store'] as const

const files = (serviceCertificates: 'shared' | 'perProxy') => ({
  'config.yaml': [
    meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true }, certificate: { serviceCertificates } }),
  ],
  'workloads.yaml': [
    ...workloads.map((name) => account(name)),
    workload('shop/client', { program: programs.idle }),
    workload('shop/store', { program: programs.http, port: 8080, app: 'store' }),
    service('shop/store', 'store', 8080),
  ],
})

/** A place where keys are looked for, and what it contains. */
interface Place {
  readonly name: string
  readonly content: Buffer
}

/** Every file below a folder. Sockets and the like have no content. */
function filesIn(folder: string): readonly Place[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => ({ name, content: readFileSync(join(folder, name)) }))
}

/** A mesh with a controller that can be searched. */
class SearchedMesh {
  readonly mesh: TestMesh
  readonly #scratch: string

  private constructor(mesh: TestMesh, scratch: string) {
    this.mesh = mesh
    this.#scratch = scratch
  }

  static async start(serviceCertificates: 'shared' | 'perProxy'): Promise<SearchedMesh> {
    const scratch = mkdtempSync(join(tmpdir(), 'osm-keys-'))
    const environment = {
      NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${scratch} --import=${recorder}`,
      OSM_TEST_RECORD: join(scratch, 'streams'),
    }
    const options = { environment }
    const mesh = await startTestMesh(files(serviceCertificates), options)
    const ask = () => throughProxy(mesh.proxyOf('shop/client'), 'http://store.shop:8080/books/1')
    await eventually(ask, ({ status }) => status === 200)
    return new SearchedMesh(mesh, scratch)
  }

  async stop(): Promise<void> {
    await this.mesh.stop()
    rmSync(this.#scratch, { recursive: true, force: true })
  }

  /** What the controller has sent to the sidecars, before TLS. */
  get sent(): readonly Place[] {
    return filesIn(join(this.#scratch, 'streams'))
  }

  /** Keys in the files of the state folder, PEM, by file. */
  keyFiles(): ReadonlyMap<string, readonly string[]> {
    const keys = filesIn(this.mesh.stateFolder).map(
      ({ name, content }) => [name, privateKeysIn(content.toString('latin1'))] as const,
    )
    return new Map(keys.filter(([, found]) => found.length > 0))
  }

  /** Keys of proxy certificates, each in the folder of its sidecar. */
  proxyKeys(): readonly KeyForms[] {
    const found = [...this.keyFiles()].filter(([name]) => !name.startsWith('ca/'))
    return found.flatMap(([, keys]) => keys.map((key) => new KeyForms(key)))
  }

  rootKeys(): readonly KeyForms[] {
    const found = [...this.keyFiles()].filter(([name]) => name.startsWith('ca/'))
    return found.flatMap(([, keys]) => keys.map((key) => new KeyForms(key)))
  }

  /** Keys of workloads that were sent to sidecars. */
  sentKeys(): readonly KeyForms[] {
    const keys = this.sent.flatMap(({ content }) => privateKeysIn(content.toString('latin1')))
    return [...new Set(keys)].map((key) => new KeyForms(key))
  }

  /** Public keys of the service certificates in use, PEM. */
  async servicePublicKeys(): Promise<readonly string[]> {
    const chains = await Promise.all(workloads.map((name) => this.#adminPage(name, '/certs')))
    const sent = this.sent.map(({ content }) => content.toString('latin1')).join('\n')
    const certificates = [...sent.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)]
    const leaves = certificates.map(([pem]) => new X509Certificate(pem)).filter(({ ca }) => !ca)
    // Envoy writes serial numbers without leading zeros, in lower case.
    const used = leaves.filter(
      ({ serialNumber }) =>
        chains.every((page) => page.includes('serial_number')) &&
        chains.some((page) => page.includes(serialNumber.toLowerCase().replace(/^0+/, ''))),
    )
    const keys = used.map(({ publicKey }) => String(publicKey.export({ type: 'spki', format: 'pem' })))
    return [...new Set(keys)]
  }

  async #adminPage(name: string, path: string): Promise<string> {
    const { admin } = this.mesh.instance(name)
    return (await fetch(`http://${admin?.address}:${admin?.port}${path}`)).text()
  }

  /** Pages of the controller and of the sidecars, logs, and what the mesh says to its user. */
  async shown(): Promise<readonly Place[]> {
    const { mesh } = this
    const places: Place[] = []
    for (const path of (await mesh.debug('/debug')).trim().split('\n'))
      places.push({ name: path, content: Buffer.from(await answerOf(mesh, path)) })
    for (const { uuid } of await mesh.statuses()) {
      const path = `/debug/policy?uuid=${uuid}`
      places.push({ name: path, content: Buffer.from(await answerOf(mesh, path)) })
    }
    for (const name of workloads)
      for (const path of ['/config_dump?include_eds', '/certs', '/clusters', '/listeners', '/server_info', '/stats'])
        places.push({ name: `${name} ${path}`, content: Buffer.from(await this.#adminPage(name, path)) })
    places.push({ name: 'events', content: Buffer.from(JSON.stringify(mesh.events)) })
    return places
  }

  /** Everything that the JavaScript of the controller can reach. */
  async heap(): Promise<Buffer> {
    const pid = this.controllerPid()
    const before = new Set(readdirSync(this.#scratch))
    process.kill(pid, 'SIGUSR2')
    const path = await eventually(
      () => readdirSync(this.#scratch).find((name) => name.endsWith('.heapsnapshot') && !before.has(name)),
      (name) => name !== undefined,
      { what: 'a heap snapshot', timeoutMs: 120_000 },
    )
    const file = join(this.#scratch, path ?? '')
    // It is there before it is whole; the controller answers when it is.
    await this.mesh.debug('/debug')
    const heap = readFileSync(file)
    expect(heap.subarray(-8).toString('latin1').trimEnd().endsWith(']}')).toBe(true)
    return heap
  }

  controllerPid(): number {
    const pid = this.mesh.mesh.controllerPid()
    if (pid === undefined) throw new Error('no controller runs')
    return pid
  }
}

/** A page that asks for a parameter is answered with an error, which is searched as well. */
async function answerOf(mesh: TestMesh, path: string): Promise<string> {
  const url = mesh.mesh.controllerUrl()
  if (url === undefined) throw new Error('the controller does not answer')
  return (await fetch(`${url}${path}`)).text()
}

/** Places that have one of the keys, by name. */
const placesOf = (keys: readonly KeyForms[], places: readonly Place[]): readonly string[] =>
  places.filter(({ content }) => keys.some((key) => key.isIn(content))).map(({ name }) => name)

const publicKeysOf = (keys: readonly KeyForms[]): readonly string[] => keys.map(({ publicKey }) => publicKey).sort()

describe.each(['perProxy', 'shared'] as const)('the keys of workloads with %s service certificates', (mode) => {
  let searched: SearchedMesh

  beforeAll(async () => {
    searched = await SearchedMesh.start(mode)
  })
  afterAll(async () => {
    await searched.stop()
  })

  /** Keys that sidecars prove to each other: those of their proxy certificates, or those that were sent. */
  const workloadKeys = () => (mode === 'perProxy' ? searched.proxyKeys() : searched.sentKeys())

  it('are those of the service certificates that the sidecars use', async () => {
    expect(workloadKeys()).toHaveLength(workloads.length)
    expect(await searched.servicePublicKeys()).toEqual(expect.arrayContaining([...publicKeysOf(workloadKeys())]))
  })

  it(`are ${mode === 'shared' ? '' : 'not '}in what the controller sends to sidecars`, () => {
    const { sent } = searched
    expect(sent.some(({ content }) => content.includes('-----BEGIN CERTIFICATE-----'))).toBe(true)
    expect(placesOf(workloadKeys(), sent)).toHaveLength(mode === 'shared' ? workloads.length : 0)
    // No other key is sent either: not those of proxy certificates, and not those of roots.
    expect(placesOf([...searched.proxyKeys(), ...searched.rootKeys()], sent)).toEqual([])
    expect(searched.sentKeys()).toHaveLength(mode === 'shared' ? workloads.length : 0)
  })

  it('are in no log, no debug page and no event', async () => {
    const shown = await searched.shown()
    expect(shown.length).toBeGreaterThan(20)
    expect(placesOf([...workloadKeys(), ...searched.proxyKeys(), ...searched.rootKeys()], shown)).toEqual([])
  })

  it('are in no file but the key file of their own sidecar', () => {
    const state = filesIn(searched.mesh.stateFolder)
    expect(state.some(({ name }) => name.endsWith('.log'))).toBe(true)
    const own = searched.proxyKeys().map((key) => placesOf([key], state))
    for (const places of own) expect(places).toEqual([expect.stringMatching(/\/sds_key\.pem$/)])
    expect(new Set(own.flat()).size).toBe(workloads.length)
    expect(placesOf(searched.rootKeys(), state).every((name) => name.startsWith('ca/'))).toBe(true)
    if (mode === 'shared') expect(placesOf(workloadKeys(), state)).toEqual([])
  })

  it(`are ${mode === 'shared' ? '' : 'not '}in the heap and the memory of the controller`, async () => {
    const [keys, roots, proxies] = [workloadKeys(), searched.rootKeys(), searched.proxyKeys()]
    const heap = await searched.heap()
    expect(heap.includes('-----BEGIN CERTIFICATE-----')).toBe(true)
    expect(publicKeysOf(keys.filter((key) => key.isIn(heap)))).toEqual(mode === 'shared' ? publicKeysOf(keys) : [])
    expect(proxies.filter((key) => key.isIn(heap))).toEqual([])
    // What signs is there in both modes, which shows that the memory was searched.
    const inMemory = keysInMemory(searched.controllerPid(), [...roots, ...proxies])
    expect(publicKeysOf(inMemory)).toEqual(publicKeysOf(roots))
  })
})
