import type { OutboundPart, PartInSet, PartRef, RetryPolicy } from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import type { EncodedResource } from '../../resources/types.js'
import { groupBy } from '../encoding/group-by.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import {
  addressedVirtualHost,
  chosenRouteConfiguration,
  goneVirtualHost,
  withRetries,
} from '../outbound/outbound-routes.js'
import { needsOwnChain, type SharedChain } from '../outbound/shared-chains.js'
import type { ProxyView } from '../proxy-view.js'

/** Retries of a caller for called services, and the part that says so. */
export interface CallerRetries {
  readonly byOutbound: ReadonlyMap<string, RetryPolicy>
  readonly source: PartRef | undefined
}

/**
 * Route configurations of shared filter chains. One that is named by a chain holds every service of its shard: connections from before a service had a
 * chain of its own, or was retired, end with their next answer.
 */
export class SharedRouteTranslation {
  readonly #configurations: MemoTable<EncodedResource>
  readonly #virtualHosts: MemoTable<Uint8Array>

  constructor(memo: Memo) {
    this.#configurations = memo.table()
    this.#virtualHosts = memo.table()
  }

  translate(called: readonly PartInSet<OutboundPart>[], retries: CallerRetries, view: ProxyView): EncodedResource[] {
    const { sharedChains } = view
    const keyOf = (part: OutboundPart): string => sharedChains.of(part)?.key ?? ''
    const shards = groupBy(
      called.filter(({ part }) => part.addresses.length > 0 && sharedChains.of(part) !== undefined),
      ({ part }) => keyOf(part),
    )
    const retired = groupBy(view.retired, keyOf)
    return [...shards].flatMap(([key, members]) => {
      const shared = members[0] && sharedChains.of(members[0].part)
      if (shared === undefined || members.every(({ part }) => needsOwnChain(part, view))) return []
      return [this.#configuration(shared, members, retired.get(key) ?? [], retries, view)]
    })
  }

  #configuration(
    { port, shard }: SharedChain,
    members: readonly PartInSet<OutboundPart>[],
    retired: readonly OutboundPart[],
    retries: CallerRetries,
    view: ProxyView,
  ): EncodedResource {
    const services = members.map(({ part, ref }) => {
      const closes = needsOwnChain(part, view)
      return { part, ref, closes, policy: closes ? undefined : retries.byOutbound.get(part.id) }
    })
    const key = [port, shard, services.map(({ ref, closes, policy }) => [ref.hash, closes, policy]), retired]
    return this.#configurations.get(JSON.stringify(key), () => {
      const taken = new Set<string>()
      // Two virtual hosts of one domain would be refused with all others.
      const free = ({ addresses }: OutboundPart): readonly string[] => {
        const left = addresses.filter((address) => !taken.has(address))
        for (const address of left) taken.add(address)
        return left
      }
      const virtualHosts = services.flatMap(({ part, ref, closes, policy }) => {
        const addresses = free(part)
        if (addresses.length === 0) return []
        const shared = this.#virtualHosts.get(JSON.stringify([ref.hash, closes, addresses]), () =>
          addressedVirtualHost(part, addresses, closes),
        )
        return [policy === undefined ? shared : withRetries(shared, policy)]
      })
      const closing = retired.flatMap((part) => {
        const addresses = free(part)
        return addresses.length === 0 ? [] : [addressedVirtualHost(part, addresses, true)]
      })
      const name = names.sharedRoutes(port, shard)
      const sources = [
        ...services.map(({ ref }) => ref),
        ...(retries.source === undefined || services.every(({ policy }) => policy === undefined)
          ? []
          : [retries.source]),
      ]
      const value = chosenRouteConfiguration(name, [...virtualHosts, ...closing, goneVirtualHost()])
      return { ...encodedResource(name, value, sources), leads: true as const }
    })
  }
}
