import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { Endpoint } from '../../endpoints/index.js'
import type { EndpointsForClient } from '../catalog-types.js'
import { deepEqual } from '../incremental/index.js'
import { nameKey } from '../policy/parts/keys.js'
import { allServicesInScope, scopeOf } from '../policy/parts/reach.js'
import type { PolicyComputation } from '../policy-computation.js'

/** Clients whose last answer is remembered, those requested last. */
const REMEMBERED_CLIENTS = 10_000

type Listing = EndpointsForClient['endpoints']

/** Endpoints by client, with word on whether they changed since the client was last requested. */
export class ClientEndpoints {
  readonly #computation: PolicyComputation
  readonly #last = new Map<string, Listing>()

  constructor(computation: PolicyComputation) {
    this.#computation = computation
  }

  /** Endpoints of every service that workloads of an account may be interested in. */
  list(account: ServiceAccountRef): EndpointsForClient {
    const endpoints = this.#services(account).map((service) => ({ service, endpoints: this.#endpointsOf(service) }))
    const key = nameKey(account)
    const changed = !deepEqual(this.#last.get(key), endpoints)
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
    this.#last.delete(key)
    this.#last.set(key, listing)
    if (this.#last.size <= REMEMBERED_CLIENTS) return
    const [oldest] = this.#last.keys()
    if (oldest !== undefined) this.#last.delete(oldest)
  }
}
