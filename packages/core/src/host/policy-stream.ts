import type { ApplyReport, PartReport } from '@osm-ts/driver-api'
import {
  denyForm,
  type InboundPart,
  type PartHash,
  type PolicyUpdate,
  type PrincipalsPart,
  type ProxyPart,
  removesAccess,
} from '@osm-ts/driver-api/policy'
import { Latest } from '@osm-ts/driver-api/toolkit'

import { type PolicyPart, makePart } from '../catalog/policy/parts/policy-part.js'
import type { PolicyDiff, PolicyDiffs } from '../catalog/store/policy-diff.js'
import type { PolicyPartStore } from '../catalog/store/policy-part-store.js'
import type { UnprotectedPort } from './unprotected-by-class.js'
import type { ConnectedState } from './push-metrics.js'
import type { SessionPushes } from './push-log.js'
import { findPart, type Refusal } from './refusal.js'

/** How far a proxy has come with its policy. */
export interface PolicyProgress {
  /** Revision that the proxy was given last; 0 before the first. */
  readonly revision: number
  readonly version: PartHash | undefined
  /** Last revision that the proxy acknowledged as a whole. */
  readonly appliedRevision: number
  readonly appliedVersion: PartHash | undefined
  /** Milliseconds since 1970 of the last report, if there was one. */
  readonly lastReport: number | undefined
  /** Parts whose last report was a refusal, by part id. */
  readonly rejected: ReadonlyMap<string, Refusal>
  /** Ids of inbound parts that are in their deny form. */
  readonly denied: readonly string[]
  /** False while the proxy has not acknowledged endpoints that are apart from its policy. */
  readonly hasEndpoints: boolean
}

/** Versions that are held beside the acknowledged one. A proxy that never acknowledges must not have each version of a mesh held that changes. */
const MAX_UNACKNOWLEDGED = 64

interface Given {
  readonly revision: number
  readonly policy: PolicyPart<ProxyPart>
}

/**
 * The policy of one session: what it was given, what it took, and where it has to be kept out.
 *
 * A refused change that removes access must not leave the access in place. Where a proxy refuses such a change, the inbound part concerned is given in its
 * deny form until the policy says something new. So is one that its class could not protect, from the start.
 */
export class PolicyStream {
  readonly #store: PolicyPartStore
  readonly #diffs: PolicyDiffs
  readonly #pushes: Pick<SessionPushes, 'given'> | undefined
  readonly #beyond: (part: InboundPart) => UnprotectedPort | undefined
  readonly #target = new Latest<PolicyPart<ProxyPart>>()
  readonly #rejected = new Map<string, Refusal>()
  /** Inbound part id → hash of the refused part. */
  readonly #denied = new Map<string, PartHash>()
  /** Inbound parts that the proxy has acknowledged, by id. */
  readonly #enforced = new Map<string, PolicyPart<InboundPart>>()
  /** The last one acknowledged as a whole, and the newest of those given since. Oldest first. */
  readonly #given: Given[] = []
  /** Parts of the policy given last that the proxy has acknowledged one by one, since it acknowledged a policy as a whole. */
  readonly #acknowledged = new Set<PartHash>()
  #wanted: PolicyPart<ProxyPart> | undefined
  /** The difference that was requested last. */
  #lastDiff:
    { readonly before: PolicyPart | undefined; readonly after: PolicyPart; readonly diff: PolicyDiff } | undefined
  #revision = 0
  #applied: { readonly revision: number; readonly version: PartHash } | undefined
  #lastReport: number | undefined
  /** The last generation of endpoints, apart from the policy, that concerns it. */
  #wantedEndpoints = 0
  /** Parts of which the proxy has not acknowledged the endpoints. */
  readonly #awaitedEndpoints = new Set<PartHash>()

  /**
   * @param pushes - told which steps are taken
   * @param beyond - why a served port has to stay closed, if it has to
   */
  constructor(
    store: PolicyPartStore,
    diffs: PolicyDiffs,
    pushes?: Pick<SessionPushes, 'given'>,
    beyond: (part: InboundPart) => UnprotectedPort | undefined = () => undefined,
  ) {
    this.#store = store
    this.#beyond = beyond
    this.#diffs = diffs
    this.#pushes = pushes
  }

  /** Sets the policy that the proxy should have. */
  want(policy: PolicyPart<ProxyPart>): void {
    const served = this.#wanted?.part.inbound
    this.#wanted = policy
    // Most changes are of what a proxy calls, and leave what it serves as it was.
    if (served !== policy.part.inbound) this.#judgeServed(policy)
    this.#retarget()
  }

  /** Endpoints of those parts of the policy are others from that generation on. */
  wantEndpoints(generation: number, parts: Iterable<PartHash>): void {
    this.#wantedEndpoints = generation
    for (const part of parts) this.#awaitedEndpoints.add(part)
  }

  /** Parts of which the proxy has not acknowledged the endpoints. */
  get awaitedEndpoints(): ReadonlySet<PartHash> {
    return this.#awaitedEndpoints
  }

  /** The policy names none of these parts any more, so that nothing will be acknowledged. */
  forgetEndpoints(): void {
    this.#awaitedEndpoints.clear()
  }

  /** Finds the served ports that are in their deny form from now on, and those that no longer do. */
  #judgeServed(policy: PolicyPart<ProxyPart>): void {
    for (const [id, hash] of this.#denied) if (inboundPart(policy, id)?.hash !== hash) this.#denied.delete(id)
    for (const { id, part: hash } of policy.part.inbound) {
      const part = inboundPart(policy, id)
      const beyond = part === undefined ? undefined : this.#beyond(part.part)
      if (beyond === undefined) continue
      this.#rejected.set(id, { report: { hash, id, state: 'rejected', ...beyond }, part })
      this.#denied.set(id, hash)
    }
  }

  /** The steps of the session, coalesced. */
  async *steps(signal: AbortSignal): AsyncGenerator<PolicyUpdate, void, undefined> {
    for await (const policy of this.#target.watch(signal)) {
      const before = this.#given.at(-1)?.policy
      if (before?.hash === policy.hash) {
        this.#pushes?.given(this.#revision)
        continue
      }
      this.#revision += 1
      this.#pushes?.given(this.#revision)
      this.#store.retain(policy)
      this.#given.push({ revision: this.#revision, policy })
      this.#boundGiven()
      const { added, removed } = this.#between(before, policy)
      for (const { hash } of removed) this.#acknowledged.delete(hash)
      yield { revision: this.#revision, version: policy.hash, proxy: policy.part, added, removed }
    }
  }

  /** Takes in what the proxy said. */
  report(report: ApplyReport, now: number): void {
    this.#lastReport = now
    if (report.endpoints !== undefined && report.endpoints >= this.#wantedEndpoints) this.#awaitedEndpoints.clear()
    // Most reports say that endpoints have arrived, of a policy that was acknowledged before.
    const isKnown = report.complete && report.parts.length === 0 && this.#rejected.size === 0
    if (isKnown && this.#applied?.revision === report.revision) return
    const given = this.#given.find(({ revision }) => revision === report.revision)
    if (report.revision === this.#revision) this.#noteAcknowledged(report.parts)
    for (const part of report.parts) this.#reportPart(part, given?.policy)
    if (!report.complete || given === undefined) return
    this.#applied = { revision: given.revision, version: given.policy.hash }
    if (given.revision === this.#revision) {
      this.#acknowledged.clear()
      this.#lastDiff = undefined
    }
    // All of it was taken. What stays refused is what is in its deny form; a refused part that is no longer wanted is history.
    for (const id of this.#rejected.keys()) if (!this.#denied.has(id)) this.#rejected.delete(id)
    this.#forgetBefore(given.revision)
    const { inbound } = given.policy.part
    for (const id of this.#enforced.keys()) if (!inbound.some((binding) => binding.id === id)) this.#enforced.delete(id)
  }

  /** Ends the stream and releases its parts. */
  close(): void {
    this.#target.close()
    for (const { policy } of this.#given.splice(0)) this.#store.release(policy)
  }

  get progress(): PolicyProgress {
    const last = this.#given.at(-1)
    return {
      revision: last?.revision ?? 0,
      version: last?.policy.hash,
      appliedRevision: this.#applied?.revision ?? 0,
      appliedVersion: this.#applied?.version,
      lastReport: this.#lastReport,
      rejected: this.#rejected,
      denied: [...this.#denied.keys()].sort(),
      hasEndpoints: this.#hasEndpoints,
    }
  }

  /** What became of the policy that the proxy should have. */
  get state(): ConnectedState {
    if (this.#rejected.size > 0) return 'rejected'
    const isApplied = this.#applied !== undefined && this.#applied.version === this.#wanted?.hash
    return isApplied && this.#hasEndpoints ? 'applied' : 'unknown'
  }

  /** Parts of the policy that the proxy should have which it has not acknowledged. */
  unacknowledged(): readonly PartHash[] {
    const wanted = this.#wanted
    if (wanted === undefined || wanted.hash === this.#applied?.version) return []
    const before = this.#given.find(({ revision }) => revision === this.#applied?.revision)?.policy
    const { added } = this.#between(before, wanted)
    return added.map(({ hash }) => hash).filter((hash) => !this.#acknowledged.has(hash))
  }

  /** The difference is requested again each second until it is acknowledged. */
  #between(before: PolicyPart<ProxyPart> | undefined, after: PolicyPart<ProxyPart>): PolicyDiff {
    const last = this.#lastDiff
    if (last?.before === before && last?.after === after) return last.diff
    const diff = this.#diffs.between(before, after)
    this.#lastDiff = { before, after, diff }
    return diff
  }

  get #hasEndpoints(): boolean {
    return this.#awaitedEndpoints.size === 0
  }

  #noteAcknowledged(parts: readonly PartReport[]): void {
    for (const { hash, state } of parts) {
      if (state === 'applied') this.#acknowledged.add(hash)
      else this.#acknowledged.delete(hash)
    }
  }

  #reportPart(report: PartReport, policy: PolicyPart<ProxyPart> | undefined): void {
    const inbound = policy === undefined ? undefined : inboundPart(policy, report.id)
    const concerned = inbound?.hash === report.hash ? inbound : undefined
    if (report.state === 'rejected') {
      this.#rejected.set(report.id, { report, part: this.#partOf(report, policy) })
      if (concerned !== undefined) this.#denyIfNeeded(concerned)
      return
    }
    // What is in its deny form stays reported as refused: the deny form was taken, the policy was not.
    if (!this.#denied.has(report.id)) this.#rejected.delete(report.id)
    if (report.state === 'applied' && concerned !== undefined) this.#enforced.set(report.id, concerned)
  }

  /** A proxy may refuse what a newer policy has replaced meanwhile. */
  #partOf(report: PartReport, policy: PolicyPart<ProxyPart> | undefined): PolicyPart | undefined {
    const others = this.#given.map((given) => given.policy).reverse()
    return findPart(
      [policy, ...others, this.#wanted].filter((each) => each !== undefined),
      report,
    )
  }

  #denyIfNeeded(refused: PolicyPart<InboundPart>): void {
    const { id } = refused.part
    const enforced = this.#enforced.get(id)
    if (enforced === undefined || this.#denied.has(id)) return
    // What a newer policy has replaced is not closed: the proxy is given the newer part, and answers for that.
    if (this.#wanted === undefined || inboundPart(this.#wanted, id)?.hash !== refused.hash) return
    const principals = new Map<PartHash, PrincipalsPart>()
    for (const { hash, part } of [...enforced.children, ...refused.children]) {
      if (part.kind === 'principals') principals.set(hash, part)
    }
    if (!removesAccess(enforced.part, refused.part, (hash) => principals.get(hash))) return
    this.#denied.set(id, refused.hash)
    this.#retarget()
  }

  #retarget(): void {
    if (this.#wanted !== undefined) this.#target.set(withDenials(this.#wanted, this.#denied))
  }

  /** What the proxy has acknowledged stays: what it still needs is told from that. */
  #boundGiven(): void {
    const first = this.#given[0]?.revision === this.#applied?.revision ? 1 : 0
    const excess = this.#given.length - first - MAX_UNACKNOWLEDGED
    if (excess <= 0) return
    for (const { policy } of this.#given.splice(first, excess)) this.#store.release(policy)
  }

  #forgetBefore(revision: number): void {
    while (this.#given[0] !== undefined && this.#given[0].revision < revision) {
      this.#store.release(this.#given[0].policy)
      this.#given.shift()
    }
  }
}

/** The inbound part of that id. */
function inboundPart(policy: PolicyPart<ProxyPart>, id: string): PolicyPart<InboundPart> | undefined {
  const hash = policy.part.inbound.find((binding) => binding.id === id)?.part
  if (hash === undefined) return undefined
  const child = policy.children.find((part) => part.hash === hash)
  return child?.part.kind === 'inbound' ? (child as PolicyPart<InboundPart>) : undefined // narrowed by the line before
}

/** The policy with the given inbound parts in their deny form. */
function withDenials(policy: PolicyPart<ProxyPart>, denied: ReadonlyMap<string, PartHash>): PolicyPart<ProxyPart> {
  const replacements = new Map<PartHash, PolicyPart<InboundPart>>()
  for (const id of denied.keys()) {
    const part = inboundPart(policy, id)
    if (part !== undefined) replacements.set(part.hash, makePart(denyForm(part.part), { origins: part.origins }))
  }
  if (replacements.size === 0) return policy
  const inbound = policy.part.inbound.map((binding) => ({
    ...binding,
    part: replacements.get(binding.part)?.hash ?? binding.part,
  }))
  const children = policy.children.map((child) => replacements.get(child.hash) ?? child)
  return makePart({ ...policy.part, inbound }, { origins: policy.origins, children })
}
