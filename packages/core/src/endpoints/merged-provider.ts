import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import {
  sortedNames,
  uniqueEndpoints,
  type Answer,
  type Endpoint,
  type EndpointsAnnouncement,
  type EndpointsProvider,
} from './endpoint.js'

/**
 * Several providers as one.
 *
 * A service may run in several places; their endpoints are joined. Where two providers name the same address and port,
 * the one named first holds. The answer is `known` only if every provider knows: what one of them fails to say is not
 * taken for nothing.
 */
export class MergedEndpointsProvider implements EndpointsProvider {
  readonly id: string
  readonly #providers: readonly EndpointsProvider[]

  /** @param providers - in order of precedence; ids must differ */
  constructor(id: string, providers: readonly EndpointsProvider[]) {
    const ids = providers.map((provider) => provider.id)
    if (new Set(ids).size !== ids.length) throw new RangeError(`ids of providers must differ: ${ids.join(', ')}`)
    this.id = id
    this.#providers = providers
  }

  listEndpointsForService(service: MeshService): Answer<Endpoint> {
    return merge(
      this.#providers.map((provider) => provider.listEndpointsForService(service)),
      uniqueEndpoints,
    )
  }

  listIdentitiesForService(service: MeshService): Answer<ServiceAccountRef> {
    return merge(
      this.#providers.map((provider) => provider.listIdentitiesForService(service)),
      sortedNames,
    )
  }

  listServicesForIdentity(account: ServiceAccountRef): Answer<MeshService> {
    return merge(
      this.#providers.map((provider) => provider.listServicesForIdentity(account)),
      sortedNames,
    )
  }

  listEndpointsForIdentity(account: ServiceAccountRef): Answer<Endpoint> {
    return merge(
      this.#providers.map((provider) => provider.listEndpointsForIdentity(account)),
      uniqueEndpoints,
    )
  }

  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void {
    const ends = this.#providers.map((provider) => provider.announcements(listener))
    return () => {
      for (const end of ends) end()
    }
  }
}

function merge<T>(answers: readonly Answer<T>[], join: (items: readonly T[]) => readonly T[]): Answer<T> {
  const items = join(answers.flatMap((answer): readonly T[] => answer.items))
  const conditions = answers.flatMap((answer) => (answer.state === 'known' ? [] : answer.conditions))
  if (answers.every(({ state }) => state === 'known')) return { state: 'known', items }
  if (answers.every(({ state }) => state === 'unknown')) return { state: 'unknown', items: [], conditions }
  return { state: 'stale', items, conditions }
}
