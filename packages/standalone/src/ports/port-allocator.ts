import { createHash } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import { isRecord } from '@osm-ts/driver-api/toolkit'

import type { StandaloneErrorCode } from '../errors.js'
import { readStateFile } from '../state/state-folder.js'
import { writeFileAtomic } from '../state/write-file.js'
import type { PortCheck } from './is-port-free.js'
import type { PortRange } from './port-range.js'

/** What a allocator is made from. */
export interface PortAllocatorOptions {
  readonly file: string
  readonly range: PortRange
  readonly isFree: PortCheck
  /** Where the search begins, so that two meshes on one machine hardly ever meet: the state folder, for instance. */
  readonly seed: string
}

/** Ports by purpose, by owner. */
type PortTable = Readonly<Record<string, Readonly<Record<string, number>>>>

/**
 * Gives out loopback ports, and remembers them over restarts: anyone who claims a port for the same purpose again gets the same one if it is free.
 *
 * Claims run one after another, so that two of them never find the same port free.
 */
export class PortAllocator {
  readonly #options: PortAllocatorOptions
  readonly #ports = new Map<string, Map<string, number>>()
  readonly #held = new Map<number, string>()
  #turn: Promise<unknown> = Promise.resolve()
  #next: number

  /** @throws OsmError OSM_STANDALONE_STATE */
  constructor(options: PortAllocatorOptions) {
    this.#options = options
    const { first, last } = options.range
    const hash = createHash('sha256').update(options.seed).digest().readUInt32BE()
    this.#next = first + (hash % (last - first + 1))
    for (const [owner, ports] of Object.entries(readStateFile(options.file, isPortTable) ?? {}))
      this.#ports.set(owner, new Map(Object.entries(ports)))
  }

  /**
   * Ports for all purposes, held until {@link release}. What the owner holds for other purposes stays held.
   *
   * @throws OsmError OSM_STANDALONE_PORTS
   */
  claim(owner: string, purposes: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#inTurn(async () => {
      const claimed = new Map<string, number>()
      const before = JSON.stringify(this.#table())
      for (const purpose of purposes) claimed.set(purpose, await this.#claim(owner, purpose))
      if (JSON.stringify(this.#table()) !== before) this.#write()
      return claimed
    })
  }

  /** Takes ports into account that are chosen elsewhere. Undefined if all are free; else the first that isn't. */
  claimFixed(owner: string, ports: readonly number[]): Promise<number | undefined> {
    return this.#inTurn(async () => {
      for (const port of ports) {
        const holder = this.#held.get(port)
        if (holder === owner) continue
        if (holder !== undefined || !(await this.#options.isFree(port))) return port
      }
      for (const port of ports) this.#held.set(port, owner)
      return undefined
    })
  }

  /** Ends the owner's hold on all ports but these. */
  retain(owner: string, ports: ReadonlySet<number>): void {
    for (const [port, holder] of this.#held) if (holder === owner && !ports.has(port)) this.#held.delete(port)
  }

  /** Ends the owner's hold on all of its ports. They stay noted for it. */
  release(owner: string): void {
    for (const [port, holder] of this.#held) if (holder === owner) this.#held.delete(port)
  }

  async #claim(owner: string, purpose: string): Promise<number> {
    const noted = this.#ports.get(owner)?.get(purpose)
    if (noted !== undefined) {
      const holder = this.#held.get(noted)
      if (holder === owner) return noted
      if (holder === undefined && this.#isInRange(noted) && (await this.#options.isFree(noted)))
        return this.#note(owner, purpose, noted)
    }
    // Ports noted for others that don't run now are taken only when nothing else is left.
    const port = (await this.#search(this.#notedPorts())) ?? (await this.#search(new Set()))
    if (port !== undefined) return this.#note(owner, purpose, port)
    const { first, last } = this.#options.range
    throw new OsmError<StandaloneErrorCode>(
      'OSM_STANDALONE_PORTS',
      `no free port is left between ${first} and ${last} for ${purpose} of ${owner}; run fewer workloads, or end other programs`,
    )
  }

  async #search(avoided: ReadonlySet<number>): Promise<number | undefined> {
    const { first, last } = this.#options.range
    for (let tries = last - first + 1; tries > 0; tries -= 1) {
      const port = this.#next
      this.#next = port === last ? first : port + 1
      if (!this.#held.has(port) && !avoided.has(port) && (await this.#options.isFree(port))) return port
    }
    return undefined
  }

  #note(owner: string, purpose: string, port: number): number {
    for (const [other, ports] of this.#ports)
      for (const [otherPurpose, noted] of ports)
        if (noted === port && (other !== owner || otherPurpose !== purpose)) ports.delete(otherPurpose)
    const ports = this.#ports.get(owner) ?? new Map<string, number>()
    this.#ports.set(owner, ports.set(purpose, port))
    this.#held.set(port, owner)
    return port
  }

  #isInRange(port: number): boolean {
    return port >= this.#options.range.first && port <= this.#options.range.last
  }

  #notedPorts(): ReadonlySet<number> {
    return new Set([...this.#ports.values()].flatMap((ports) => [...ports.values()]))
  }

  #table(): PortTable {
    const owners = [...this.#ports].filter(([, ports]) => ports.size > 0).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(owners.map(([owner, ports]) => [owner, Object.fromEntries([...ports].sort())]))
  }

  #write(): void {
    writeFileAtomic(this.#options.file, `${JSON.stringify(this.#table(), undefined, 2)}\n`)
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(task)
    this.#turn = result.catch(() => undefined)
    return result
  }
}

function isPortTable(value: unknown): value is PortTable {
  return (
    isRecord(value) &&
    Object.values(value).every(
      (ports) => isRecord(ports) && Object.values(ports).every((port) => Number.isInteger(port)),
    )
  )
}
