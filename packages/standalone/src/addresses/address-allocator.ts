import { objectRef, type KindMap, type Problem } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'

import type { StandaloneErrorCode } from '../errors.js'
import { addressAt, parseIpv4Range, sizeOf, type Ipv4Range } from '../netns/ipv4-range.js'
import { readStateFile } from '../state/state-folder.js'
import { writeFileAtomic } from '../state/write-file.js'
import { FixedAddressTable, type AddressTable, type VirtualAddresses } from './virtual-addresses.js'

/**
 * Gives virtual addresses to Services, and remembers them: a Service that returns finds its address again.
 *
 * Positions in the range are remembered, not addresses: the range may be another one after a restart.
 */
export class AddressAllocator implements AddressTable {
  readonly #file: string
  readonly #range: Ipv4Range
  readonly #positions: Map<string, number>
  readonly #table = new FixedAddressTable({})
  readonly current = this.#table.current
  readonly subscribe = this.#table.subscribe

  /** @throws OsmError OSM_STANDALONE_STATE */
  constructor(file: string, range: Ipv4Range) {
    this.#file = file
    this.#range = range
    this.#positions = new Map(Object.entries(readStateFile(file, isPositions) ?? {}))
  }

  /** Brings the addresses in line with the Services there are; gives those that get none. */
  assign(services: readonly KindMap['Service'][]): readonly Problem[] {
    const wanting = services.filter(({ spec }) => spec.clusterIP !== 'None' && spec.type !== 'ExternalName')
    const problems: Problem[] = []
    const before = JSON.stringify([...this.#positions])
    const taken = this.#honourWritten(wanting, problems)
    const present = new Set(wanting.map(nameOf))
    for (const service of wanting) {
      const name = nameOf(service)
      const noted = this.#positions.get(name)
      if (taken.get(noted ?? -1) === name) continue
      const position =
        noted !== undefined && this.#isUsable(noted) && !taken.has(noted) ? noted : this.#search(taken, present)
      if (position === undefined) problems.push(exhausted(service))
      else {
        taken.set(position, name)
        this.#positions.set(name, position)
      }
    }
    if (JSON.stringify([...this.#positions]) !== before) this.#write()
    this.#announce(taken)
    return problems
  }

  /** Addresses inside the range that Services name themselves. Two that name one: the first holds. */
  #honourWritten(services: readonly KindMap['Service'][], problems: Problem[]): Map<number, string> {
    const taken = new Map<number, string>()
    for (const service of services) {
      const position = this.#positionOf(service.spec.clusterIP)
      if (position === undefined) continue
      const holder = taken.get(position)
      if (holder === undefined) {
        taken.set(position, nameOf(service))
        this.#positions.set(nameOf(service), position)
      } else problems.push(contested(service, holder))
    }
    return taken
  }

  #positionOf(address: string | undefined): number | undefined {
    const range = address === undefined ? undefined : parseIpv4Range(address)
    if (range?.prefix !== 32) return undefined
    const position = range.network - this.#range.network
    return this.#isUsable(position) ? position : undefined
  }

  /** Without the first and the last address, which would be the network's own and that of broadcasts anywhere else. */
  #isUsable(position: number): boolean {
    return position >= 1 && position <= sizeOf(this.#range) - 2
  }

  /** Positions that are noted for Services of earlier runs are taken only when nothing else is left. */
  #search(taken: ReadonlyMap<number, string>, present: ReadonlySet<string>): number | undefined {
    const noted = new Map([...this.#positions].map(([name, position]) => [position, name]))
    let spare: number | undefined
    for (let position = 1; this.#isUsable(position); position += 1) {
      if (taken.has(position)) continue
      const holder = noted.get(position)
      if (holder === undefined) return position
      if (!present.has(holder)) spare ??= position
    }
    const former = spare === undefined ? undefined : noted.get(spare)
    if (former !== undefined) this.#positions.delete(former)
    return spare
  }

  #announce(taken: ReadonlyMap<number, string>): void {
    const entries = [...taken].map(([position, name]) => [name, addressAt(this.#range, position)] as const)
    const addresses: VirtualAddresses = Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
    if (JSON.stringify(addresses) !== JSON.stringify(this.#table.current())) this.#table.replace(addresses)
  }

  #write(): void {
    const sorted = [...this.#positions].sort(([a], [b]) => (a < b ? -1 : 1))
    writeFileAtomic(this.#file, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`)
  }
}

function nameOf({ metadata }: KindMap['Service']): string {
  return `${metadata.namespace}/${metadata.name}`
}

function exhausted(service: KindMap['Service']): Problem {
  return problemOf(
    service,
    'gets no virtual address: the range of the mesh is used up; remove services, or make this one headless',
  )
}

function contested(service: KindMap['Service'], holder: string): Problem {
  return problemOf(service, `is the virtual address of Service ${holder} already; leave it out, and the mesh finds one`)
}

function problemOf(service: KindMap['Service'], message: string): Problem {
  const code: StandaloneErrorCode = 'OSM_STANDALONE_VIRTUAL_ADDRESS'
  return {
    code,
    severity: 'error',
    message,
    object: objectRef(service),
    origin: service.origin,
    field: 'spec.clusterIP',
  }
}

function isPositions(value: unknown): value is Readonly<Record<string, number>> {
  return isRecord(value) && Object.values(value).every((position) => Number.isInteger(position))
}
