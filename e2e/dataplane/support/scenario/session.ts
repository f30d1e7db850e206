import { fileURLToPath } from 'node:url'

import type { MeshMode } from '@osm-ts/standalone'

import { testAuthority } from '@osm-ts/driver-testkit'
import { inside } from '../inside.js'
import { type TestMesh, startTestMesh } from '../mesh.js'
import { eventually } from '../wait.js'
import { Actors } from './actors.js'
import { type ActorSettings, meshDocument, objectKey, workloadDocuments } from './documents.js'
import type { Scenario, ScenarioObject, ScenarioStep, ScenarioWorkload } from './format.js'
import { Outside } from './outside.js'

const program = fileURLToPath(new URL('../../../dist/scenario-actor.mjs', import.meta.url))
const FILE = 'scenario.yaml'

interface Running {
  readonly mesh: TestMesh
  readonly actors: Actors
  readonly settings: ActorSettings
}

/**
 * One mesh for all scenarios of a file of tests, one scenario at a time. Each replaces the folder of the one before; workloads that both have keep
 * running, with their Envoys.
 */
export class Session {
  readonly mode: MeshMode
  readonly #authority = testAuthority('servers of scenarios')
  #running: Running | undefined
  #outside: Outside | undefined
  #spec: ScenarioObject | undefined
  #workloads = new Map<string, ScenarioWorkload>()
  #objects = new Map<string, ScenarioObject>()
  #changes = 0

  constructor(mode: MeshMode) {
    this.mode = mode
  }

  get mesh(): TestMesh {
    if (this.#running === undefined) throw new Error('the mesh of the scenarios does not run')
    return this.#running.mesh
  }

  get actors(): Actors {
    if (this.#running === undefined) throw new Error('the mesh of the scenarios does not run')
    return this.#running.actors
  }

  get outside(): Outside {
    if (this.#outside === undefined) throw new Error('no scenario has begun')
    return this.#outside
  }

  /** Puts the scenario into the place of the one before, and waits until its workloads run and every sidecar has its policy. */
  async begin(scenario: Scenario): Promise<void> {
    await this.#outside?.close()
    this.#outside = await Outside.open(scenario.outside ?? {}, this.mode, this.#authority)
    this.#spec = scenario.mesh
    this.#workloads = new Map(scenario.workloads.map((workload) => [workload.name, workload]))
    this.#objects = this.#keyed(scenario.objects ?? [])
    await this.#write()
  }

  /** Makes the changes of a step, and waits until the mesh has read them and every sidecar has what follows. */
  async change({ mesh, apply, remove, workloads }: ScenarioStep): Promise<void> {
    if ((mesh ?? apply ?? remove ?? workloads) === undefined) return
    if (mesh !== undefined) this.#spec = mesh
    for (const workload of workloads ?? []) this.#workloads.set(workload.name, workload)
    for (const key of remove ?? [])
      if (!this.#objects.delete(key))
        throw new Error(`there is no ${key} to remove; there are ${[...this.#objects.keys()].join(', ')}`)
    for (const [key, object] of this.#keyed(apply ?? [])) this.#objects.set(key, object)
    await this.#write()
  }

  /** Ends the mesh, so that the next scenario starts one: what failed may have left it in any state. */
  async stop(): Promise<void> {
    await this.#outside?.close()
    this.#outside = undefined
    const running = this.#running
    this.#running = undefined
    await running?.mesh.stop()
    await running?.actors.close()
  }

  #keyed(objects: readonly ScenarioObject[]): Map<string, ScenarioObject> {
    return new Map(objects.map((object) => this.outside.fill(object)).map((object) => [objectKey(object), object]))
  }

  async #write(): Promise<void> {
    this.#changes += 1
    const mark = `read-${this.#changes}`
    const { mesh, actors, settings } = this.#running ?? (await this.#start(mark))
    const workloads = [...this.#workloads.values()]
    // Accounts may be shared.
    const documents = new Set([
      meshDocument(this.outside.fill(this.#spec ?? {})),
      ...workloads.flatMap((workload) => workloadDocuments(workload, settings)),
      ...[...this.#objects.values()].map((object) => `${JSON.stringify(object)}\n`),
      namespaceDocument(mark),
    ])
    await mesh.write(FILE, ...[...documents].map((document) => this.located(document)))
    await eventually(
      async () => mesh.debug('/debug/namespaces'),
      (page) => page.includes(`"${mark}"`),
      { what: 'that the mesh has read the change' },
    )
    await eventually(
      () => workloads.filter(({ name, replicas = 1 }) => !actors.has(name, replicas)).map(({ name }) => name),
      (missing) => missing.length === 0,
      { what: 'that every workload runs', timeoutMs: 60_000 },
    )
    const instances = workloads
      .filter(({ sidecar }) => sidecar !== false)
      .reduce((sum, { replicas = 1 }) => sum + replicas, 0)
    await eventually(
      () => mesh.statuses(),
      (all) =>
        all.length === instances && all.every(({ state, ready }) => ready && state !== 'unknown' && state !== 'stale'),
      { what: 'that every sidecar has its policy', timeoutMs: 60_000 },
    )
  }

  /** Puts addresses of workloads into the place of `{{<namespace>/<workload>.address}}`. In transparent mode they have some. */
  located(text: string): string {
    return text.replaceAll(/\{\{([a-z0-9-]+\/[a-z0-9.-]+)\.address\}\}/g, (_, workload: string) => {
      if (this.mode !== 'transparent') throw new Error(`${workload} has an address of its own in transparent mode only`)
      return inside(this.mesh, workload).address
    })
  }

  async #start(mark: string): Promise<Running> {
    const actors = await Actors.open()
    const certificate = this.#authority.issue('server.test', { dns: ['server.test'] })
    const settings: ActorSettings = {
      program,
      control: actors.path,
      certificate: JSON.stringify({ chain: certificate.chain, privateKey: certificate.privateKey }),
    }
    const documents = [...this.#workloads.values()].flatMap((workload) => workloadDocuments(workload, settings))
    try {
      const mesh = await startTestMesh(
        { [FILE]: [...new Set([meshDocument(this.#spec), ...documents, namespaceDocument(`${mark}-start`)])] },
        this.mode,
      )
      this.#running = { mesh, actors, settings }
      return this.#running
    } catch (error) {
      await actors.close()
      throw error
    }
  }
}

function namespaceDocument(name: string): string {
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })}\n`
}
