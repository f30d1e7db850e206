import type { MeshCatalog, DriverHost, ObjectKey } from '@osm-ts/core'
import { isObjectRefusals, type ObjectRefusals } from '@osm-ts/kubernetes'

import { parseReplicaTrust, type ReplicaTrust } from './replica-trust.js'

/** What a replica tells the leader. */
export interface ReplicaReport {
  /** Identity of the replica. */
  readonly replica: string
  /** What its sidecars refuse, by object. */
  readonly refusals: readonly ObjectRefusals[]
  /** Keys of objects of which its sidecars have not acknowledged something; {@link ALL_OBJECTS} for too many. */
  readonly awaited: readonly string[]
  /** Which roots its sidecars trust; absent where the certificate provider never changes. */
  readonly trust?: ReplicaTrust
}

/** A replica tells the leader this often, whether anything is new or not. Milliseconds. */
export const REPORT_PERIOD_MS = 5_000
/** A replica that has been silent for this long has no sidecars any more: they have connected to another one. Milliseconds. */
const SILENT_MS = 3 * REPORT_PERIOD_MS
/** Replicas that are heard. */
const MAX_REPLICAS = 256

/** Reads a report; undefined where it is none. */
export function parseReplicaReport(value: unknown): ReplicaReport | undefined {
  if (typeof value !== 'object' || value === null || !('replica' in value) || !('refusals' in value)) return undefined
  const { replica, refusals } = value
  if (typeof replica !== 'string' || replica === '' || !Array.isArray(refusals)) return undefined
  const known: readonly unknown[] = refusals
  if (!known.every(isObjectRefusals)) return undefined
  // A replica of an older version does not tell.
  const awaited: unknown = 'awaited' in value ? value.awaited : []
  if (!isListOfText(awaited)) return undefined
  const trust = 'trust' in value ? parseReplicaTrust(value.trust) : undefined
  return { replica, refusals: known, awaited, ...(trust && { trust }) }
}

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** What the other replicas have told the leader last. */
export class ReplicaReports {
  readonly #monotonic: () => number
  readonly #reports = new Map<string, { readonly report: ReplicaReport; readonly at: number }>()

  /** @param monotonic - milliseconds that never run backwards */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** False if there are too many replicas to hear this one. */
  take(report: ReplicaReport): boolean {
    this.#forgetSilent()
    if (!this.#reports.has(report.replica) && this.#reports.size >= MAX_REPLICAS) return false
    this.#reports.set(report.replica, { report, at: this.#monotonic() })
    return true
  }

  /** What sidecars of all other replicas refuse. */
  refusals(): readonly ObjectRefusals[] {
    this.#forgetSilent()
    return [...this.#reports.values()].flatMap(({ report }) => report.refusals)
  }

  /** Keys of objects of which sidecars of all other replicas have not acknowledged something. */
  awaited(): ReadonlySet<string> {
    this.#forgetSilent()
    return new Set([...this.#reports.values()].flatMap(({ report }) => report.awaited))
  }

  /** Which roots sidecars of the other replicas trust, by replica; undefined: it does not tell. */
  trusts(): ReadonlyMap<string, ReplicaTrust | undefined> {
    this.#forgetSilent()
    return new Map([...this.#reports].map(([replica, { report }]) => [replica, report.trust]))
  }

  #forgetSilent(): void {
    const oldest = this.#monotonic() - SILENT_MS
    for (const [replica, { at }] of this.#reports) if (at < oldest) this.#reports.delete(replica)
  }
}

/** Stands for all objects, where there are too many to tell one by one. */
export const ALL_OBJECTS = '*'
/** Objects that a replica tells the leader. */
const MAX_TOLD = 1_000

/** Keys of objects of which a sidecar that is connected to this replica has not acknowledged something. */
export function awaitedObjects(
  host: Pick<DriverHost, 'unacknowledgedParts'>,
  catalog: Pick<MeshCatalog, 'objectsOf'>,
): ReadonlySet<ObjectKey> {
  return catalog.objectsOf(host.unacknowledgedParts())
}

/** The same for a report to the leader. */
export function toldObjects(keys: ReadonlySet<ObjectKey>): readonly string[] {
  return keys.size > MAX_TOLD ? [ALL_OBJECTS] : [...keys].sort()
}
