import {
  type InboundPart,
  type IngressPart,
  type Part,
  type PartHash,
  type PrincipalsPart,
  type ProxyPart,
  removesAccess,
  removesIngressAccess,
  type TrustPart,
} from '@osm-ts/driver-api/policy'

import { contentVersion } from '../resources/encoded-resource.js'
import type { DrainEpochs } from './translator-port.js'
import { labelId, type LabelledEpochs } from './version-label.js'

const EPOCH_LENGTH = 8

/** A policy at one moment: the proxy part, and the parts that it refers to. */
export interface PolicyView {
  readonly proxy: ProxyPart
  readonly find: (hash: PartHash) => Part | undefined
}

/** The hash that a served port has in a policy, by id. */
interface Served {
  readonly inbound: ReadonlyMap<string, PartHash>
  readonly ingress: ReadonlyMap<string, PartHash>
}

/**
 * Remembers for each served port that access was withdrawn.
 *
 * Envoy keeps what is open when only routes or roots change. So each withdrawal moves the port's epoch, which is in its filter chain: Envoy then
 * treats it as another chain and drains the connections of the one before. An epoch is a hash over the one before and the content that withdrew, so that
 * every replica that sees the same steps comes to the same one, and a second withdrawal of the same access is another epoch.
 */
export class DrainTracker {
  #epochs: ReadonlyMap<string, string> = new Map()
  #adopted: LabelledEpochs = new Map()

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
    this.#epochs = this.#over(servedBy(proxy), (id) => before.get(id) ?? labelled.get(labelId(id)))
    return [...this.#epochs].some(([id, epoch]) => before.get(id) !== epoch)
  }

  /** Goes back to earlier epochs: the policy that they were moved for did not come into force. */
  restore(epochs: DrainEpochs): void {
    this.#epochs = epochs
  }

  /** Moves on to another policy. */
  advance(before: PolicyView | undefined, after: PolicyView): DrainEpochs {
    if (before !== undefined && servesTheSame(before.proxy, after.proxy)) return this.#epochs
    const served = servedBy(after.proxy)
    const current = (id: string) => this.#epochs.get(id) ?? this.#adopted.get(labelId(id))
    if (before === undefined) {
      this.#epochs = this.#over(served, current)
      return this.#epochs
    }
    const old = servedBy(before.proxy)
    const rootsRemoved = removesRoots(before, after)
    this.#epochs = this.#over(served, (id) => {
      if (rootsRemoved) return nextEpoch(current(id), after.proxy.trust)
      const cause = withdrawal(id, old, served, before, after)
      return cause === undefined ? current(id) : nextEpoch(current(id), cause)
    })
    return this.#epochs
  }

  /**
   * Treats these ports as if access had been withdrawn: what decides about it has changed while no one watched, and what it was before is not known.
   *
   * @returns true if one of them is served
   */
  suspect(ids: ReadonlySet<string> | 'all', proxy: ProxyPart): boolean {
    const served = servedBy(proxy)
    const current = this.#epochs
    this.#epochs = this.#over(served, (id) => {
      const cause = served.inbound.get(id) ?? served.ingress.get(id)
      return (ids === 'all' || ids.has(id)) && cause !== undefined ? nextEpoch(current.get(id), cause) : current.get(id)
    })
    return [...this.#epochs].some(([id, epoch]) => current.get(id) !== epoch)
  }

  #over({ inbound, ingress }: Served, epochOf: (id: string) => string | undefined): ReadonlyMap<string, string> {
    const epochs = new Map<string, string>()
    for (const id of [...new Set([...inbound.keys(), ...ingress.keys()])].sort()) {
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
  return before.inbound === after.inbound && before.ingress === after.ingress && before.trust === after.trust
}

function servedBy({ inbound, ingress }: ProxyPart): Served {
  return {
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

interface DrainPart {
  readonly inbound: InboundPart
  readonly ingress: IngressPart
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
