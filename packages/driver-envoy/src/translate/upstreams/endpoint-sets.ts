import type { Locality, ProxyPart } from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { loadAssignment } from './endpoints.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import type { PolicyReader } from '../policy-reader.js'

const NOWHERE: Locality = { region: '', zone: '', subZone: '' }

/** Endpoints of proxies: the same set for all of a locality that may see the same upstreams. */
export class EndpointTranslation {
  readonly #assignments: MemoTable<EncodedResource>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo) {
    this.#assignments = memo.table()
    this.#sets = memo.table()
  }

  translate(proxy: ProxyPart, reader: PolicyReader): ResourceSet {
    return this.#sets.get(JSON.stringify([proxy.endpoints, ...placeOf(proxy.locality)]), () => {
      const { list } = reader.members(proxy.endpoints, 'endpoints')
      const assignments = list.map(({ part, ref }) => {
        // Most services prefer no one: what they have is one for all localities.
        const locality = part.preferClose === true ? proxy.locality : NOWHERE
        const key = locality === NOWHERE ? ref.hash : JSON.stringify([ref.hash, ...placeOf(locality)])
        return this.#assignments.get(key, () => encodedResource(part.id, loadAssignment(part, locality), [ref]))
      })
      return new LayeredResourceSet([new ResourceLayer(assignments)])
    })
  }
}

function placeOf({ region, zone, subZone }: Locality): readonly string[] {
  return [region, zone, subZone]
}
