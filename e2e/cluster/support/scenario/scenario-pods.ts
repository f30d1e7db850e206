import {
  keyed,
  meshSpec,
  objectKey,
  type ScenarioObject,
  type ScenarioWorkload,
  splitName,
} from '@osm-ts/driver-testkit'
import { waitUntil } from '../../wait-until.js'
import type { Caller } from '../caller.js'
import type { Mesh } from '../mesh.js'
import type { TestNamespace } from '../test-namespace.js'
import { ControllerView } from './controller-view.js'
import { podObjects } from './pod-objects.js'
import { RunningActors } from './running-actors.js'

const limitMs = 150_000
const everyMs = 100

/** What is to be there. */
export interface ScenarioState {
  /** Spec of the MeshConfig. */
  readonly spec: ScenarioObject | undefined
  readonly workloads: readonly ScenarioWorkload[]
  /** By key. */
  readonly objects: ReadonlyMap<string, ScenarioObject>
}

const nothing: ScenarioState = { spec: undefined, workloads: [], objects: new Map() }

/** The pods, Services and policies of scenarios in a cluster. A state differs little from the previous one: only what does is applied. */
export class ScenarioPods {
  readonly view: ControllerView
  readonly #mesh: Mesh
  readonly #outside: TestNamespace
  readonly #actors: RunningActors
  /** Spec of the MeshConfig as it was installed. */
  readonly #installed: ScenarioObject
  readonly #abort = new AbortController()
  readonly #namespaces = new Map<string, { readonly namespace: TestNamespace; readonly isMeshed: boolean }>()
  readonly #workloads = new Map<string, { readonly text: string; readonly objects: readonly ScenarioObject[] }>()
  readonly #objects = new Map<string, { readonly text: string; readonly object: ScenarioObject }>()
  /** Whether a Service was headless when it was sent last. */
  readonly #headless = new Map<string, boolean>()
  readonly #callers = new Map<string, Caller>()
  #kept: ReadonlySet<string> = new Set()
  /** Ends with what has gone wrong, if anything has. */
  #preparation: Promise<Error | undefined> = Promise.resolve(undefined)
  #spec = ''

  private constructor(
    mesh: Mesh,
    outside: TestNamespace,
    view: ControllerView,
    actors: RunningActors,
    installed: ScenarioObject,
  ) {
    this.#mesh = mesh
    this.#outside = outside
    this.view = view
    this.#actors = actors
    this.#installed = installed
  }

  static async open(mesh: Mesh, outside: TestNamespace): Promise<ScenarioPods> {
    const args = ['meshconfig', 'osm-mesh-config', '-n', mesh.namespace]
    const { spec } = await mesh.cluster.kubectl.get<{ readonly spec: ScenarioObject }>(args)
    const [view, actors] = await Promise.all([ControllerView.open(mesh), RunningActors.open(mesh.cluster)])
    return new ScenarioPods(mesh, outside, view, actors, spec)
  }

  /** Workloads that continue running when a state does not have them, because a later one does. */
  keep(workloads: readonly ScenarioWorkload[]): void {
    this.#kept = new Set(workloads.map((workload) => JSON.stringify(workload)))
  }

  /** Starts workloads of later states while this one is in force, unless there are others of their names. */
  prepare(workloads: readonly ScenarioWorkload[], objects: ScenarioState['objects']): void {
    const work = async (): Promise<undefined> => {
      await this.#enrol(workloads)
      const absent = workloads.filter(({ name }) => !this.#workloads.has(name))
      await this.#send(absent.flatMap((workload) => this.#made(workload, objects)))
    }
    this.#preparation = this.#preparation.then(async (fault) => fault ?? work().catch(asError))
  }

  /** Whether a workload of that name was started already. */
  has({ name }: ScenarioWorkload): boolean {
    return this.#workloads.has(name)
  }

  /** Makes everything so, and waits until pods run, the controller has read it, and sidecars have what follows. */
  async establish({ spec, workloads, objects }: ScenarioState): Promise<void> {
    const fault = await this.#preparation
    if (fault !== undefined) throw fault
    await this.#enrol(workloads)
    // Sidecars are put into pods by the settings of the moment.
    const config = await this.#configure(spec)
    await this.#read(config)
    const removed = await this.#remove(workloads, objects)
    const applied = await this.#apply(workloads, objects)
    await this.#until('that all pods run', async () => this.#actors.missing(workloads))
    await this.#read(applied, removed)
    await this.#until('that every sidecar has its policy', () => this.#unsettled(workloads))
  }

  /** Takes away everything but namespaces. */
  async clear(): Promise<void> {
    this.#kept = new Set()
    await this.establish(nothing)
  }

  close(): void {
    this.#abort.abort()
    this.view.close()
    this.#actors.close()
  }

  /** Puts addresses of workloads into the place of `{{<namespace>/<workload>.address}}`. */
  fill<T>(value: T): T {
    const text = JSON.stringify(value).replaceAll(/\{\{([a-z0-9-]+\/[a-z0-9.-]+)\.address\}\}/g, (_, of: string) =>
      this.address(of),
    )
    return JSON.parse(text) as T
  }

  /** Of the first instance of a workload. */
  address(workload: string): string {
    return this.#actors.of(workload).address
  }

  /** Calls from a workload, or from one instance of it. */
  caller(workload: string): Caller {
    const { namespace, name } = this.#actors.of(workload)
    return this.#callerOf(this.#space(namespace), `pod/${name}`)
  }

  outsideCaller(): Caller {
    return this.#callerOf(this.#outside, 'deploy/stranger')
  }

  #callerOf(namespace: TestNamespace, target: string): Caller {
    const key = `${namespace.name} ${target}`
    const caller = this.#callers.get(key) ?? namespace.caller(target)
    this.#callers.set(key, caller)
    return caller
  }

  #space(name: string): TestNamespace {
    const found = this.#namespaces.get(name)
    if (found === undefined) throw new Error(`there is no namespace ${name}`)
    return found.namespace
  }

  /** A namespace belongs to the mesh if anything in it does. */
  async #enrol(workloads: readonly ScenarioWorkload[]): Promise<void> {
    const meshed = new Map<string, boolean>()
    for (const workload of workloads) {
      const { namespace } = splitName(workload)
      meshed.set(namespace, meshed.get(namespace) === true || workload.sidecar !== false)
    }
    await Promise.all(
      [...meshed].map(async ([name, isMeshed]) => {
        const known = this.#namespaces.get(name)
        const namespace = known?.namespace ?? (await this.#mesh.createOutsideNamespace(name))
        if (isMeshed && known?.isMeshed !== true) await this.#mesh.add(namespace)
        this.#namespaces.set(name, { namespace, isMeshed: isMeshed || known?.isMeshed === true })
      }),
    )
  }

  async #configure(spec: ScenarioObject | undefined): Promise<readonly AppliedObject[]> {
    const wanted = merged(this.#installed, meshSpec(this.fill(spec ?? {})))
    if (JSON.stringify(wanted) === this.#spec) return []
    const patch = JSON.stringify([{ op: 'replace', path: '/spec', value: wanted }])
    const args = ['patch', 'meshconfig', 'osm-mesh-config', '-n', this.#mesh.namespace, '--type=json', '-p', patch]
    const config = JSON.parse(await this.#mesh.cluster.kubectl.run([...args, '-o', 'json'])) as AppliedObject
    this.#spec = JSON.stringify(wanted)
    return [config]
  }

  async #remove(
    workloads: readonly ScenarioWorkload[],
    objects: ScenarioState['objects'],
  ): Promise<readonly ScenarioObject[]> {
    const wanted = new Set(workloads.map(({ name }) => name))
    const removed: ScenarioObject[] = []
    for (const [name, { text, objects: ofWorkload }] of this.#workloads) {
      if (wanted.has(name) || this.#kept.has(text)) continue
      removed.push(...ofWorkload)
      this.#workloads.delete(name)
    }
    for (const [key, { object }] of this.#objects) {
      if (objects.has(key)) continue
      removed.push(object)
      this.#objects.delete(key)
    }
    // Accounts may be shared with what stays.
    const staying = new Set([...this.#workloads.values()].flatMap((each) => each.objects).map(objectKey))
    const gone = removed.filter((object) => !staying.has(objectKey(object)))
    const namespaces = gone.filter(({ kind }) => kind === 'Namespace').map(bare)
    const others = gone.filter(({ kind }) => kind !== 'Namespace')
    if (namespaces.length > 0) await this.#mesh.cluster.kubectl.apply(list(namespaces))
    if (others.length > 0)
      await this.#mesh.cluster.kubectl.run(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], {
        input: JSON.stringify(list(others)),
      })
    return others
  }

  async #apply(
    workloads: readonly ScenarioWorkload[],
    objects: ScenarioState['objects'],
  ): Promise<readonly AppliedObject[]> {
    const changed: ScenarioObject[] = workloads.flatMap((workload) =>
      this.#workloads.get(workload.name)?.text === JSON.stringify(workload) ? [] : this.#made(workload, objects),
    )
    for (const [key, object] of objects) {
      const text = JSON.stringify(object)
      if (this.#objects.get(key)?.text === text) continue
      const filled = this.fill(object)
      this.#objects.set(key, { text, object: filled })
      changed.push(filled)
    }
    return this.#send(changed)
  }

  /** The objects of a workload, which is there from now on. */
  #made(workload: ScenarioWorkload, objects: ScenarioState['objects']): readonly ScenarioObject[] {
    const made = podObjects(this.fill(workload), objects.values(), this.#outside.image)
    this.#workloads.set(workload.name, { text: JSON.stringify(workload), objects: made })
    return made
  }

  async #send(objects: readonly ScenarioObject[]): Promise<readonly AppliedObject[]> {
    if (objects.length === 0) return []
    // Accounts may be shared.
    const distinct = [...keyed(objects).values()]
    await this.#removeReplaced(distinct)
    const input = JSON.stringify(list(distinct))
    const output = await this.#mesh.cluster.kubectl.run(['apply', '-f', '-', '-o', 'json'], { input })
    const answer = JSON.parse(output) as AppliedObject & { readonly items?: readonly AppliedObject[] }
    return answer.items ?? [answer]
  }

  /** Kubernetes refuses to turn a Service into a headless one, and the other way round: such a Service is created again. */
  async #removeReplaced(objects: readonly ScenarioObject[]): Promise<void> {
    const replaced: ScenarioObject[] = []
    for (const object of objects.filter(({ kind }) => kind === 'Service')) {
      const { clusterIP } = (object.spec ?? {}) as { readonly clusterIP?: string }
      const [key, isHeadless] = [objectKey(object), clusterIP === 'None']
      if (this.#headless.get(key) === !isHeadless) replaced.push(object)
      this.#headless.set(key, isHeadless)
    }
    if (replaced.length === 0) return
    const input = JSON.stringify(list(replaced))
    await this.#mesh.cluster.kubectl.run(['delete', '--ignore-not-found', '-f', '-'], { input })
  }

  /** Waits until the controller has read changes, as far as they are the mesh's. */
  async #read(applied: readonly AppliedObject[], removed: readonly ScenarioObject[] = []): Promise<void> {
    const isRead = ({ kind, metadata: { namespace = '' } }: AppliedObject): boolean =>
      readKinds.has(kind) && (namespace === this.#mesh.namespace || this.#namespaces.get(namespace)?.isMeshed === true)
    const wanted = applied.filter(isRead)
    const unwanted = (removed as readonly unknown[] as readonly AppliedObject[]).filter(isRead)
    if (wanted.length + unwanted.length === 0) return
    await this.#until('that the controller has read the change', async () => {
      const known = await this.view.generations()
      const late = wanted.filter(({ kind, metadata: { namespace = '', name, generation = 0 } }) => {
        const generationRead = known.get(`${kind} ${namespace}/${name}`)
        return generationRead === undefined || generationRead < generation
      })
      const left = unwanted.filter(({ kind, metadata: { namespace = '', name } }) =>
        known.has(`${kind} ${namespace}/${name}`),
      )
      return [...late, ...left].map((object) => objectKey(object as unknown as ScenarioObject))
    })
  }

  async #unsettled(workloads: readonly ScenarioWorkload[]): Promise<readonly string[]> {
    const statuses = await this.view.statuses()
    return this.#actors.proxies(workloads).filter((uuid) => {
      const status = statuses.get(uuid)
      return status === undefined || !status.ready || status.state === 'unknown' || status.state === 'stale'
    })
  }

  /** Waits until nothing is missing, and says what is when that takes too long. */
  async #until(what: string, missing: () => Promise<readonly string[]>): Promise<void> {
    let last: readonly string[] = []
    const { signal } = this.#abort
    const ask = async (): Promise<true | undefined> => {
      last = await missing()
      return last.length === 0 ? true : undefined
    }
    await waitUntil(what, ask, { timeoutMs: limitMs, everyMs, signal }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${last.join(', ')}`, { cause: error })
    })
  }
}

/** An object as the API server has it. */
interface AppliedObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly generation?: number }
}

/** Kinds of scenarios that the controller reads. */
const readKinds = new Set([
  ...['AccessControl', 'Egress', 'EgressGateway', 'HTTPRouteGroup', 'IngressBackend', 'MeshConfig', 'Retry', 'Service'],
  ...['TCPRoute', 'TrafficSplit', 'TrafficTarget', 'UpstreamTrafficSetting'],
])

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function list(items: readonly ScenarioObject[]): object {
  return { apiVersion: 'v1', kind: 'List', items }
}

/** A namespace that says nothing any more of what it said. */
function bare({ apiVersion, kind, metadata }: ScenarioObject): ScenarioObject {
  return { apiVersion, kind, metadata: { name: (metadata as { readonly name: string }).name } }
}

function merged(base: ScenarioObject, over: ScenarioObject): ScenarioObject {
  const entries = Object.entries(over).map(([key, value]) => {
    const below = base[key]
    const both = isRecord(below) && isRecord(value)
    return [key, both ? merged(below, value) : value] as const
  })
  return { ...base, ...Object.fromEntries(entries) }
}

function isRecord(value: unknown): value is ScenarioObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
