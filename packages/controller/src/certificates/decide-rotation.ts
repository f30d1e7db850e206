import type { ReplicaTrust } from '../replicas/replica-trust.js'
import { isSigning, mayIssue, type RootRecord } from './root-record.js'
import type { RotationFault } from './rotation-view.js'

/** A MeshRootCertificate, and what the leader knows of it. */
export interface RootFacts {
  readonly name: string
  readonly role: 'active' | 'passive' | 'inactive'
  /** What was decided before. */
  readonly record: RootRecord | undefined
  /** Fingerprint of its root; absent while its provider is not open. */
  readonly root?: string
  readonly fault?: RotationFault
}

/** A replica that serves sidecars. */
export interface ReplicaFacts {
  /** Name of its pod. */
  readonly name: string
  /** What it has told last; absent while it is silent. */
  readonly trust?: ReplicaTrust
}

/** What a condition of a MeshRootCertificate says. */
export interface RootFinding {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** `status.state`, in the words of OSM, and `passive` for a root that is trusted and does not sign. */
export type RootState =
  'validatingRollout' | 'issuingRollout' | 'active' | 'issuingRollback' | 'passive' | 'inactive' | 'error'

/** What the status of a MeshRootCertificate is to say. */
export interface RootDecision {
  readonly state: RootState
  readonly trusted: RootFinding
  readonly issuing: RootFinding
  /** Generation of the object that {@link issuing} is about. */
  readonly decidedFor: number | undefined
}

const NOT_USED: RootFinding = { status: 'False', reason: 'NotUsed', message: 'spec.role is inactive' }

/**
 * Decides which provider signs, and how far each is. The active one signs once every replica says that all of its sidecars trust its root. Until then, the one that was
 * let sign before goes on. A decision is never taken back for a replica that falls silent: the roots of both stay trusted.
 */
export function decideRotation(
  roots: readonly RootFacts[],
  replicas: readonly ReplicaFacts[],
): ReadonlyMap<string, RootDecision> {
  const actives = roots.filter(({ role }) => role === 'active')
  const next = actives.length === 1 ? actives[0] : undefined
  const signs = next !== undefined && maySign(next, replicas)
  return new Map(roots.map((root) => [root.name, decideOne(root, root === next && signs, signs, replicas)]))
}

function maySign(next: RootFacts, replicas: readonly ReplicaFacts[]): boolean {
  const { root, fault, record } = next
  if (root === undefined || fault !== undefined) return false
  return mayIssue(record) || signEverywhere(root, replicas) || waitsFor(root, replicas, true) === undefined
}

function decideOne(
  facts: RootFacts,
  isNext: boolean,
  nextSigns: boolean,
  replicas: readonly ReplicaFacts[],
): RootDecision {
  const { role, record, root, fault } = facts
  const generation = record?.generation
  if (role === 'inactive') return { state: 'inactive', trusted: NOT_USED, issuing: NOT_USED, decidedFor: generation }
  const goesOn = !nextSigns && isSigning(record)
  const missing =
    fault !== undefined
      ? fault.message
      : root === undefined
        ? 'its provider is not open yet'
        : trustMissing(facts, root, replicas)
  const trusted: RootFinding =
    missing === undefined
      ? { status: 'True', reason: 'Confirmed', message: 'all connected sidecars trust the root' }
      : { status: 'False', reason: fault?.code ?? 'Waiting', message: missing }
  return {
    state: stateOf(facts, { isNext, goesOn, isTrusted: missing === undefined }, replicas),
    trusted,
    issuing: issuingOf(facts, { isNext, goesOn }, replicas),
    // What is about to sign as the object was before has to be decided for what it is now.
    decidedFor: goesOn && role === 'active' ? record?.decidedFor : generation,
  }
}

function issuingOf(
  { role, root, fault }: RootFacts,
  { isNext, goesOn }: { readonly isNext: boolean; readonly goesOn: boolean },
  replicas: readonly ReplicaFacts[],
): RootFinding {
  if (isNext) return { status: 'True', reason: 'Issuing', message: signsMessage(replicas) }
  const waiting =
    fault?.message ?? (root === undefined ? 'its provider is not open yet' : waitsFor(root, replicas, true))
  if (goesOn)
    return role === 'passive'
      ? { status: 'True', reason: 'UntilNext', message: 'signs until the next one may' }
      : {
          status: 'True',
          reason: fault?.code ?? 'Unchanged',
          message: `signs as before its last change: ${waiting ?? 'others do not sign yet'}`,
        }
  if (role === 'passive') return { status: 'False', reason: 'Passive', message: 'is trusted and does not sign' }
  return { status: 'False', reason: fault?.code ?? 'Waiting', message: waiting ?? 'more than one is active' }
}

function signsMessage(replicas: readonly ReplicaFacts[]): string {
  const former = replicas.reduce((sum, { trust }) => sum + (trust?.former ?? 0), 0)
  return former === 0 ? 'signs certificates of workloads' : `signs; ${former} certificates of former roots are in force`
}

function stateOf(
  { role, record, root = '', fault }: RootFacts,
  { isNext, goesOn, isTrusted }: { readonly isNext: boolean; readonly goesOn: boolean; readonly isTrusted: boolean },
  replicas: readonly ReplicaFacts[],
): RootState {
  if (fault !== undefined) return 'error'
  const known = replicas.flatMap(({ trust }) => trust ?? [])
  const isReplaced = known.every(({ signs, former }) => signs === root && former === 0)
  if (isNext) {
    const isKnown = known.length === replicas.length || record?.state === 'active'
    return isReplaced && isKnown ? 'active' : 'issuingRollout'
  }
  if (goesOn) return 'active'
  if (role === 'passive' && ['active', 'issuingRollout', 'issuingRollback'].includes(record?.state ?? '')) {
    const isInUse = known.some(({ signs, former }) => signs === root || former > 0)
    if (isInUse || isSigning(record)) return 'issuingRollback'
  }
  return role === 'passive' && isTrusted ? 'passive' : 'validatingRollout'
}

/** Which replica does not trust a root; undefined: all do. One that falls silent later changes nothing. */
function trustMissing({ record }: RootFacts, root: string, replicas: readonly ReplicaFacts[]): string | undefined {
  const wasTrusted = record?.state === 'passive' || record?.state === 'active' || isSigning(record)
  const heard = wasTrusted ? replicas.filter(({ trust }) => trust !== undefined) : replicas
  return waitsFor(root, heard, false)
}

function signEverywhere(root: string, replicas: readonly ReplicaFacts[]): boolean {
  return replicas.length > 0 && replicas.every(({ trust }) => trust?.signs === root)
}

/**
 * The first thing that keeps a root from signing; undefined: nothing does.
 *
 * @param isToSign - true: the replica must wait for it, and each sidecar must be up to date now. False: all have trusted it once.
 */
function waitsFor(root: string, replicas: readonly ReplicaFacts[], isToSign: boolean): string | undefined {
  for (const { name, trust } of replicas) {
    if (trust === undefined) return `replica ${name} does not report what its sidecars trust`
    if (trust.fault !== undefined) return `replica ${name}: ${trust.fault.message}`
    const { connected = 0, missing = 0, first = [] } = trust.sidecars ?? {}
    const isConfirmed = trust.confirmed.includes(root)
    if ((isToSign || !isConfirmed) && missing > 0)
      return `replica ${name}: ${missing} of ${connected} sidecars have not confirmed their configuration, such as ${first.join(', ')}`
    if (!isConfirmed) return `replica ${name}: sidecars learn to trust the root`
    if (isToSign && trust.next !== root && trust.signs !== root)
      return `replica ${name} has not taken up the change yet`
  }
  return replicas.length === 0 ? 'no replica is known' : undefined
}
