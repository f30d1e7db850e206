import { fileURLToPath } from 'node:url'

import type { Capabilities } from '@osm-ts/driver-api'
import { declares, type RequiredFeature } from '@osm-ts/driver-api/host'
import { errorMessage, eventually } from '@osm-ts/driver-api/toolkit'

import { perform } from '../../actor/connections.js'
import type { Call, CallAnswer, Target } from '../../actor/protocol.js'
import { testAuthority } from '../../test-certificates.js'
import { Actors } from '../actors.js'
import type { LocalMode, Scenario, ScenarioClient, ScenarioObject, ScenarioStep, ScenarioWorkload } from '../format.js'
import type { Routes } from '../make-call.js'
import { changeObjects, keyed } from '../objects.js'
import { Outside } from '../outside.js'
import type { ReportedProblem, ScenarioRunner } from '../scenario-runner.js'
import { type ActorSettings, asDocument, meshDocument, namespaceDocument, workloadDocuments } from './documents.js'
import { type LocalInstance, localInstance } from './local-instance.js'
import { inboundTarget, workloadRoutes } from './local-routes.js'
import { workloadAuthority } from './workload-authority.js'

/** Module that plays an actor: as it was compiled, unless somebody names another one. */
const compiledActor = fileURLToPath(new URL('../../scenario-actor-main.js', import.meta.url))

/** Longer than it takes from a file to a policy, the debounce included. */
const REST_MS = 750

/** A mesh of this machine that reads one file of objects. */
export interface LocalMesh {
  /** Where it keeps its roots and what it writes down of its instances. */
  readonly stateFolder: string
  /** Replaces the whole file. */
  write(documents: readonly string[]): Promise<void>
  /** A debug page of the controller, as text. Rejects while it does not answer. */
  debug(path: string): Promise<string>
  /** What happened last, for anyone who looks for the cause of a failure. */
  trail?(): string
  stop(): Promise<void>
}

/** What a {@link LocalScenarioRunner} is made of. */
export interface LocalScenarioRunnerOptions {
  readonly mode: LocalMode
  /** Whose sidecars it is about. */
  readonly driver: { readonly name: string; readonly capabilities: Capabilities }
  /** Starts a mesh whose file holds these documents; workloads that do not say otherwise have sidecars of that class. */
  readonly startMesh: (documents: readonly string[], mode: LocalMode, sidecarClass: string) => Promise<LocalMesh>
  /** Module that plays an actor; this package's own if absent. */
  readonly actor?: string
  /** Spec of the MeshConfig of all scenarios, which may add to it. */
  readonly meshSpec?: ScenarioObject
}

interface Running {
  readonly mesh: LocalMesh
  readonly actors: Actors
  readonly settings: ActorSettings
}

/** What the controller says of a proxy, as far as the runner reads it. */
interface Status {
  readonly uuid: string
  readonly wantedVersion?: string
  readonly ready: boolean
  readonly state: string
}

/**
 * One mesh of this machine for all scenarios of a file of tests, one scenario at a time. Each replaces the folder of the one before; workloads that both
 * have keep running, with their sidecars.
 */
export class LocalScenarioRunner implements ScenarioRunner {
  readonly mode: LocalMode
  readonly timeLimitMs = 120_000
  readonly #options: LocalScenarioRunnerOptions
  readonly #authority = testAuthority('servers of scenarios')
  #running: Running | undefined
  #outside: Outside | undefined
  #spec: ScenarioObject | undefined
  #workloads = new Map<string, ScenarioWorkload>()
  #objects = new Map<string, ScenarioObject>()
  #changes = 0

  constructor(options: LocalScenarioRunnerOptions) {
    this.#options = options
    this.mode = options.mode
  }

  lacks(feature: RequiredFeature): boolean {
    return !declares(this.#options.driver.capabilities, feature)
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

  async observed(_what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const trail = this.#running?.mesh.trail?.() ?? ''
      if (trail === '') throw error
      throw new Error(`${errorMessage(error)}\n${trail}`, { cause: error })
    }
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

  async routes(workload: string): Promise<Routes> {
    return workloadRoutes(this.#mesh().stateFolder, workload, this.mode)
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

  async inbound(workload: string, port: string): Promise<Target> {
    return inboundTarget(this.instance(workload), port, this.mode)
  }

  /** Listens on the loopback address of the workload, which is not ours in transparent mode. */
  admin(workload: string): Target {
    const { admin } = this.instance(workload).allocations ?? {}
    return { host: admin?.address ?? '127.0.0.1', port: admin?.port ?? 15_000 }
  }

  /** An instance of a workload, or the one of that name, as it is written down now. */
  instance(workload: string): LocalInstance {
    return localInstance(this.#mesh().stateFolder, workload)
  }

  async issue({ commonName, dnsNames }: Parameters<ScenarioRunner['issue']>[0]): ReturnType<ScenarioRunner['issue']> {
    return workloadAuthority(this.#mesh().stateFolder).issue(commonName, { dns: dnsNames })
  }

  async problems(): Promise<readonly ReportedProblem[]> {
    const { problems } = await this.#page<{ readonly problems: readonly ReportedProblem[] }>('/debug/problems')
    return problems
  }

  #started(): Running {
    if (this.#running === undefined) throw new Error('the mesh of the scenarios does not run')
    return this.#running
  }

  async #page<T>(path: string): Promise<T> {
    return JSON.parse(await this.#mesh().debug(path)) as T
  }

  #mesh(): LocalMesh {
    return this.#started().mesh
  }

  #outsiders(): Outside {
    if (this.#outside === undefined) throw new Error('no scenario has begun')
    return this.#outside
  }

  #meshSpec(): ScenarioObject {
    return { ...this.#options.meshSpec, ...this.#spec }
  }

  async #write(): Promise<void> {
    this.#changes += 1
    const mark = `read-${this.#changes}`
    const isFresh = this.#running === undefined
    const { mesh, actors, settings } = this.#running ?? (await this.#start(mark))
    const workloads = [...this.#workloads.values()]
    // Accounts may be shared.
    const documents = new Set([
      meshDocument(this.#outsiders().fill(this.#meshSpec())),
      ...workloads.flatMap((workload) => workloadDocuments(workload, settings)),
      ...[...this.#objects.values()].map(asDocument),
      namespaceDocument(mark),
    ])
    await mesh.write([...documents].map((document) => this.#located(document)))
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
      () => this.#statuses(),
      (all) =>
        all.length === instances && all.every(({ state, ready }) => ready && state !== 'unknown' && state !== 'stale'),
      { what: 'that every sidecar has its policy', timeoutMs: 60_000 },
    )
    if (isFresh) await this.#rest()
  }

  async #statuses(): Promise<readonly Status[]> {
    return (await this.#page<{ readonly proxies: readonly Status[] }>('/debug/status')).proxies
  }

  /** Word of the workload that was the last to start may still be on its way to the sidecars of its callers. */
  async #rest(): Promise<void> {
    let last = ''
    let since = performance.now()
    await eventually(
      () => this.#statuses(),
      (all) => {
        const now = JSON.stringify(all.map(({ uuid, wantedVersion, state }) => [uuid, wantedVersion, state]))
        if (now !== last) since = performance.now()
        last = now
        return performance.now() - since > REST_MS
      },
      { what: 'rest after the start of the mesh', timeoutMs: 60_000 },
    )
  }

  /** Puts addresses of workloads into the place of `{{<namespace>/<workload>.address}}`. In transparent mode they have some. */
  #located(text: string): string {
    return text.replaceAll(/\{\{([a-z0-9-]+\/[a-z0-9.-]+)\.address\}\}/g, (_, workload: string) => {
      if (this.mode !== 'transparent') throw new Error(`${workload} has an address of its own in transparent mode only`)
      // Workloads without a sidecar have one too, and nothing is written down of those.
      return this.#started().actors.addressOf(workload)
    })
  }

  async #start(mark: string): Promise<Running> {
    const actors = await Actors.open()
    const certificate = this.#authority.issue('server.test', { dns: ['server.test'] })
    const settings: ActorSettings = {
      program: this.#options.actor ?? compiledActor,
      control: actors.path,
      certificate: JSON.stringify({ chain: certificate.chain, privateKey: certificate.privateKey }),
    }
    const documents = [...this.#workloads.values()].flatMap((workload) => workloadDocuments(workload, settings))
    try {
      const mesh = await this.#options.startMesh(
        [...new Set([meshDocument(this.#meshSpec()), ...documents, namespaceDocument(`${mark}-start`)])],
        this.mode,
        this.#options.driver.name,
      )
      this.#running = { mesh, actors, settings }
      return this.#running
    } catch (error) {
      await actors.close()
      throw error
    }
  }
}
