import type { Problem } from '@osm-ts/core'
import { MemoryCaStore } from '@osm-ts/core'
import { declares, type RequiredFeature } from '@osm-ts/driver-api/host'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import {
  changeObjects,
  interceptedRoutes,
  keyed,
  type Routes,
  type Scenario,
  type ScenarioClient,
  type ScenarioObject,
  type ScenarioStep,
  type ScenarioRunner,
} from '@osm-ts/driver-testkit'
import type { Call, CallAnswer, Target } from '@osm-ts/driver-testkit/testing'
import { issueNames } from '../../../dataplane/support/authority.js'
import { reportOnFailure } from '../report-on-failure.js'
import { Mesh } from '../mesh.js'
import { SharedCluster } from '../shared-cluster.js'
import type { TestNamespace } from '../test-namespace.js'
import { deployment } from '../workloads.js'
import { ScenarioPods } from './scenario-pods.js'

const adminPort = 15_000
const name = 'scenarios'
const scenariosAhead = 2

interface Running {
  readonly mesh: Mesh
  readonly scenarioPods: ScenarioPods
  /** Of who is outside the mesh. */
  readonly outside: TestNamespace
}

/** One installed mesh for all scenarios of a file of tests. What two scenarios in a row have both continues running. */
export class PodScenarioRunner implements ScenarioRunner {
  readonly mode = 'pods'
  readonly timeLimitMs = 300_000
  /** Of the class that meshes of these tests are installed with. */
  readonly #capabilities = createEnvoyDriver().capabilities
  #running: Running | undefined
  #scenario: Scenario | undefined
  #spec: ScenarioObject | undefined
  #workloads = new Map<string, Scenario['workloads'][number]>()
  #objects = new Map<string, ScenarioObject>()

  lacks(feature: RequiredFeature): boolean {
    return !declares(this.#capabilities, feature)
  }

  async begin(scenario: Scenario, upcoming: readonly Scenario[]): Promise<void> {
    const { scenarioPods } = (this.#running ??= await this.#install())
    this.#scenario = scenario
    this.#spec = scenario.mesh
    this.#workloads = new Map(scenario.workloads.map((workload) => [workload.name, workload]))
    this.#objects = keyed(scenario.objects ?? [])
    scenarioPods.keep(upcoming.flatMap(({ workloads }) => workloads))
    await this.#write()
    this.#prepare(upcoming)
  }

  async change(step: ScenarioStep): Promise<void> {
    const { mesh, apply, remove, workloads } = step
    if ((mesh ?? apply ?? remove ?? workloads) === undefined) return
    if (mesh !== undefined) this.#spec = mesh
    for (const workload of workloads ?? []) this.#workloads.set(workload.name, workload)
    changeObjects(this.#objects, step)
    await this.#write()
  }

  observed(what: string, work: () => Promise<void>): Promise<void> {
    return reportOnFailure(SharedCluster.open(), `scenario ${what}`, work)
  }

  async reset(): Promise<void> {
    await this.#running?.scenarioPods.clear()
  }

  async stop(): Promise<void> {
    this.#running?.scenarioPods.close()
    await this.#running?.mesh.uninstall()
  }

  async fill<T>(value: T): Promise<T> {
    return this.#runner().scenarioPods.fill(value)
  }

  async routes(): Promise<Routes> {
    return interceptedRoutes
  }

  call(workload: string, call: Call): Promise<CallAnswer> {
    return this.#runner().scenarioPods.caller(workload).perform(call)
  }

  client(client: string): ScenarioClient {
    const found = this.#scenario?.outside?.clients?.[client]
    if (found === undefined) throw new Error(`no client outside the mesh is called ${client}`)
    return found
  }

  callFromOutside(call: Call): Promise<CallAnswer> {
    return this.#runner().scenarioPods.outsideCaller().perform(call)
  }

  async inbound(workload: string, port: string): Promise<Target> {
    return { host: this.#runner().scenarioPods.address(workload), port: Number(port) }
  }

  admin(): Target {
    return { host: '127.0.0.1', port: adminPort }
  }

  async issue(names: Parameters<ScenarioRunner['issue']>[0]): ReturnType<ScenarioRunner['issue']> {
    const { cluster, namespace } = this.#runner().mesh
    const { data } = await cluster.kubectl.get<{ readonly data: Readonly<Record<string, string>> }>([
      ...['secret', 'osm-ca-bundle', '-n', namespace],
    ])
    const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString()
    const roots = new MemoryCaStore()
    await roots.create('workload', text('ca.crt'), text('private.key'))
    return issueNames(roots, names)
  }

  problems(): Promise<readonly Problem[]> {
    return this.#runner().scenarioPods.view.problems()
  }

  /** Has the pods of the next scenarios start while this one calls: starting takes longer than calling. */
  #prepare(upcoming: readonly Scenario[]): void {
    const { scenarioPods } = this.#runner()
    const changesPods = this.#scenario?.steps.some(({ mesh }) => shapesPods(mesh)) === true
    if (changesPods || shapesPods(this.#spec)) return
    const waiting = upcoming.filter(
      ({ mesh, workloads }) => !shapesPods(mesh) && !workloads.every((each) => scenarioPods.has(each)),
    )
    for (const { workloads, objects = [] } of waiting.slice(0, scenariosAhead))
      scenarioPods.prepare(workloads, keyed(objects))
  }

  #runner(): Running {
    if (this.#running === undefined) throw new Error('the mesh of the scenarios does not run')
    return this.#running
  }

  #write(): Promise<void> {
    return this.#runner().scenarioPods.establish({
      spec: this.#spec,
      workloads: [...this.#workloads.values()],
      objects: this.#objects,
    })
  }

  async #install(): Promise<Running> {
    const cluster = SharedCluster.open()
    const mesh = await Mesh.install(cluster, { name, values: { enableDebugServer: true } })
    const outside = await mesh.createOutsideNamespace(`${name}-outside`)
    await outside.run(deployment({ name: 'stranger', namespace: outside.name, image: outside.image }))
    return { mesh, outside, scenarioPods: await ScenarioPods.open(mesh, outside) }
  }
}

/** Whether pods that start under a MeshConfig differ from others: everything may make them so but what is known to decide about traffic alone. */
function shapesPods(spec: ScenarioObject = {}): boolean {
  const { traffic = {}, featureFlags: _flags, ...rest } = spec
  const lists = Object.keys(traffic as object).filter((field) => !field.startsWith('enable'))
  return Object.keys(rest).length + lists.length > 0
}
