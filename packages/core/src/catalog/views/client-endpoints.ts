import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { Steps } from '../../async/index.js'
import type { Endpoint } from '../../endpoints/index.js'
import type { EndpointsForClient } from '../catalog-types.js'
import { deepEqual } from '../incremental/index.js'
import { nameKey } from '../policy/parts/keys.js'
import { allServicesInScope, scopeOf } from '../policy/parts/reach.js'
import type { PolicyComputation } from '../policy-computation.js'

/** Services of all clients whose last answer is remembered, those requested last: in permissive mode an answer has all services, whichever client is named. */
const MAX_REMEMBERED_SERVICES = 100_000

type Listing = EndpointsForClient['endpoints']

/** Endpoints by client, with word on whether they changed since the client was last requested. */
export class ClientEndpoints {
  readonly #computation: PolicyComputation
  readonly #last = new Map<string, Listing>()
  #remembered = 0

  constructor(computation: PolicyComputation) {
    this.#computation = computation
  }

  /** Endpoints of every service that workloads of an account may be interested in. Each step looks at a service. */
  *list(account: ServiceAccountRef): Steps<EndpointsForClient> {
    const key = nameKey(account)
    const last = this.#last.get(key)
    const endpoints: Listing[number][] = []
    let changed = false
    for (const service of this.#services(account)) {
      const entry = { service, endpoints: this.#endpointsOf(service) }
      changed ||= !deepEqual(last?.[endpoints.length], entry)
      endpoints.push(entry)
      yield
    }
    changed ||= last?.length !== endpoints.length
    this.#remember(key, endpoints)
    return { endpoints, changed }
  }

  #services(account: ServiceAccountRef): readonly MeshService[] {
    const scope = this.#computation.read(scopeOf, account)
    return scope === undefined ? [] : (this.#computation.read(allServicesInScope, scope) ?? [])
  }

  #endpointsOf(service: MeshService): readonly Endpoint[] {
    return this.#computation.state?.endpoints.listEndpointsForService(service).items ?? []
  }

  #remember(key: string, listing: Listing): void {
    // Deleting first moves the key to the end, so that the first key is the one requested longest ago.
    this.#forget(key)
    this.#last.set(key, listing)
    this.#remembered += costOf(listing)
    for (const oldest of this.#last.keys()) {
      if (this.#remembered <= MAX_REMEMBERED_SERVICES) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    const listing = this.#last.get(key)
    if (listing === undefined) return
    this.#last.delete(key)
    this.#remembered -= costOf(listing)
  }
}

/** A client without services is remembered as well. */
function costOf(listing: Listing): number {
  return listing.length + 1
}
