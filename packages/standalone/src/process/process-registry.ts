import { isRecord } from '@osm-ts/driver-api/toolkit'

import { readStateFile } from '../state/state-folder.js'
import { writeFileAtomic } from '../state/write-file.js'
import type { ProcessTable } from './process-identity.js'

/** Variable that every child of a mesh has in its environment: the state folder. */
export const MARK = 'OSM_STANDALONE_STATE'

/** A child as it is written down. */
export interface RecordedProcess {
  readonly pid: number
  readonly started: number
}

interface RegistryFile {
  readonly bootId: string
  readonly processes: readonly RecordedProcess[]
}

/** Writes down which processes were started, so that the next run can end them if this one is killed. */
export class ProcessRegistry {
  readonly #file: string
  readonly #table: ProcessTable
  readonly #running = new Map<number, RecordedProcess>()

  constructor(file: string, table: ProcessTable) {
    this.#file = file
    this.#table = table
  }

  add(pid: number): void {
    const seen = this.#table.find(pid)
    // It has ended already, or this is not Linux: there is nothing that a later run could verify.
    if (seen === undefined) return
    this.#running.set(pid, { pid, started: seen.started })
    this.#write()
  }

  remove(pid: number): void {
    if (this.#running.delete(pid)) this.#write()
  }

  #write(): void {
    const content: RegistryFile = { bootId: this.#table.bootId() ?? '', processes: [...this.#running.values()] }
    writeFileAtomic(this.#file, `${JSON.stringify(content)}\n`)
  }
}

/**
 * Processes of an earlier run that still run, children of theirs included.
 *
 * A recorded process counts only with its very start time. Those that it left behind are found by their session, which no one else can have
 * while one of them lives, and by the mark in their environment.
 */
export function findLeftovers(file: string, stateFolder: string, table: ProcessTable): readonly number[] {
  const recorded = readStateFile(file, isRegistryFile)
  if (recorded === undefined || recorded.processes.length === 0 || recorded.bootId !== table.bootId()) return []
  const startedByPid = new Map(recorded.processes.map(({ pid, started }) => [pid, started]))
  return table
    .list()
    .filter(({ pid, session, started }) => {
      if (startedByPid.get(pid) === started) return true
      const leaderStarted = startedByPid.get(session)
      return leaderStarted !== undefined && started >= leaderStarted && table.variable(pid, MARK) === stateFolder
    })
    .map(({ pid }) => pid)
}

function isRegistryFile(value: unknown): value is RegistryFile {
  return (
    isRecord(value) &&
    typeof value.bootId === 'string' &&
    Array.isArray(value.processes) &&
    value.processes.every(
      (entry: unknown) => isRecord(entry) && Number.isInteger(entry.pid) && Number.isInteger(entry.started),
    )
  )
}
