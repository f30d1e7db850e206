import type { EndpointsPart, Locality, PartHash, PartRef, ProxyPart } from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import { SharedDiff } from '../../resources/resource-differ.js'
import type { EncodedResource, EndpointsChange, LiveEndpoints } from '../../resources/types.js'
import { loadAssignment } from './endpoints.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import type { PolicyReader } from '../policy-reader.js'

const NOWHERE: Locality = { region: '', zone: '', subZone: '' }
const NOWHERE_KEY = JSON.stringify(placeOf(NOWHERE))

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
        const assignments = list.map(({ ref }) =>
          this.#assignment(reader.part(ref.hash, 'endpoints'), ref, proxy.locality),
        )
        const set = new EndpointSet(proxy.locality, members, new ResourceLayer(assignments))
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
    const concerned = new Map<EndpointSet, EncodedResource[]>()
    for (const [hash, part] of parts)
      for (const set of this.#setsOf.get(hash) ?? []) {
        const ref = set.members.get(hash)
        if (ref === undefined) continue
        const assignment = this.#assignment(part, ref, set.locality)
        const renewed = concerned.get(set)
        if (renewed === undefined) concerned.set(set, [assignment])
        else renewed.push(assignment)
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
    const place = locality === NOWHERE ? NOWHERE_KEY : JSON.stringify(placeOf(locality))
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
  #layer: ResourceLayer
  #current: LayeredResourceSet
  #change: EndpointsChange | undefined

  constructor(locality: Locality, members: ReadonlyMap<PartHash, PartRef>, layer: ResourceLayer) {
    this.locality = locality
    this.members = members
    this.#layer = layer
    this.#current = new LayeredResourceSet([layer])
  }

  get current(): LayeredResourceSet {
    return this.#current
  }

  get change(): EndpointsChange | undefined {
    return this.#change
  }

  /** @param assignments - of members */
  renew(assignments: readonly EncodedResource[]): void {
    const changed = assignments.filter(({ name, version }) => this.#layer.get(name)?.version !== version)
    if (changed.length === 0) return
    changed.sort((a, b) => (a.name < b.name ? -1 : 1))
    const before = this.#current
    this.#layer = this.#layer.with(changed)
    this.#current = new LayeredResourceSet([this.#layer])
    this.#change = { before, diff: new SharedDiff(changed, []) }
  }
}

function placeOf({ region, zone, subZone }: Locality): readonly string[] {
  return [region, zone, subZone]
}
