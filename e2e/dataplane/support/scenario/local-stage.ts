import { fileURLToPath } from 'node:url'

import type { Problem } from '@osm-ts/core'
import { type Driver, type OptionalFeature, optionalFeatures } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import type { MeshMode } from '@osm-ts/standalone'
import {
  Actors,
  changeObjects,
  keyed,
  Outside,
  type Routes,
  type Scenario,
  type ScenarioClient,
  type ScenarioObject,
  type ScenarioStep,
  type ScenarioWorkload,
  type Stage,
  testAuthority,
} from '@osm-ts/driver-testkit'

import { perform } from '../../../../packages/driver-testkit/src/actor/perform.js'
import type { Call, CallAnswer, Target } from '../../../../packages/driver-testkit/src/actor/protocol.js'
import { issueNames, rootsIn } from '../authority.js'
import { inside } from '../inside.js'
import { type TestMesh, startTestMesh } from '../mesh.js'
import { eventually } from '../wait.js'
import { type ActorSettings, meshDocument, workloadDocuments } from './documents.js'
import { inboundTarget, workloadRoutes } from './local-routes.js'

const program = fileURLToPath(new URL('../../../dist/scenario-actor.mjs', import.meta.url))
const FILE = 'scenario.yaml'

interface Running {
  readonly mesh: TestMesh
  readonly actors: Actors
  readonly settings: ActorSettings
}

/**
 * One mesh of this machine for all scenarios of a file of tests, one scenario at a time. Each replaces the folder of the one before; workloads that both
 * have keep running, with their Envoys.
 */
export class LocalStage implements Stage {
  readonly mode: MeshMode
  readonly timeLimitMs = 120_000
  readonly lacks: readonly OptionalFeature[]
  readonly #sidecarClass: string
  readonly #authority = testAuthority('servers of scenarios')
  #running: Running | undefined
  #outside: Outside | undefined
  #spec: ScenarioObject | undefined
  #workloads = new Map<string, ScenarioWorkload>()
  #objects = new Map<string, ScenarioObject>()
  #changes = 0

  constructor(mode: MeshMode, driver: Driver = createEnvoyDriver()) {
    this.mode = mode
    this.#sidecarClass = driver.name
    this.lacks = optionalFeatures.filter((feature) => !driver.capabilities.features.includes(feature))
  }

  async begin(scenario: Scenario): Promise<void> {
    await this.#outside?.close()
    this.#outside = await Outside.open(scenario.outside ?? {}, this.mode, this.#authority)
    this.#spec = scenario.mesh
    this.#workloads = new Map(scenario.workloads.map((workload) => [workload.name, workload]))
    this.#objects = keyed(this.#outside.fill(scenario.objects ?? []))
    await this.#write()
  }

  async change(step: ScenarioStep): Promise<void> {
    const { mesh, apply, remove, workloads } = step
    if ((mesh ?? apply ?? remove ?? workloads) === undefined) return
    if (mesh !== undefined) this.#spec = mesh
    for (const workload of workloads ?? []) this.#workloads.set(workload.name, workload)
    changeObjects(this.#objects, this.#outsiders().fill(step))
    await this.#write()
  }

  observed(_what: string, work: () => Promise<void>): Promise<void> {
    return work()
  }

  /** Ends the mesh, so that the next scenario starts one. */
  reset(): Promise<void> {
    return this.stop()
  }

  async stop(): Promise<void> {
    await this.#outside?.close()
    this.#outside = undefined
    const running = this.#running
    this.#running = undefined
    await running?.mesh.stop()
    await running?.actors.close()
  }

  async fill<T>(value: T): Promise<T> {
    return JSON.parse(this.#located(JSON.stringify(this.#outsiders().fill(value)))) as T
  }

  routes(workload: string): Promise<Routes> {
    return workloadRoutes(this.#mesh(), workload, this.mode)
  }

  call(workload: string, call: Call): Promise<CallAnswer> {
    return this.#started().actors.call(workload, call)
  }

  client(name: string): ScenarioClient {
    return this.#outsiders().client(name)
  }

  callFromOutside(call: Call): Promise<CallAnswer> {
    return perform(call, this.#outsiders().connections)
  }

  inbound(workload: string, port: string): Promise<Target> {
    return inboundTarget(this.#mesh(), workload, port, this.mode)
  }

  /** Listens on the loopback address of the workload, which is not ours in transparent mode. */
  admin(workload: string): Target {
    const { admin } = this.#mesh().instance(workload)
    return { host: admin?.address ?? '127.0.0.1', port: admin?.port ?? 15_000 }
  }

  issue(names: Parameters<Stage['issue']>[0]): ReturnType<Stage['issue']> {
    return issueNames(rootsIn(this.#mesh().stateFolder), names)
  }

  problems(): Promise<readonly Problem[]> {
    return this.#mesh().problems()
  }

  #started(): Running {
    if (this.#running === undefined) throw new Error('the mesh of the scenarios does not run')
    return this.#running
  }

  #mesh(): TestMesh {
    return this.#started().mesh
  }

  #outsiders(): Outside {
    if (this.#outside === undefined) throw new Error('no scenario has begun')
    return this.#outside
  }

  async #write(): Promise<void> {
    this.#changes += 1
    const mark = `read-${this.#changes}`
    const { mesh, actors, settings } = this.#running ?? (await this.#start(mark))
    const workloads = [...this.#workloads.values()]
    // Accounts may be shared.
    const documents = new Set([
      meshDocument(this.#outsiders().fill(this.#spec ?? {})),
      ...workloads.flatMap((workload) => workloadDocuments(workload, settings)),
      ...[...this.#objects.values()].map((object) => `${JSON.stringify(object)}\n`),
      namespaceDocument(mark),
    ])
    await mesh.write(FILE, ...[...documents].map((document) => this.#located(document)))
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
  #located(text: string): string {
    return text.replaceAll(/\{\{([a-z0-9-]+\/[a-z0-9.-]+)\.address\}\}/g, (_, workload: string) => {
      if (this.mode !== 'transparent') throw new Error(`${workload} has an address of its own in transparent mode only`)
      return inside(this.#mesh(), workload).address
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
        undefined,
        this.#sidecarClass,
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
