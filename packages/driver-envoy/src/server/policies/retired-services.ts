import type { OutboundPart, PartHash, SetPart } from '@osm-ts/driver-api/policy'

import type { PolicyView } from './drain-tracker.js'
import type { DrainTime } from './retired-resources.js'

/** Bounds what a caller of many services that come and go has to keep; the oldest is given up. */
const MAX_RETIRED = 1000
const NONE: readonly OutboundPart[] = []

interface Retired {
  readonly part: OutboundPart
  readonly until: number
}

/**
 * Services that a policy no longer has, or no longer at some address, for as long as connections drain. Envoy cannot drain connections of one service
 * apart from others that share its filter chain, so their routes must stay and end them.
 */
export class RetiredServices {
  readonly #time: DrainTime
  readonly #retired = new Map<string, Retired>()
  #list = NONE

  constructor(time: DrainTime) {
    this.#time = time
  }

  /** Sorted by id; the same list for as long as it holds the same. */
  get list(): readonly OutboundPart[] {
    return this.#list
  }

  /** Milliseconds until {@link expire} changes something; undefined if it never does. */
  get nextInMs(): number | undefined {
    if (this.#retired.size === 0) return undefined
    for (const { until } of this.#retired.values()) return Math.max(0, until - this.#time.now())
    return undefined
  }

  /** Moves on to another policy. */
  advance(before: PolicyView, after: PolicyView): void {
    const expired = this.expire()
    if (after.proxy.mode === 'explicit' || before.proxy.outbound === after.proxy.outbound) return
    const until = this.#time.now() + this.#time.ms
    const changed = outboundChanges(before, after)
    for (const { id, was, is } of changed) {
      this.#retired.delete(id)
      if (was !== undefined && loses(was, is)) this.#retired.set(id, { part: was, until })
    }
    for (const id of this.#retired.keys()) {
      if (this.#retired.size <= MAX_RETIRED) break
      this.#retired.delete(id)
    }
    if (expired || changed.length > 0) this.#renew()
  }

  /**
   * Gives up those whose time is over.
   *
   * @returns true if there were any
   */
  expire(): boolean {
    if (this.#retired.size === 0) return false
    const now = this.#time.now()
    let expired = false
    // All wait for the same time, so that the order of insertion is that of the times.
    for (const [id, { until }] of this.#retired) {
      if (until > now) break
      this.#retired.delete(id)
      expired = true
    }
    if (expired) this.#renew()
    return expired
  }

  #renew(): void {
    const parts = [...this.#retired.values()].map(({ part }) => part)
    this.#list = parts.length === 0 ? NONE : parts.sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}

/** True if connections to an address of the service may be for something else, or for nothing, from now on. */
function loses(was: OutboundPart, is: OutboundPart | undefined): boolean {
  if (is?.rules.kind !== was.rules.kind || (is.sharedWith === undefined) !== (was.sharedWith === undefined)) return true
  return was.addresses.some((address) => !is.addresses.includes(address))
}

/** A called service in two policies. */
interface OutboundChange {
  readonly id: string
  readonly was: OutboundPart | undefined
  readonly is: OutboundPart | undefined
}

/** The called services of one policy, as far as the other may not have the same. */
interface Side {
  readonly view: PolicyView
  readonly members: Map<string, PartHash>
}

type SetMembers = SetPart['members']

function outboundChanges(before: PolicyView, after: PolicyView): readonly OutboundChange[] {
  const was: Side = { view: before, members: new Map() }
  const is: Side = { view: after, members: new Map() }
  collect([was, is], [before.proxy.outbound, after.proxy.outbound])
  const ids = new Set([...was.members.keys(), ...is.members.keys()])
  return [...ids].flatMap((id) =>
    was.members.get(id) === is.members.get(id) ? [] : [{ id, was: outboundOf(was, id), is: outboundOf(is, id) }],
  )
}

/** Notes the members of both sets, but for nested sets that are the same in both. */
function collect(sides: readonly [Side, Side], hashes: readonly [PartHash | undefined, PartHash | undefined]): void {
  if (hashes[0] === hashes[1]) return
  const sets = [setOf(sides[0], hashes[0]), setOf(sides[1], hashes[1])] as const
  const nested = sets.map((set) => new Map(set?.sets.map(({ id, hash }) => [id, hash])))
  noteMembers(sides, [sets[0]?.members ?? [], sets[1]?.members ?? []])
  for (const id of new Set(nested.flatMap((ids) => [...ids.keys()])))
    collect(sides, [nested[0]?.get(id), nested[1]?.get(id)])
}

/** Notes the members of two sets without those that are in both, which are nearly all. Sets are sorted by id; of others, more than necessary is noted. */
function noteMembers([was, is]: readonly [Side, Side], [before, after]: readonly [SetMembers, SetMembers]): void {
  let [left, right] = [0, 0]
  while (left < before.length || right < after.length) {
    const [old, now] = [before[left], after[right]]
    const isBefore = old !== undefined && (now === undefined || old.id <= now.id)
    const isAfter = now !== undefined && (old === undefined || now.id <= old.id)
    if (isBefore) left += 1
    if (isAfter) right += 1
    if (isBefore && isAfter && old.hash === now.hash) continue
    if (isBefore) was.members.set(old.id, old.hash)
    if (isAfter) is.members.set(now.id, now.hash)
  }
}

function setOf({ view }: Side, hash: PartHash | undefined): SetPart | undefined {
  const part = hash === undefined ? undefined : view.find(hash)
  return part?.kind === 'set' ? part : undefined
}

function outboundOf({ view, members }: Side, id: string): OutboundPart | undefined {
  const hash = members.get(id)
  const part = hash === undefined ? undefined : view.find(hash)
  return part?.kind === 'outbound' ? part : undefined
}
