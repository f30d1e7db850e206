import { createHash } from 'node:crypto'
import { isIP } from 'node:net'

import type { Snapshot } from '../snapshot/index.js'
import type { KindMap } from '../spec/index.js'
import { MAX_NAMED_SERVICES, type ServiceNames } from './messages.js'

/** Names of Services with a virtual address, gathered once for each list of Services: a thousand machines ask every few seconds. */
export class ServiceNamesIndex {
  readonly #clusterDomain: string
  #services: readonly KindMap['Service'][] | undefined
  #names: ServiceNames | undefined

  constructor(clusterDomain: string) {
    this.#clusterDomain = clusterDomain
  }

  /** Names of the Services of a snapshot. A headless Service has none, nor has an alias of a host. Beyond the limit each namespace has a fair share. */
  of(snapshot: Pick<Snapshot, 'list'>): ServiceNames {
    // Snapshots share the lists of kinds that did not change.
    const services = snapshot.list('Service')
    if (this.#names === undefined || services !== this.#services) {
      this.#services = services
      this.#names = this.#gather(services)
    }
    return this.#names
  }

  #gather(services: readonly KindMap['Service'][]): ServiceNames {
    const named = services.flatMap(({ metadata: { namespace, name }, spec: { type, clusterIP, clusterIPs = [] } }) => {
      const written = [...new Set([clusterIP ?? '', ...clusterIPs])]
      const addresses = type === 'ExternalName' ? [] : written.filter((address) => isIP(address) !== 0).slice(0, 2)
      return addresses.length === 0 ? [] : [{ namespace, name, addresses }]
    })
    const content = { clusterDomain: this.#clusterDomain, services: fairShare(named) }
    return { digest: createHash('sha256').update(JSON.stringify(content)).digest('base64url'), ...content }
  }
}

/** As many as a machine is told, in their order: the first of every namespace before the second of any, so that none displaces those of others. */
function fairShare<T extends { readonly namespace: string }>(named: T[]): T[] {
  if (named.length <= MAX_NAMED_SERVICES) return named
  const counts = new Map<string, number>()
  const ranked = named.map((service, index) => {
    const rank = counts.get(service.namespace) ?? 0
    counts.set(service.namespace, rank + 1)
    return { service, index, rank }
  })
  return ranked
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, MAX_NAMED_SERVICES)
    .sort((a, b) => a.index - b.index)
    .map(({ service }) => service)
}
