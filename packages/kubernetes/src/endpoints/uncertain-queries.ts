import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import { type EndpointsAnnouncement, nameKey, sortedNames } from '@osm-ts/core'

import type { ClusterChange } from '../source/cluster-view.js'

/** Names that are remembered; when there are more, all are forgotten. */
const CAPACITY = 20_000

/**
 * What was asked while no one could be sure of the answer. Such names are announced when that changes, even if nothing of
 * them is there: that nothing is there is then known.
 */
export class UncertainQueries {
  readonly #services = new Map<string, MeshService>()
  readonly #accounts = new Map<string, ServiceAccountRef>()

  note(about: 'services' | 'accounts', { namespace, name }: MeshService): void {
    const names = about === 'services' ? this.#services : this.#accounts
    if (names.size >= CAPACITY) names.clear()
    names.set(nameKey({ namespace, name }), { namespace, name })
  }

  /** The announcement, with what was asked of the namespace if that has become more or less sure. */
  joined(change: ClusterChange, { services, accounts }: EndpointsAnnouncement): EndpointsAnnouncement {
    if (change.of !== 'namespace') return { services, accounts }
    const { namespace } = change.scope
    return {
      services: sortedNames([...services, ...inside(this.#services, namespace)]),
      accounts: sortedNames([...accounts, ...inside(this.#accounts, namespace)]),
    }
  }
}

function inside<T extends MeshService>(names: ReadonlyMap<string, T>, namespace: string): readonly T[] {
  return [...names.values()].filter((name) => name.namespace === namespace)
}
