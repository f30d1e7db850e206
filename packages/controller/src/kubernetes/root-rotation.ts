import { type Clock, isPlainObject, type KindMap, pause, type ProcessLogger } from '@osm-ts/core'
import { errorMessage, printable } from '@osm-ts/driver-api/toolkit'

import {
  decideRotation,
  type ReplicaFacts,
  type RootDecision,
  type RootFacts,
  type RootFinding,
} from '../certificates/decide-rotation.js'
import { ISSUING, type RootRecord } from '../certificates/root-record.js'
import type { RotationFault, RotationView } from '../certificates/rotation-view.js'
import type { ControllerErrorCode } from '../errors.js'
import type { ReplicaTrust } from '../replicas/replica-trust.js'

/** The status that the leader writes. */
export interface RootStatus {
  readonly state: string
  readonly conditions: readonly (RootFinding & {
    readonly type: string
    readonly observedGeneration?: number
    readonly lastTransitionTime: string
  })[]
}

/** What {@link RootRotation} works with. */
export interface RootRotationOptions {
  /** Name of the pod of this replica. */
  readonly pod: string
  readonly trustDomain: string
  readonly rotation: Pick<RotationView, 'roots' | 'fault' | 'isPending'>
  /** The MeshRootCertificates of the control plane's namespace. */
  readonly objects: () => readonly KindMap['MeshRootCertificate'][]
  /** How the API server holds one: its generation, and its status. */
  readonly served: (name: string) => { readonly record: RootRecord; readonly status: unknown } | undefined
  /** What sidecars of this replica trust. */
  readonly own: () => ReplicaTrust
  /** What the other replicas have told, by the names of their pods. */
  readonly others: () => ReadonlyMap<string, ReplicaTrust | undefined>
  /** Names of the pods that serve sidecars: a replica among them that is silent is waited for. */
  readonly pods: (signal: AbortSignal) => Promise<readonly string[]>
  readonly write: (name: string, status: RootStatus, signal: AbortSignal) => Promise<void>
  readonly clock: Clock
  readonly logger: ProcessLogger
}

const LOOK_MS = 1_000
/** By then every part of this process knows the new version of an object. Milliseconds. */
const SETTLE_MS = 3_000
/** How often words are written that change nothing. Milliseconds. */
const WORDS_MS = 5_000
/** What was written is back from the API server by then. Milliseconds. */
const ECHO_MS = 3_000
const MAX_MESSAGE = 1_024

/**
 * Decides when another provider signs certificates of workloads, and keeps it in the status of the MeshRootCertificates. Every replica reads it there, and so does the next
 * leader. Only the leader runs it.
 */
export class RootRotation {
  readonly #options: RootRotationOptions
  /** Since when each object has its generation. */
  readonly #since = new Map<string, { readonly generation: number | undefined; readonly at: number }>()
  readonly #written = new Map<string, { readonly text: string; readonly at: number }>()
  #failed = false

  constructor(options: RootRotationOptions) {
    this.#options = options
  }

  /** Runs until the signal aborts: that of a leadership. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options
    const isOver = (): boolean => signal.aborted
    while (!isOver()) {
      try {
        await this.#look(signal)
        this.#failed = false
      } catch (error) {
        if (!isOver() && !this.#failed)
          logger.warn(
            { code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode, reason: errorMessage(error) },
            'the change of the certificate provider cannot go on; it is tried again',
          )
        this.#failed = true
      }
      await pause(clock, LOOK_MS, signal)
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { rotation, write, clock } = this.#options
    const facts = this.#facts()
    // What is not in force yet cannot be told from what was before.
    if (facts.length === 0 || (rotation.isPending && rotation.fault === undefined)) return
    if (!facts.every(({ name }) => this.#isSettled(name))) return
    const decisions = [...decideRotation(facts, await this.#replicas(facts.every(isDecided), signal))]
    // A leader that ends between two writings leaves two that sign rather than none.
    const signsFirst = decisions.sort(([, a], [, b]) => signs(b) - signs(a))
    for (const [name, decision] of signsFirst) {
      const served = this.#options.served(name)
      const before = served?.status
      const status = statusOf(decision, before, clock.now())
      if (served === undefined || says(before, status, true)) continue
      const written = this.#written.get(name)
      const text = JSON.stringify(status)
      const age = clock.now() - (written?.at ?? Number.NEGATIVE_INFINITY)
      if ((written?.text === text && age < ECHO_MS) || (says(before, status, false) && age < WORDS_MS)) continue
      await write(name, status, signal)
      this.#written.set(name, { text, at: clock.now() })
    }
  }

  #facts(): readonly RootFacts[] {
    const { objects, rotation, trustDomain, served } = this.#options
    const roots = rotation.roots()
    return objects().map(({ metadata: { name }, spec }) => {
      const { role = 'active' } = spec
      const fault =
        spec.trustDomain === trustDomain ? faultOf(role, rotation) : otherDomain(trustDomain, spec.trustDomain)
      // The one that is chosen may be open as it was before.
      const root = role === 'active' && rotation.isPending ? undefined : roots.get(name)
      return {
        name,
        role,
        record: served(name)?.record,
        ...(root === undefined ? {} : { root }),
        ...(fault && { fault }),
      }
    })
  }

  #isSettled(name: string): boolean {
    const generation = this.#options.served(name)?.record.generation
    const now = this.#options.clock.now()
    const known = this.#since.get(name)
    if (known === undefined || known.generation !== generation) this.#since.set(name, { generation, at: now })
    else return now - known.at >= SETTLE_MS
    return false
  }

  /**
   * Those whose pods serve, and those that report: a pod that ends has sidecars for a while. Once all is decided, a
   * silent pod changes nothing, and the API server is not asked for pods.
   */
  async #replicas(isAllDecided: boolean, signal: AbortSignal): Promise<readonly ReplicaFacts[]> {
    const { pod, own, others, pods } = this.#options
    const told = others()
    const serving = isAllDecided ? [] : await pods(signal)
    const names = new Set([...serving, ...told.keys()].filter((name) => name !== pod))
    return [
      { name: pod, trust: own() },
      ...[...names].sort().map((name) => {
        const trust = told.get(name)
        return { name, ...(trust && { trust }) }
      }),
    ]
  }
}

/** True once the status says what the role asks for, for the object as it is now. */
function isDecided({ role, record, fault }: RootFacts): boolean {
  if (record === undefined || fault !== undefined) return false
  const { decidedFor, generation, state, isIssuing } = record
  return decidedFor === generation && state === role && isIssuing === (role === 'active')
}

function signs({ issuing }: RootDecision): number {
  return issuing.status === 'True' ? 1 : 0
}

function faultOf(role: string, { fault }: RootRotationOptions['rotation']): RotationFault | undefined {
  return role === 'active' ? fault : undefined
}

function otherDomain(wanted: string, found: string): RotationFault {
  return {
    code: 'OSM_SPEC_TRUST_DOMAIN',
    message: `spec.trustDomain: must be ${wanted}, that of the mesh, got ${JSON.stringify(found)}`,
  }
}

function statusOf({ state, trusted, issuing, decidedFor }: RootDecision, before: unknown, now: number): RootStatus {
  const known = conditionsOf(before)
  const condition = (type: string, { message, ...finding }: RootFinding): RootStatus['conditions'][number] => {
    const earlier = known.find((each) => each.type === type)
    const since = earlier?.status === finding.status ? earlier.lastTransitionTime : undefined
    return {
      type,
      ...finding,
      message: printable(message.slice(0, MAX_MESSAGE)),
      ...(decidedFor === undefined ? {} : { observedGeneration: decidedFor }),
      lastTransitionTime: typeof since === 'string' ? since : new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    }
  }
  return { state, conditions: [condition('Trusted', trusted), condition(ISSUING, issuing)] }
}

/** True if the status says that already; words of messages count where they have to. */
function says(status: unknown, { state, conditions }: RootStatus, words: boolean): boolean {
  if (!isPlainObject(status) || status.state !== state) return false
  const known = conditionsOf(status)
  return conditions.every(({ type, status: value, reason, message, observedGeneration }) =>
    known.some(
      (each) =>
        each.type === type &&
        each.status === value &&
        each.observedGeneration === observedGeneration &&
        (!words || (each.reason === reason && each.message === message)),
    ),
  )
}

function conditionsOf(status: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isPlainObject(status) || !Array.isArray(status.conditions)) return []
  const known: readonly unknown[] = status.conditions
  return known.filter(isPlainObject)
}
