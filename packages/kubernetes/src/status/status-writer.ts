import type { DriverMetrics, Logger } from '@osm-ts/driver-api'
import {
  type Clock,
  inTurns,
  isGatewayRouteKind,
  type ObjectKey,
  parseObjectKey,
  pause,
  type Problem,
  type ProxyStatus,
  type Random,
  sameValue,
  type Steps,
} from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesManifest } from '../api.js'
import type { EventRecorder } from '../event-recorder.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { apiVersionOf } from '../resource-types.js'
import type { ServedObject } from '../source/kubernetes-source.js'
import { WorkQueue } from '../work-queue.js'
import { nextStatus, saysAll, saysProgrammed, type ObjectStatus, type WantedStatus } from './condition.js'
import { nextRouteStatus, ownEntries, saysParents } from './route-status.js'
import { refKey, refusalsByObject, summarizeRefusals, wantedStatus, type ObjectRefusals } from './wanted-status.js'

/** Objects whose statuses are written. */
export interface StatusTargets {
  /** Keys of all objects of custom kinds. */
  servedKeys(): readonly ObjectKey[]
  /** How the API server holds one; undefined if it doesn't. */
  served(key: ObjectKey): ServedObject | undefined
  /** Calls the listener for every object that was written in any way. The result ends it. */
  onWritten(listener: (key: ObjectKey) => void): () => void
}

/** What a {@link StatusWriter} is made of. */
export interface StatusWriterOptions {
  readonly api: KubernetesApi
  readonly targets: StatusTargets
  readonly events: Pick<EventRecorder, 'record'>
  /** Finds everything that is wrong with what users wrote. */
  readonly problems: () => Steps<readonly Problem[]>
  /** Where those proxies of this replica stand that refuse something; others may be among them. */
  readonly proxies: () => readonly ProxyStatus[]
  /** What proxies of the other replicas refuse; absent where there are none. */
  readonly elsewhere?: () => readonly ObjectRefusals[]
  /** Which objects have not reached all connected sidecars of any replica. */
  readonly awaited: () => (key: ObjectKey) => boolean
  /** Calls the listener when problems may be others than before. The result ends it. */
  readonly subscribe: (listener: () => void) => () => void
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics?: DriverMetrics
}

/** What is said of an object by the API server's leave: everything, what OSM's own definitions had, or nothing. */
type Form = 'conditions' | 'osm' | 'none'

interface Written {
  /** Of the object: another one may have its name by now, of which nothing has been said. */
  readonly uid: string
  readonly wanted: WantedStatus
  /** The status as the API server took it over: it may leave out what its definition of the kind does not know. */
  readonly answered: unknown
  /** The status that was written over, and until when it is taken for one that has not been heard of the writing. */
  readonly before: unknown
  readonly until: number
}

/** How often it is looked whether anything is new, in milliseconds. */
const STATUS_LOOK_MS = 1_000
/** How many times longer than the work of a look the pause after it is: in a mesh that never rests problems are found out again each time. */
const REST = 20
/** Delay before the status of a new version of an object is written. By then its problems are known. */
const SETTLE_MS = 2_500
/** By when what was written has returned from the API server, in milliseconds. */
const ECHO_MS = 10_000
const CONCURRENCY = 4
const none = { first: [], count: 0 } as const
/** Owner of what is written. */
const FIELD_MANAGER = 'osm-controller'

/**
 * Tells users in the status of their objects what the mesh makes of them. One writer at a time: the leader's.
 *
 * Nothing is written that the object says already. Where the cluster's definition of a kind has no status that can be
 * written, an event says what is wrong instead.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #queue: WorkQueue
  readonly #written = new Map<ObjectKey, Written>()
  readonly #forms = new Map<string, Form>()
  readonly #told = new Map<ObjectKey, string>()
  readonly #count: (result: 'written' | 'failed') => void
  #problems: ReadonlyMap<string, readonly Problem[]> = new Map()
  #refusals: ReadonlyMap<string, ObjectRefusals> = new Map()
  #isAwaited: (key: ObjectKey) => boolean = () => false
  /** Objects whose status is to say that sidecars have not acknowledged them. */
  readonly #awaiting = new Set<ObjectKey>()
  #stale = true

  constructor(options: StatusWriterOptions) {
    const { clock, random, logger, metrics } = options
    const counter = metrics?.counter('osm_status_write_count', 'Statuses of objects by result of the write', ['result'])
    this.#options = options
    this.#count = (result) => counter?.inc({ result })
    this.#queue = new WorkQueue({
      handle: (key, signal) => this.#bring(key as ObjectKey, signal), // only keys of objects are added
      concurrency: CONCURRENCY,
      clock,
      random,
      onFault: (key, error, failures) => {
        this.#count('failed')
        if (failures === 1) logger.warn({ object: key, reason: errorMessage(error) }, 'a status cannot be written')
      },
    })
  }

  /** Writes statuses until the signal aborts: that of a leadership. */
  async run(signal: AbortSignal): Promise<void> {
    this.#stale = true
    const ends = [
      this.#options.subscribe(() => {
        this.#stale = true
      }),
      this.#options.targets.onWritten((key) => this.#queue.addAfter(key, SETTLE_MS)),
    ]
    try {
      await Promise.all([this.#queue.run(signal), this.#look(signal)])
    } finally {
      for (const end of ends) end()
      this.#written.clear()
      this.#forms.clear()
      this.#told.clear()
      this.#awaiting.clear()
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, problems, proxies, elsewhere, awaited, targets } = this.#options
    let isFirst = true
    while (!signal.aborted) {
      let workedMs = 0
      const onTurn = (milliseconds: number): void => {
        workedMs += milliseconds
      }
      const refusals = refusalsByObject([...summarizeRefusals(proxies()), ...(elsewhere?.() ?? [])])
      // What was written comes by itself, see `onWritten`; of all else the status stays right.
      const due = new Set([...this.#awaiting, ...changedKeys(this.#refusals, refusals)])
      if (this.#stale) {
        this.#stale = false
        const found = await inTurns(problems(), signal, { onTurn })
        if (found === undefined) return
        const before = this.#problems
        this.#problems = byObject(found)
        for (const key of changedKeys(before, this.#problems)) due.add(key)
      }
      this.#refusals = refusals
      this.#isAwaited = awaited()
      await inTurns(this.#queueDue(isFirst ? targets.servedKeys() : [...due]), signal, { onTurn })
      isFirst = false
      await pause(clock, Math.max(STATUS_LOOK_MS, workedMs * REST), signal)
    }
  }

  *#queueDue(keys: readonly ObjectKey[]): Steps<void> {
    for (const key of keys) {
      if (this.#isDue(key)) this.#queue.add(key)
      yield
    }
  }

  #isDue(key: ObjectKey): boolean {
    const served = this.#options.targets.served(key)
    if (served === undefined) return false
    const wanted = this.#wanted(key, served)
    return this.#formOf(key, served) === 'none'
      ? this.#told.get(key) !== eventText(wanted)
      : !this.#says(key, served, wanted)
  }

  /** Brings the status of an object up to date. */
  async #bring(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const served = this.#options.targets.served(key)
    if (served === undefined) {
      this.#written.delete(key)
      this.#told.delete(key)
      this.#awaiting.delete(key)
      return
    }
    const wanted = this.#wanted(key, served)
    for (;;) {
      const form = this.#formOf(key, served)
      if (form === 'none') {
        this.#tell(key, served, wanted)
        return
      }
      if (this.#says(key, served, wanted)) return
      try {
        await this.#write(key, served, wanted, form, signal)
        return
      } catch (error) {
        if (isKubernetesError(error) && error.notFound) return
        if (!isUndeclared(error)) throw error
        this.#forms.set(formKey(key, served), form === 'conditions' ? 'osm' : 'none')
      }
    }
  }

  async #write(
    key: ObjectKey,
    served: ServedObject,
    wanted: WantedStatus,
    form: Form,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, clock } = this.#options
    const { type, facts } = served
    const { namespace, name } = nameOf(key)
    const before = this.#known(key, served)
    const status =
      wanted.parents === undefined
        ? inForm(nextStatus(wanted, before, clock.now()), form)
        : nextRouteStatus(wanted.parents, wanted.generation, before, clock.now())
    const manifest: KubernetesManifest = {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      // With the uid an object that took the place of this one is left alone.
      metadata: { name, ...(namespace === '' ? {} : { namespace }), ...(facts.uid === '' ? {} : { uid: facts.uid }) },
      status,
    }
    const answer = await api.apply(type, manifest, {
      subresource: 'status',
      fieldManager: FIELD_MANAGER,
      force: true,
      signal,
    })
    this.#count('written')
    const until = clock.now() + ECHO_MS
    this.#written.set(key, { uid: facts.uid, wanted, answered: answer.status, before: facts.status, until })
    this.#queue.addAfter(key, ECHO_MS)
  }

  #tell(key: ObjectKey, { type, facts }: ServedObject, wanted: WantedStatus): void {
    const text = eventText(wanted)
    const before = this.#told.get(key)
    this.#told.set(key, text)
    const isFault = wanted.currentStatus === 'error'
    // A healthy status is written only after a fault.
    if (before === text || (before === undefined && !isFault)) return
    const { namespace, name } = nameOf(key)
    const finding = wanted.findings.find(({ status }) => status === (isFault ? 'False' : 'True'))
    this.#options.events.record({
      object: { apiVersion: apiVersionOf(type), kind: type.kind, namespace, name, uid: facts.uid },
      type: isFault ? 'Warning' : 'Normal',
      reason: finding?.reason ?? 'Accepted',
      message: wanted.reason,
    })
  }

  #says(key: ObjectKey, { facts }: ServedObject, wanted: WantedStatus): boolean {
    const { parents, generation } = wanted
    if (parents === undefined ? saysAll(facts.status, wanted) : saysParents(facts.status, parents, generation))
      return true
    const written = this.#written.get(key)
    if (written?.uid !== facts.uid || !sameValue(written.wanted, wanted)) return false
    if (sameValue(written.answered, facts.status)) return true
    return this.#options.clock.now() < written.until && sameValue(written.before, facts.status)
  }

  /** The status as it stands: what was written last, for as long as the watch still shows what was there before. */
  #known(key: ObjectKey, { facts }: ServedObject): unknown {
    const written = this.#written.get(key)
    return written?.uid === facts.uid && sameValue(written.before, facts.status) ? written.answered : facts.status
  }

  #wanted(key: ObjectKey, served: ServedObject): WantedStatus {
    const { facts, object } = served
    const { kind } = nameOf(key)
    const problems = this.#problems.get(key) ?? []
    const refusals = this.#refusals.get(key) ?? none
    // Said once of a version of an object it stays true: sidecars that connect later start with it.
    const awaited = this.#isAwaited(key) && !wasProgrammed(this.#known(key, served), facts.generation)
    if (awaited) this.#awaiting.add(key)
    else this.#awaiting.delete(key)
    return wantedStatus({ kind, object, generation: facts.generation, problems, refusals, awaited })
  }

  #formOf(key: ObjectKey, served: ServedObject): Form {
    // What is of no namespace is of no mesh: leaders of several meshes would write over each other forever.
    if (nameOf(key).namespace === '') return 'none'
    // The status of a route has no place for what is wrong with it as a whole.
    if (isGatewayRouteKind(kindOf(key)) && served.object === undefined) return 'none'
    return served.hasStatus ? (this.#forms.get(formKey(key, served)) ?? 'conditions') : 'none'
  }
}

/** True if a status says that sidecars have acknowledged that version of its object. */
function wasProgrammed(status: unknown, generation: number | undefined): boolean {
  return [status, ...ownEntries(status)].some((holder) => saysProgrammed(holder, generation))
}

/** Definitions of kinds that other versions have installed may not know all that a status says. */
function inForm(status: ObjectStatus, form: Form): Partial<ObjectStatus> {
  const { currentStatus, reason } = status
  return form === 'conditions' ? status : { currentStatus, reason }
}

/** True if the API server's definition of the kind does not know a field. */
function isUndeclared(error: unknown): boolean {
  return isKubernetesError(error) && /field not declared in schema/.test(error.message)
}

function byObject(problems: readonly Problem[]): ReadonlyMap<string, readonly Problem[]> {
  const found = new Map<string, Problem[]>()
  for (const problem of problems) {
    if (problem.object === undefined) continue
    const key = refKey(problem.object)
    const known = found.get(key)
    if (known === undefined) found.set(key, [problem])
    else known.push(problem)
  }
  return found
}

/** Keys of objects of which two maps say different things. */
function changedKeys(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): readonly ObjectKey[] {
  const keys = [...after].flatMap(([key, value]) => (sameValue(before.get(key), value) ? [] : [key]))
  for (const key of before.keys()) if (!after.has(key)) keys.push(key)
  return keys as ObjectKey[] // `refKey` gives them
}

function eventText({ currentStatus, reason }: WantedStatus): string {
  return `${currentStatus}: ${reason}`
}

function formKey(key: ObjectKey, { type }: ServedObject): string {
  return `${kindOf(key)}/${type.version}`
}

function kindOf(key: ObjectKey): string {
  return nameOf(key).kind
}

function nameOf(key: ObjectKey): { readonly kind: string; readonly namespace: string; readonly name: string } {
  const parsed = parseObjectKey(key)
  if (parsed === undefined) throw new RangeError(`${key} is not a key of an object`)
  return parsed
}
