import { encodedResource } from '../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../resources/types.js'
import { loadAssignment } from './endpoints.js'
import type { Memo, MemoTable } from './memo.js'
import type { ProxyView } from './proxy-view.js'

/** Endpoints of proxies: the same set for all that may see the same upstreams. */
export class EndpointTranslation {
  readonly #assignments: MemoTable<EncodedResource>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo) {
    this.#assignments = memo.table()
    this.#sets = memo.table()
  }

  translate({ proxy, reader }: ProxyView): ResourceSet {
    return this.#sets.get(proxy.endpoints ?? '', () => {
      const { list } = reader.members(proxy.endpoints, 'endpoints')
      const assignments = list.map(({ part, ref }) =>
        this.#assignments.get(ref.hash, () => encodedResource(part.id, loadAssignment(part), [ref])),
      )
      return new LayeredResourceSet([new ResourceLayer(assignments)])
    })
  }
}
