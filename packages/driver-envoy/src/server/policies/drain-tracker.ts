import {
  type EgressPart,
  type InboundPart,
  type IngressPart,
  type MeshPart,
  type Part,
  type PartHash,
  type PrincipalsPart,
  type ProxyPart,
  removesAccess,
  removesEgressAccess,
  removesIngressAccess,
  type TrustPart,
} from '@osm-ts/driver-api/policy'

import { egressDrainId, FORWARD_PROXY_DRAIN } from '../../resources/drain-ids.js'
import { contentVersion } from '../../resources/encoded-resource.js'
import type { DrainEpochs } from './translator-port.js'
import { labelId, type LabelledEpochs } from '../state/version-label.js'

const EPOCH_LENGTH = 8

/** A policy at one moment: the proxy part, and the parts that it refers to. */
export interface PolicyView {
  readonly proxy: ProxyPart
  readonly find: (hash: PartHash) => Part | undefined
}

/** What changed while a proxy was away. */
export interface MissedChanges {
  /** Ids of served ports and of ways out. */
  readonly ids: ReadonlySet<string>
  readonly rootsChanged: boolean
}

/** The hash that a served port has in a policy, by id. */
interface Served {
  readonly inbound: ReadonlyMap<string, PartHash>
  readonly ingress: ReadonlyMap<string, PartHash>
  /** Ids of epochs of ways out of the mesh. */
  readonly egress: readonly string[]
}

/**
 * Remembers for each served port, and for each way out of the mesh, that access was withdrawn.
 *
 * Envoy keeps what is open when only routes or roots change. So each withdrawal moves the port's epoch, which is in its filter chain: Envoy then
 * treats it as another chain and drains the connections of the one before. An epoch is a hash over the one before and the content that withdrew, so that
 * every replica that sees the same steps comes to the same one, and a second withdrawal of the same access is another epoch.
 */
export class DrainTracker {
  #epochs: ReadonlyMap<string, string> = new Map()
  #adopted: LabelledEpochs = new Map()
  /** Ids of ways out in the policy in force. */
  #egress: readonly string[] = []
  #egressBefore: readonly string[] = []

  get epochs(): DrainEpochs {
    return this.#epochs
  }

  /**
   * Takes over the epochs that the proxy brought along. Only the first that it brings count: later ones are ours.
   *
   * @returns true if that changed anything for the served ports
   */
  adopt(labelled: LabelledEpochs, proxy: ProxyPart | undefined): boolean {
    this.#adopted = labelled
    if (proxy === undefined) return false
    const before = this.#epochs
    this.#epochs = this.#over(servedBy(proxy, this.#egress), (id) => before.get(id) ?? labelled.get(labelId(id)))
    return [...this.#epochs].some(([id, epoch]) => before.get(id) !== epoch)
  }

  /** Goes back to earlier epochs: the policy that they were moved for did not come into force. */
  restore(epochs: DrainEpochs): void {
    this.#epochs = epochs
    this.#egress = this.#egressBefore
  }

  /** Moves on to another policy. */
  advance(before: PolicyView | undefined, after: PolicyView): DrainEpochs {
    this.#egressBefore = this.#egress
    if (before !== undefined && servesTheSame(before.proxy, after.proxy)) return this.#epochs
    this.#egress = egressIds(after)
    const served = servedBy(after.proxy, this.#egress)
    const current = (id: string) => this.#epochs.get(id) ?? this.#adopted.get(labelId(id))
    if (before === undefined) {
      this.#epochs = this.#over(served, current)
      return this.#epochs
    }
    const old = servedBy(before.proxy, [])
    const closed = closedEgress(before, after, served.egress)
    const rootsRemoved = removesRoots(before, after)
    this.#epochs = this.#over(served, (id) => {
      if (served.egress.includes(id))
        return closed.has(id) ? nextEpoch(current(id), after.proxy.egress ?? after.proxy.mesh) : current(id)
      if (rootsRemoved) return nextEpoch(current(id), after.proxy.trust)
      const cause = withdrawal(id, old, served, before, after)
      return cause === undefined ? current(id) : nextEpoch(current(id), cause)
    })
    return this.#epochs
  }

  /**
   * Treats these ports and ways out as if access had been withdrawn: what decides about it has changed while no one watched, and what it was before is not
   * known.
   *
   * @param missed - where the roots have changed, access to all served ports counts as withdrawn
   * @returns true if one of them is served
   */
  assumeWithdrawn({ ids, rootsChanged }: MissedChanges, proxy: ProxyPart): boolean {
    const served = servedBy(proxy, this.#egress)
    const current = this.#epochs
    this.#epochs = this.#over(served, (id) => {
      const isEgress = served.egress.includes(id)
      const cause = isEgress ? (proxy.egress ?? proxy.mesh) : (served.inbound.get(id) ?? served.ingress.get(id))
      const isMissed = ids.has(id) || (rootsChanged && !isEgress)
      return isMissed && cause !== undefined ? nextEpoch(current.get(id), cause) : current.get(id)
    })
    return [...this.#epochs].some(([id, epoch]) => current.get(id) !== epoch)
  }

  #over(
    { inbound, ingress, egress }: Served,
    epochOf: (id: string) => string | undefined,
  ): ReadonlyMap<string, string> {
    const epochs = new Map<string, string>()
    for (const id of [...new Set([...inbound.keys(), ...ingress.keys(), ...egress])].sort()) {
      const epoch = epochOf(id)
      if (epoch !== undefined) epochs.set(id, epoch)
    }
    return epochs
  }
}

function nextEpoch(current: string | undefined, cause: PartHash): string {
  return contentVersion(`${current ?? ''}\0${cause}`).slice(0, EPOCH_LENGTH)
}

/** Most changes are about what a proxy calls. */
function servesTheSame(before: ProxyPart, after: ProxyPart): boolean {
  return (
    before.inbound === after.inbound &&
    before.ingress === after.ingress &&
    before.trust === after.trust &&
    before.egress === after.egress &&
    before.mesh === after.mesh
  )
}

function servedBy({ inbound, ingress }: ProxyPart, egress: readonly string[]): Served {
  return {
    egress,
    inbound: new Map(inbound.map(({ id, part }) => [id, part])),
    ingress: new Map(ingress.map(({ id, part }) => [id, part])),
  }
}

/** The hash of the part that withdraws access to a port that stays; undefined if none does. */
function withdrawal(
  id: string,
  old: Served,
  served: Served,
  before: PolicyView,
  after: PolicyView,
): PartHash | undefined {
  const principals = (hash: PartHash): PrincipalsPart | undefined =>
    partOf('principals', hash, after) ?? partOf('principals', hash, before)
  const inbound = { old: old.inbound.get(id), now: served.inbound.get(id) }
  if (inbound.old !== undefined && inbound.now !== inbound.old) {
    const was = partOf('inbound', inbound.old, before)
    const is = partOf('inbound', inbound.now, after)
    if (was === undefined || removesAccess(was, is, principals)) return inbound.now ?? inbound.old
  }
  const ingress = { old: old.ingress.get(id), now: served.ingress.get(id) }
  if (ingress.old !== undefined && ingress.now !== ingress.old) {
    const was = partOf('ingress', ingress.old, before)
    const is = partOf('ingress', ingress.now, after)
    if (was === undefined || removesIngressAccess(was, is, principals)) return ingress.now ?? ingress.old
  }
  return undefined
}

/** Ids under which the ways out of a policy have epochs. */
function egressIds(view: PolicyView): readonly string[] {
  if (view.proxy.mode === 'explicit') return [FORWARD_PROXY_DRAIN]
  return [...new Set([...(egressParts(view)?.values() ?? [])].filter(sharesChain).map(egressDrainId))].sort()
}

/**
 * Ids of the epochs of ways out that let out less than before. Global egress lets out what no part is about.
 *
 * @param ids - those of the later policy
 */
function closedEgress(before: PolicyView, after: PolicyView, ids: readonly string[]): ReadonlySet<string> {
  if (before.proxy.egress === after.proxy.egress && before.proxy.mesh === after.proxy.mesh) return new Set()
  const [was, is] = [egressParts(before), egressParts(after)]
  if (was === undefined || is === undefined) return new Set(ids)
  const isOpen = opensEverything(after)
  const closed = [...was.values()].filter((part) => {
    const now = is.get(part.id)
    return now === undefined ? !isOpen : removesEgressAccess(part, now)
  })
  if (after.proxy.mode !== 'explicit') return new Set(closed.filter(sharesChain).map(egressDrainId))
  const closesProxy = (opensEverything(before) && !isOpen) || closed.some(({ protocol }) => protocol === 'http')
  return new Set(closesProxy ? ids : [])
}

function opensEverything(view: PolicyView): boolean {
  return partOf('mesh', view.proxy.mesh, view)?.egressEnabled === true
}

/** By id; undefined if one of them is not known any more. */
function egressParts({ proxy, find }: PolicyView): ReadonlyMap<string, EgressPart> | undefined {
  const found = new Map<string, EgressPart>()
  const open = proxy.egress === undefined ? [] : [proxy.egress]
  for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
    const set = find(hash)
    if (set?.kind !== 'set') return undefined
    for (const member of set.members) {
      const part = find(member.hash)
      if (part?.kind !== 'egress') return undefined
      found.set(part.id, part)
    }
    for (const inner of set.sets) open.push(inner.hash)
  }
  return found
}

/** True if connections to several destinations have one filter chain, which stays when one of them is closed. */
function sharesChain({ protocol }: EgressPart): boolean {
  return protocol !== 'https'
}

interface DrainPart {
  readonly inbound: InboundPart
  readonly ingress: IngressPart
  readonly mesh: MeshPart
  readonly principals: PrincipalsPart
  readonly trust: TrustPart
}

function partOf<K extends keyof DrainPart>(
  kind: K,
  hash: PartHash | undefined,
  { find }: PolicyView,
): DrainPart[K] | undefined {
  const part = hash === undefined ? undefined : find(hash)
  // The discriminator has just been compared.
  return part?.kind === kind ? (part as DrainPart[K]) : undefined
}

function removesRoots(before: PolicyView, after: PolicyView): boolean {
  if (before.proxy.trust === after.proxy.trust) return false
  const was = partOf('trust', before.proxy.trust, before)
  const is = partOf('trust', after.proxy.trust, after)
  if (was === undefined || is === undefined || was.trustDomain !== is.trustDomain) return true
  return was.roots.some((root) => !is.roots.includes(root))
}
