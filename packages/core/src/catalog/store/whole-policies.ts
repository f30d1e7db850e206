import type { EndpointsPart, PartHash, ProxyPart, SetPart } from '@osm-ts/driver-api/policy'

import { makePart, type PolicyPart } from '../policy/parts/policy-part.js'

/** What policies are completed with. */
export interface FrameContents {
  /** Rises whenever {@link FrameContents.of} may give something else. */
  readonly generation: number
  /** The whole part of a frame, if it is known. */
  of(frame: PartHash): PolicyPart<EndpointsPart> | undefined
}

interface Whole {
  generation: number
  readonly children: readonly PolicyPart[]
  readonly set: PolicyPart<SetPart>
}

/**
 * Puts the endpoints into policies: documents as people read them, and as drivers get them that do not follow endpoints.
 *
 * Sets that policies share are put together once for all of them, each time that one of their endpoints changes.
 */
export class WholePolicies {
  readonly #contents: FrameContents
  readonly #sets = new WeakMap<PolicyPart, Whole>()
  readonly #policies = new WeakMap<PolicyPart, PolicyPart<ProxyPart>>()

  constructor(contents: FrameContents) {
    this.#contents = contents
  }

  /** The policy with the endpoints that are known now. Equal endpoints give the same object. */
  of(policy: PolicyPart<ProxyPart>): PolicyPart<ProxyPart> {
    const frames = policy.children.find(({ hash }) => hash === policy.part.endpoints)
    if (frames === undefined) return policy
    const set = this.#set(frames as PolicyPart<SetPart>) // the member refers to sets
    if (set === frames) return policy
    const known = this.#policies.get(policy)
    if (known?.part.endpoints === set.hash) return known
    const whole = policy.withEndpoints?.(set) ?? completedPolicy(policy, frames, set)
    this.#policies.set(policy, whole)
    return whole
  }

  #set(frames: PolicyPart<SetPart>): PolicyPart<SetPart> {
    const known = this.#sets.get(frames)
    const { generation } = this.#contents
    if (known?.generation === generation) return known.set
    const children = frames.children.map((child) => this.#child(child))
    if (known !== undefined && children.every((child, place) => child === known.children[place])) {
      known.generation = generation
      return known.set
    }
    const set = children.every((child, place) => child === frames.children[place])
      ? frames
      : completed(frames, children)
    this.#sets.set(frames, { generation, children, set })
    return set
  }

  #child(child: PolicyPart): PolicyPart {
    if (child.part.kind === 'set') return this.#set(child as PolicyPart<SetPart>) // seen by its kind
    return this.#contents.of(child.hash) ?? child
  }
}

function completedPolicy(
  policy: PolicyPart<ProxyPart>,
  frames: PolicyPart,
  set: PolicyPart<SetPart>,
): PolicyPart<ProxyPart> {
  const children = policy.children.map((child) => (child === frames ? set : child))
  return makePart<ProxyPart>({ ...policy.part, endpoints: set.hash }, { origins: policy.origins, children })
}

function completed(frames: PolicyPart<SetPart>, children: readonly PolicyPart[]): PolicyPart<SetPart> {
  const hashes = new Map(frames.children.map(({ hash }, place) => [hash, children[place]?.hash ?? hash]))
  const renewed = <R extends { readonly hash: PartHash }>(refs: readonly R[]): readonly R[] =>
    refs.map((ref) => ({ ...ref, hash: hashes.get(ref.hash) ?? ref.hash }))
  const { members, sets } = frames.part
  return makePart<SetPart>(
    { ...frames.part, members: renewed(members), sets: renewed(sets) },
    { origins: frames.origins, children },
  )
}
