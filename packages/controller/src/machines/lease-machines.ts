import { setTimeout as pause } from 'node:timers/promises'

import {
  type Clock,
  type KindMap,
  type MachineListeners,
  machineListeners,
  type MachineReport,
  makeObjectKey,
  type MeshObject,
  type ObjectKey,
  type ObjectOrigin,
  type ObjectSource,
  type Problem,
  type ProcessLogger,
  type Random,
  REPORT_OVERDUE_MS,
  REPORT_PERIOD_MS,
  sameContent,
  type SnapshotFeed,
  type SourceChange,
} from '@osm-ts/core'
import {
  createInformer,
  type Informer,
  isKubernetesError,
  type KubernetesApi,
  listAll,
  meshObjectLabels,
  resourceTypes,
} from '@osm-ts/kubernetes'
import type { ProxyUUID } from '@osm-ts/driver-api'
import { errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import { changesOf } from '../subscribe-all.js'
import {
  isShownTwice,
  type Machine,
  machineRefusals,
  type Machines,
  MAX_MACHINES,
  type StoredMachine,
  warnOfMissingListeners,
  warnOfSilence,
  WithheldVariables,
} from './machine.js'
import {
  instanceOfMachine,
  leaseName,
  machineLabel,
  machineLease,
  type MachineLease,
  readMachineLease,
} from './stored-machine.js'

/** Where machines of a cluster are written down. */
export interface LeaseMachinesOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  readonly osmNamespace: string
  readonly clock: Clock
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
  readonly random: Random
  readonly logger: ProcessLogger
}

const LOOK_MS = 1_000
/** A report sooner than this after the last one that was written changes nothing unless the state does. */
const RENEW_MS = 1.5 * REPORT_PERIOD_MS
/** No certificate of a machine that was not heard for so long is valid. */
const FORGET_MS = 25 * 3_600_000
const ATTEMPTS = 5
/** Kinds that decide which listeners a machine has, and whether it may take part. */
const FOLLOWED = ['Service', 'ServiceAccount', 'IngressBackend', 'AccessControl'] as const

/**
 * Machines of a cluster: one Lease for each, in the namespace of the control plane. They are objects of the mesh beside pods.
 *
 * Any replica serves any machine: everything that one knows stands in the Lease, and writes name the version that they change.
 */
export class LeaseMachines implements Machines, ObjectSource {
  readonly name = 'machines'
  readonly #options: LeaseMachinesOptions
  readonly #informer: Informer<MachineLease>
  /** Own writes that the informer has not seen yet. */
  readonly #written = new Map<string, MachineLease>()
  /** When the state of a Lease was seen first, by name. Monotonic milliseconds. */
  readonly #heard = new Map<string, { readonly renewTime: string; readonly at: number }>()
  readonly #instances = new Map<ObjectKey, KindMap['WorkloadInstance']>()
  readonly #listeners = new Listeners<SourceChange>()
  readonly #withheld: WithheldVariables
  #feed: SnapshotFeed | undefined
  #isDue = false

  constructor(options: LeaseMachinesOptions) {
    const { api, osmNamespace: namespace, meshName, clock, random, logger } = options
    this.#options = options
    this.#withheld = new WithheldVariables(logger)
    this.#informer = createInformer({
      type: resourceTypes.Lease,
      namespace,
      labelSelector: `${machineLabel},${Object.entries(meshObjectLabels(meshName))
        .map(([key, value]) => `${key}=${value}`)
        .join()}`,
      project: readMachineLease,
      indexes: {
        uuid: ({ machine }) => [machine.uuid],
        virtualMachine: ({ machine: { virtualMachine } }) => (virtualMachine === undefined ? [] : [virtualMachine.id]),
      },
      api,
      clock,
      random,
      logger,
    })
    this.#informer.subscribe((changes) => {
      for (const { name } of changes) this.#written.delete(name.name)
      this.#refreshSoon()
    })
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#informer.start(signal)
  }

  /** Follows what the listeners of machines depend on. Before that, none takes part. */
  follow(feed: SnapshotFeed): this {
    this.#feed = feed
    this.#refreshSoon()
    return this
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    return this.#listeners.add(listener)
  }

  problems(): readonly Problem[] {
    return []
  }

  objects(): readonly MeshObject[] {
    return [...this.#instances.values()]
  }

  locate(key: ObjectKey): ObjectOrigin | undefined {
    return this.#instances.get(key)?.origin
  }

  /** True if an instance is a machine, and no pod. */
  has({ metadata: { namespace, name }, spec: { uuid } }: KindMap['WorkloadInstance']): boolean {
    return this.#instances.get(makeObjectKey('WorkloadInstance', namespace, name))?.spec.uuid === uuid
  }

  countOf(namespace: string): number {
    return this.#informer.list().filter(({ machine }) => machine.namespace === namespace).length
  }

  async ofVirtualMachine(id: string): Promise<StoredMachine | undefined> {
    const own = [...this.#written.values()].find(({ machine }) => machine.virtualMachine?.id === id)
    return (own ?? this.#informer.byIndex('virtualMachine', id)[0])?.machine
  }

  async find(uuid: ProxyUUID): Promise<Machine | undefined> {
    return (await this.#lease(uuid))?.machine
  }

  async admit(machine: Machine, replaces?: ProxyUUID): Promise<void> {
    const { osmNamespace, meshName } = this.#options
    const { uuid, namespace, name, serviceAccount } = machine
    const snapshot = this.#feed?.current()
    if (snapshot?.get('ServiceAccount', namespace, serviceAccount) === undefined)
      throw machineRefusals.account(machine, 'create it, in a namespace of the mesh')
    const holder = snapshot.get('WorkloadInstance', namespace, name)?.spec.uuid
    if (holder !== undefined && holder !== uuid && holder !== replaces) throw machineRefusals.name(machine)
    if (this.#informer.list().length >= MAX_MACHINES) throw machineRefusals.limit()
    const lease = { namespace: osmNamespace, name: leaseName(meshName, machine) }
    const replaced = replaces === undefined ? undefined : await this.#lease(replaces)
    if (replaced !== undefined && replaced.name.name !== lease.name) await this.remove(replaced.machine.uuid)
    for (let attempt = 1; ; attempt += 1)
      try {
        const before = await this.#read(lease.name)
        const holder = before?.machine.uuid
        if (holder !== undefined && holder !== uuid && holder !== replaces) throw machineRefusals.name(machine)
        const { createdAt = this.#now(), claims = {} } = before?.machine ?? {}
        await this.#write({
          name: lease,
          ...(before !== undefined && { resourceVersion: before.resourceVersion }),
          machine: { ...machine, ready: false, createdAt, claims },
        })
        return
      } catch (error) {
        if (!isKubernetesError(error) || !error.conflict || attempt >= ATTEMPTS) throw error
      }
  }

  async report(uuid: ProxyUUID, report: MachineReport): Promise<Readonly<Record<string, string>>> {
    const lease = await this.#lease(uuid)
    if (lease === undefined) throw machineRefusals.unknown(uuid)
    const age = this.#options.clock.now() - Date.parse(lease.renewTime)
    if (isShownTwice(lease.machine, report, age)) throw machineRefusals.twice(lease.machine)
    const { ready, run } = report
    // Written by the clock of another replica, it may be in the future.
    const isFresh = age >= 0 && age < RENEW_MS
    const isSame = lease.machine.ready === ready && lease.machine.run === run
    if (!isSame || !isFresh) await this.#change(lease, { ready, ...(run !== undefined && { run }) })
    return this.#listenersOf(lease.machine)?.variables ?? {}
  }

  async remove(uuid: ProxyUUID): Promise<void> {
    const lease = await this.#lease(uuid)
    if (lease === undefined) return
    await this.#options.api.delete(resourceTypes.Lease, lease.name, { signal: AbortSignal.timeout(REPORT_PERIOD_MS) })
    this.#written.delete(lease.name.name)
    this.#refreshSoon()
  }

  async run(signal: AbortSignal): Promise<void> {
    const leave = this.#feed === undefined ? undefined : changesOf(this.#feed, FOLLOWED)(() => this.#refreshSoon())
    try {
      while (!signal.aborted) {
        await pause(LOOK_MS, undefined, { signal }).catch(() => undefined)
        await this.#look()
      }
    } finally {
      leave?.()
    }
  }

  /** Takes machines out of service that no replica hears, and forgets those that have lost their certificate. */
  async #look(): Promise<void> {
    const at = this.#options.monotonic()
    const isCurrent = this.#informer.state().state === 'synced'
    const present = new Set<string>()
    for (const lease of this.#informer.list()) {
      const { name, renewTime, machine } = lease
      present.add(name.name)
      const heard = this.#heard.get(name.name)
      // While the API server is unavailable, no report can be written.
      if (!isCurrent || heard?.renewTime !== renewTime) this.#heard.set(name.name, { renewTime, at })
      else if (machine.ready && at - heard.at >= REPORT_OVERDUE_MS) await this.#takeOut(lease)
      else if (!machine.ready && this.#options.clock.now() - Date.parse(renewTime) >= FORGET_MS)
        await this.remove(machine.uuid).catch((error: unknown) => this.#failed(lease, error))
    }
    for (const name of this.#heard.keys()) if (!present.has(name)) this.#heard.delete(name)
  }

  async #takeOut(lease: MachineLease): Promise<void> {
    try {
      await this.#write({ ...lease, machine: { ...lease.machine, ready: false } }, lease.renewTime)
      warnOfSilence(this.#options.logger, lease.machine)
    } catch (error) {
      this.#failed(lease, error)
    }
  }

  /** Several replicas may do the same: a version that is not the last one any more is not a failure. */
  #failed({ machine: { namespace, name } }: MachineLease, error: unknown): void {
    if (isKubernetesError(error) && error.conflict) return
    this.#options.logger.warn(
      { namespace, machine: name, reason: errorMessage(error) },
      'the Lease of a machine cannot be written',
    )
  }

  async #change(from: MachineLease, change: Partial<StoredMachine>): Promise<void> {
    let lease: MachineLease | undefined = from
    for (let attempt = 1; lease !== undefined; attempt += 1)
      try {
        await this.#write({ ...lease, machine: { ...lease.machine, ...change } })
        return
      } catch (error) {
        if (!isKubernetesError(error) || !error.conflict || attempt >= ATTEMPTS) throw error
        lease = await this.#read(from.name.name)
      }
  }

  /** What another replica has written a moment ago is asked for: the machine may be faster than the watch. */
  async #lease(uuid: ProxyUUID): Promise<MachineLease | undefined> {
    const own = [...this.#written.values()].find(({ machine }) => machine.uuid === uuid)
    const known = own ?? this.#informer.byIndex('uuid', uuid)[0]
    if (known !== undefined) return known
    const { api, osmNamespace: namespace } = this.#options
    const query = { namespace, labelSelector: `${machineLabel}=${uuid}` }
    const [found] = await listAll(api, resourceTypes.Lease, query, AbortSignal.timeout(REPORT_PERIOD_MS))
    return found && readMachineLease(found)
  }

  async #read(name: string): Promise<MachineLease | undefined> {
    const { api, osmNamespace: namespace } = this.#options
    const found = await api.get(resourceTypes.Lease, { namespace, name }, AbortSignal.timeout(REPORT_PERIOD_MS))
    return found && readMachineLease(found)
  }

  async #write(
    lease: Omit<MachineLease, 'resourceVersion' | 'renewTime'> & { readonly resourceVersion?: string },
    renewTime = this.#now(),
  ): Promise<void> {
    const { api, meshName } = this.#options
    const manifest = machineLease({ ...lease, renewTime }, meshObjectLabels(meshName), REPORT_OVERDUE_MS)
    const options = { signal: AbortSignal.timeout(REPORT_PERIOD_MS) }
    const stored =
      lease.resourceVersion === undefined
        ? await api.create(resourceTypes.Lease, manifest, options)
        : await api.replace(resourceTypes.Lease, manifest, options)
    const read = readMachineLease(stored)
    if (read !== undefined && this.#informer.get(read.name)?.resourceVersion !== read.resourceVersion)
      this.#written.set(read.name.name, read)
    this.#refreshSoon()
  }

  /** In a turn of its own: it may be called while a change is told. */
  #refreshSoon(): void {
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.#refresh()
    })
  }

  /** Services come and go, and with them listeners. */
  #refresh(): void {
    const snapshot = this.#feed?.current()
    if (snapshot === undefined) return
    const leases = new Map(this.#informer.list().map((lease) => [lease.name.name, lease]))
    for (const [name, lease] of this.#written) leases.set(name, lease)
    const wanted = new Map<ObjectKey, KindMap['WorkloadInstance']>()
    const withheld: [StoredMachine, MachineListeners['withheld']][] = []
    for (const lease of leases.values()) {
      const { machine } = lease
      // A namespace that leaves the mesh takes its machines with it.
      if (snapshot.get('ServiceAccount', machine.namespace, machine.serviceAccount) === undefined) continue
      const listeners = machineListeners(machine, snapshot, machine.claims)
      withheld.push([machine, listeners.withheld])
      wanted.set(
        makeObjectKey('WorkloadInstance', machine.namespace, machine.name),
        instanceOfMachine(machine, listeners),
      )
      if (Object.keys(listeners.claims).some((purpose) => !Object.hasOwn(machine.claims, purpose)))
        void this.#claim(lease, listeners)
    }
    this.#withheld.tell(withheld)
    const deletes = [...this.#instances.keys()].filter((key) => !wanted.has(key))
    const upserts = [...wanted].filter(([key, object]) => {
      const before = this.#instances.get(key)
      return before === undefined || !sameContent(before, object)
    })
    for (const key of deletes) this.#instances.delete(key)
    for (const [key, object] of upserts) this.#instances.set(key, object)
    if (upserts.length > 0 || deletes.length > 0)
      this.#listeners.notify({ upserts: upserts.map(([, object]) => object), deletes, problems: [] })
  }

  /** A listener stays where it is: for every replica, and after a restart. */
  async #claim(lease: MachineLease, { claims, missing }: MachineListeners): Promise<void> {
    if (missing.length > 0) warnOfMissingListeners(this.#options.logger, lease.machine, missing)
    try {
      await this.#write({ ...lease, machine: { ...lease.machine, claims } }, lease.renewTime)
    } catch (error) {
      this.#failed(lease, error)
    }
  }

  #listenersOf(machine: StoredMachine): MachineListeners | undefined {
    const snapshot = this.#feed?.current()
    return snapshot && machineListeners(machine, snapshot, machine.claims)
  }

  /** As Leases hold it: with microseconds. */
  #now(): string {
    return new Date(this.#options.clock.now()).toISOString().replace('Z', '000Z')
  }
}
