import { compareProblems, makeObjectKey, type Problem, type Snapshot, tcpServicePorts } from '@osm-ts/core'

import type { StandaloneErrorCode } from '../errors.js'
import { desiredInstances } from './desired-instances.js'
import { Instance } from './instance.js'
import type { InstanceServices } from './instance-services.js'

/** Instances that one message names. */
const NAMED = 5

/** All instances of a mesh: brings what runs in line with what is written down. */
export class InstanceSet {
  readonly #services: InstanceServices
  readonly #instances = new Map<string, Instance>()
  /** Instances that are on their way out, by key: their successors wait for them. */
  readonly #leaving = new Map<string, Set<Instance>>()
  readonly #tasks = new Set<Promise<void>>()
  #isStopping = false

  constructor(services: InstanceServices) {
    this.#services = services
  }

  /** By namespace and name. */
  list(): readonly Instance[] {
    return [...this.#instances.values()].sort((a, b) => (a.desired.key < b.desired.key ? -1 : 1))
  }

  /** Starts, restarts and ends instances as the snapshot says. */
  reconcile(snapshot: Snapshot): void {
    if (this.#isStopping) return
    const defaultClass = this.#services.configurator.current().sidecar.sidecarClass
    const desired = new Map(desiredInstances(snapshot, defaultClass).map((it) => [it.key, it]))
    for (const [key, instance] of this.#instances) {
      const wanted = desired.get(key)
      if (wanted?.fingerprint === instance.desired.fingerprint) instance.refresh(snapshot)
      else this.#retire(instance)
    }
    for (const [key, wanted] of desired) {
      if (this.#instances.has(key)) continue
      const instance = new Instance(wanted, snapshot, this.#services)
      this.#instances.set(key, instance)
      const before = [...(this.#leaving.get(key) ?? [])]
      if (before.length === 0) instance.start()
      else this.#track(Promise.all(before.map((other) => other.gone())).then(() => instance.start()))
    }
    this.#services.onChange()
  }

  /** Services that running programs have not been told of. */
  missingVariables(snapshot: Snapshot): readonly Problem[] {
    const missing = new Map<string, string[]>()
    for (const instance of this.list())
      for (const name of instance.missingVariables())
        missing.set(name, [...(missing.get(name) ?? []), instance.desired.key])
    const code: StandaloneErrorCode = 'OSM_STANDALONE_VARIABLE_MISSING'
    return tcpServicePorts(snapshot.list('Service'))
      .flatMap(({ service, port, variable }) => {
        const instances = missing.get(variable)
        if (instances === undefined) return []
        const more = instances.length > NAMED ? ` and ${instances.length - NAMED} more` : ''
        const problem: Problem = {
          code,
          severity: 'warning',
          message: `port ${port} came after ${instances.slice(0, NAMED).join(', ')}${more} had started: they are told of it by ${variable} when they start again`,
          object: { kind: 'Service', ...service },
          field: 'spec.ports',
        }
        const origin = this.#services.locate(makeObjectKey('Service', service.namespace, service.name), 'spec.ports')
        return [origin === undefined ? problem : { ...problem, origin }]
      })
      .sort(compareProblems)
  }

  /** Ends all programs, and after them all sidecars. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const all = [...this.#instances.values(), ...[...this.#leaving.values()].flatMap((instances) => [...instances])]
    await Promise.allSettled(all.map((instance) => instance.stopProgram()))
    await Promise.allSettled(all.map((instance) => instance.stopSidecar()))
    await Promise.allSettled(this.#tasks)
    this.#instances.clear()
  }

  #retire(instance: Instance): void {
    const { key } = instance.desired
    this.#instances.delete(key)
    const leaving = this.#leaving.get(key) ?? new Set<Instance>()
    this.#leaving.set(key, leaving.add(instance))
    this.#track(
      instance.stop().finally(() => {
        leaving.delete(instance)
        if (leaving.size === 0) this.#leaving.delete(key)
      }),
    )
  }

  #track(task: Promise<void>): void {
    // What goes wrong while an instance is removed is left for the sweep of the next start.
    const tracked = task.catch(() => undefined).finally(() => this.#tasks.delete(tracked))
    this.#tasks.add(tracked)
  }
}
