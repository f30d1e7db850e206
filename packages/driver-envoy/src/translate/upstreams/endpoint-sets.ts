import type { EndpointsPart, Locality, PartHash, PartRef, ProxyPart } from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, LiveEndpoints, ResourceSet } from '../../resources/types.js'
import { loadAssignment } from './endpoints.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import type { PolicyReader } from '../policy-reader.js'

const NOWHERE: Locality = { region: '', zone: '', subZone: '' }

/** Endpoints of proxies: the same set for all of a locality that may see the same upstreams. */
export class EndpointTranslation {
  readonly #sets: MemoTable<EndpointSet>
  /** Sets by the parts in them. */
  readonly #setsOf = new Map<PartHash, Set<EndpointSet>>()
  /** What was made of a part, by locality. */
  readonly #assignments = new WeakMap<EndpointsPart, Map<string, EncodedResource>>()

  constructor(memo: Memo) {
    this.#sets = memo.table()
  }

  translate(proxy: ProxyPart, reader: PolicyReader): LiveEndpoints {
    const key = JSON.stringify([proxy.endpoints, ...placeOf(proxy.locality)])
    return this.#sets.get(
      key,
      () => {
        const { list } = reader.members(proxy.endpoints, 'endpoints')
        const members = new Map(list.map(({ ref }) => [ref.hash, ref]))
        // The list may be older than what the parts hold now.
        const assignments = [...members.values()].map(
          (ref) => [ref.hash, this.#assignment(reader.part(ref.hash, 'endpoints'), ref, proxy.locality)] as const,
        )
        const set = new EndpointSet(proxy.locality, members, new Map(assignments))
        for (const hash of members.keys()) this.#holders(hash).add(set)
        return set
      },
      (set) => {
        for (const hash of set.members.keys()) {
          const holders = this.#setsOf.get(hash)
          holders?.delete(set)
          if (holders?.size === 0) this.#setsOf.delete(hash)
        }
      },
    )
  }

  /** Parts hold other endpoints from now on. Gives every set that one of them is in. */
  renew(parts: Iterable<readonly [PartHash, EndpointsPart]>): readonly LiveEndpoints[] {
    const concerned = new Map<EndpointSet, Map<PartHash, EncodedResource>>()
    for (const [hash, part] of parts)
      for (const set of this.#setsOf.get(hash) ?? []) {
        const ref = set.members.get(hash)
        if (ref === undefined) continue
        const renewed = concerned.get(set) ?? new Map<PartHash, EncodedResource>()
        concerned.set(set, renewed.set(hash, this.#assignment(part, ref, set.locality)))
      }
    for (const [set, assignments] of concerned) set.renew(assignments)
    return [...concerned.keys()]
  }

  #holders(hash: PartHash): Set<EndpointSet> {
    let holders = this.#setsOf.get(hash)
    if (holders === undefined) this.#setsOf.set(hash, (holders = new Set()))
    return holders
  }

  #assignment(part: EndpointsPart, ref: PartRef, own: Locality): EncodedResource {
    // Most services prefer no one: what they have is one for all localities.
    const locality = part.preferClose === true ? own : NOWHERE
    const place = JSON.stringify(placeOf(locality))
    let byPlace = this.#assignments.get(part)
    if (byPlace === undefined) this.#assignments.set(part, (byPlace = new Map<string, EncodedResource>()))
    let assignment = byPlace.get(place)
    if (assignment === undefined)
      byPlace.set(place, (assignment = encodedResource(part.id, loadAssignment(part, locality), [ref])))
    return assignment
  }
}

/** One set, whose endpoints change in place. */
class EndpointSet implements LiveEndpoints {
  readonly locality: Locality
  readonly members: ReadonlyMap<PartHash, PartRef>
  readonly #assignments: Map<PartHash, EncodedResource>
  #current: ResourceSet

  constructor(
    locality: Locality,
    members: ReadonlyMap<PartHash, PartRef>,
    assignments: Map<PartHash, EncodedResource>,
  ) {
    this.locality = locality
    this.members = members
    this.#assignments = assignments
    this.#current = setOf(assignments)
  }

  get current(): ResourceSet {
    return this.#current
  }

  renew(assignments: ReadonlyMap<PartHash, EncodedResource>): void {
    let isChanged = false
    for (const [hash, assignment] of assignments) {
      if (this.#assignments.get(hash)?.version === assignment.version) continue
      this.#assignments.set(hash, assignment)
      isChanged = true
    }
    if (isChanged) this.#current = setOf(this.#assignments)
  }
}

function setOf(assignments: ReadonlyMap<PartHash, EncodedResource>): ResourceSet {
  return new LayeredResourceSet([new ResourceLayer(assignments.values())])
}

function placeOf({ region, zone, subZone }: Locality): readonly string[] {
  return [region, zone, subZone]
}
