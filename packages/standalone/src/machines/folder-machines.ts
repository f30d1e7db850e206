import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import {
  type MachineListeners,
  machineListeners,
  type MachineReport,
  type ProcessLogger,
  REPORT_OVERDUE_MS,
  type SnapshotFeed,
} from '@osm-ts/core'
import {
  instanceSpecOf,
  isShownTwice,
  type Machine,
  machineRefusals,
  type Machines,
  MAX_MACHINES,
  type StoredMachine,
  warnOfMissingListeners,
  warnOfSilence,
  WithheldVariables,
} from '@osm-ts/controller'
import { isOsmError, type ProxyUUID } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import { writeFileAtomic } from '../state/write-file.js'
import { InstanceFile, instanceHostname } from '../workload/instance-object.js'

/** Where machines of a standalone mesh are written down. */
export interface FolderMachinesOptions {
  /** One file for each machine. Kept. */
  readonly folder: string
  /** WorkloadInstances, which the controller reads. */
  readonly instances: string
  readonly feed: Pick<SnapshotFeed, 'current' | 'subscribe'>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly logger: ProcessLogger
}

interface Entry {
  stored: StoredMachine
  readonly file: InstanceFile
  listeners: MachineListeners | undefined
  /** Milliseconds since 1970. */
  reportedAt: number
}

const LOOK_MS = 1_000

/** Machines of a standalone mesh: each is an instance that runs elsewhere, in explicit mode. */
export class FolderMachines implements Machines {
  readonly #options: FolderMachinesOptions
  readonly #entries = new Map<ProxyUUID, Entry>()
  readonly #withheld: WithheldVariables

  constructor(options: FolderMachinesOptions) {
    this.#options = options
    this.#withheld = new WithheldVariables(options.logger)
    mkdirSync(options.folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(options.folder)) if (name.endsWith('.json')) this.#read(name)
    this.#refresh()
  }

  async find(uuid: ProxyUUID): Promise<Machine | undefined> {
    return this.#entries.get(uuid)?.stored
  }

  async ofVirtualMachine(id: string): Promise<StoredMachine | undefined> {
    return [...this.#entries.values()]
      .map(({ stored }) => stored)
      .find(({ virtualMachine }) => virtualMachine?.id === id)
  }

  countOf(namespace: string): number {
    return [...this.#entries.values()].filter(({ stored }) => stored.namespace === namespace).length
  }

  async admit(machine: Machine, replaces?: ProxyUUID): Promise<void> {
    const { uuid, namespace, name, serviceAccount } = machine
    const snapshot = this.#options.feed.current()
    if (snapshot?.get('ServiceAccount', namespace, serviceAccount) === undefined)
      throw machineRefusals.account(machine, 'add it first')
    const holder = snapshot.get('WorkloadInstance', namespace, name)?.spec.uuid ?? this.#named(namespace, name)
    if (holder !== undefined && holder !== uuid && holder !== replaces) throw machineRefusals.name(machine)
    const before = this.#entries.get(uuid)
    if (before === undefined && this.#entries.size >= MAX_MACHINES) throw machineRefusals.limit()
    if (replaces !== undefined) await this.remove(replaces)
    before?.file.remove()
    const createdAt = before?.stored.createdAt ?? new Date(this.#options.now()).toISOString()
    this.#add({ ...machine, ready: false, createdAt, claims: before?.stored.claims ?? {} })
    this.#refresh()
  }

  async report(uuid: ProxyUUID, report: MachineReport): Promise<Readonly<Record<string, string>>> {
    const entry = this.#entries.get(uuid)
    if (entry === undefined) throw machineRefusals.unknown(uuid)
    const now = this.#options.now()
    if (isShownTwice(entry.stored, report, now - entry.reportedAt)) throw machineRefusals.twice(entry.stored)
    entry.reportedAt = now
    const { ready, run } = report
    if (run !== undefined && run !== entry.stored.run) {
      entry.stored = { ...entry.stored, run }
      this.#write(entry)
    }
    this.#setReady(entry, ready)
    return entry.listeners?.variables ?? {}
  }

  async remove(uuid: ProxyUUID): Promise<void> {
    const entry = this.#entries.get(uuid)
    if (entry === undefined) return
    this.#entries.delete(uuid)
    rmSync(this.#path(uuid), { force: true })
    entry.file.remove()
  }

  async run(signal: AbortSignal): Promise<void> {
    const leave = this.#options.feed.subscribe(() => this.#refresh())
    try {
      while (!signal.aborted) {
        await pause(LOOK_MS, undefined, { signal }).catch(() => undefined)
        const now = this.#options.now()
        for (const entry of this.#entries.values()) {
          if (!entry.stored.ready || now - entry.reportedAt < REPORT_OVERDUE_MS) continue
          warnOfSilence(this.#options.logger, entry.stored)
          this.#setReady(entry, false)
        }
      }
    } finally {
      leave()
    }
  }

  #add(stored: StoredMachine): Entry {
    const { namespace, name, uuid } = stored
    const file = new InstanceFile(this.#options.instances, namespace, name)
    const entry: Entry = { stored, file, listeners: undefined, reportedAt: this.#options.now() }
    this.#entries.set(uuid, entry)
    return entry
  }

  #named(namespace: string, name: string): ProxyUUID | undefined {
    for (const [uuid, { stored }] of this.#entries)
      if (stored.namespace === namespace && stored.name === name) return uuid
    return undefined
  }

  #setReady(entry: Entry, ready: boolean): void {
    if (entry.stored.ready === ready) return
    entry.stored = { ...entry.stored, ready }
    this.#write(entry)
  }

  /** Services come and go, and with them listeners. */
  #refresh(): void {
    const snapshot = this.#options.feed.current()
    if (snapshot === undefined) return
    for (const entry of this.#entries.values()) {
      const missing = entry.listeners?.missing.length ?? 0
      entry.listeners = machineListeners(entry.stored, snapshot, entry.stored.claims)
      entry.stored = { ...entry.stored, claims: entry.listeners.claims }
      if (entry.listeners.missing.length > missing)
        warnOfMissingListeners(this.#options.logger, entry.stored, entry.listeners.missing)
      this.#write(entry)
    }
    const entries = [...this.#entries.values()]
    this.#withheld.tell(entries.map(({ stored, listeners }) => [stored, listeners?.withheld ?? []] as const))
  }

  #write({ stored, file, listeners }: Entry): void {
    const { uuid, namespace, name, labels } = stored
    writeFileAtomic(this.#path(uuid), `${JSON.stringify(stored)}\n`)
    if (listeners === undefined) return
    file.write({
      namespace,
      name,
      labels,
      annotations: {},
      spec: { ...instanceSpecOf(stored, listeners), ...instanceHostname(name) },
    })
  }

  /** A file that cannot be read is left where it is: the machine joins again. */
  #read(name: string): void {
    try {
      const value: unknown = JSON.parse(readFileSync(join(this.#options.folder, name), 'utf8'))
      if (!isRecord(value) || `${String(value.uuid)}.json` !== name || !isRecord(value.claims))
        throw new Error('it describes no machine')
      this.#add(value as unknown as StoredMachine)
    } catch (error) {
      if (isOsmError(error)) throw error
      this.#options.logger.warn({ file: name, reason: errorMessage(error) }, 'the file of a machine is ignored')
    }
  }

  #path(uuid: ProxyUUID): string {
    return join(this.#options.folder, `${uuid}.json`)
  }
}
