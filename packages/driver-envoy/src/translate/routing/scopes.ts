import { type OutboundPart, type PartInSet, type PartRef, refOf, type RetryPolicy } from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { authority, printedAddress } from '../encoding/address.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import { routeScope, scopedVirtualHost, scopedRouteConfiguration, withRetries } from '../outbound/outbound-routes.js'
import { mayShareChain, needsOwnChain } from '../outbound/shared-chains.js'
import type { ProxyView } from '../proxy-view.js'
import { retriesOf } from './retries.js'

/** What the routes of a called service are made of, besides its part. */
interface ScopeVariant {
  /** See {@link scopedVirtualHost}. */
  readonly closes: boolean
  readonly retries: RetryPolicy | undefined
  /** What a refusal is traced back to. */
  readonly sources: readonly PartRef[]
}

const NONE: ResourceSet = new LayeredResourceSet([])

/**
 * Scopes of called HTTP services in transparent mode: the routes of one service for connections to one of its addresses. All callers of a service share
 * them, but for those with retries. Connections from before a service had a chain of its own, or was retired, end with their next answer.
 */
export class ScopeTranslation {
  readonly #configurations: MemoTable<Uint8Array>
  readonly #scopes: MemoTable<EncodedResource>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo) {
    this.#configurations = memo.table()
    this.#scopes = memo.table()
    this.#sets = memo.table()
  }

  translate(view: ProxyView): ResourceSet {
    if (view.proxy.mode === 'explicit') return NONE
    return this.#sets.get(setKey(view), () => new LayeredResourceSet([new ResourceLayer(this.#all(view))]))
  }

  #all(view: ProxyView): Iterable<EncodedResource> {
    const { proxy, reader, retired } = view
    const retries = retriesOf(view)
    const { clientRules } = proxy
    const rules = clientRules === undefined ? [] : [refOf(reader.part(clientRules, 'clientRules'), clientRules)]
    // Two scopes of one key would be refused with all others.
    const byDialled = new Map<string, EncodedResource>()
    for (const { part, ref } of reader.members(proxy.outbound, 'outbound').list) {
      if (!mayShareChain(part)) continue
      const closes = needsOwnChain(part, view)
      const policy = closes ? undefined : retries.get(part.id)
      const sources = policy === undefined ? [ref] : [ref, ...rules]
      this.#add(byDialled, { part, ref }, { closes, retries: policy, sources })
    }
    for (const part of retired) {
      if (!mayShareChain(part)) continue
      const variant = { closes: true, retries: undefined, sources: [] }
      for (const dialled of dialledOf(part))
        if (!byDialled.has(dialled)) byDialled.set(dialled, scope(dialled, configuration(part, variant), variant))
    }
    return byDialled.values()
  }

  #add(
    byDialled: Map<string, EncodedResource>,
    { part, ref }: Pick<PartInSet<OutboundPart>, 'part' | 'ref'>,
    variant: ScopeVariant,
  ): void {
    const { closes, retries, sources } = variant
    const key = JSON.stringify([ref.hash, closes, retries])
    for (const dialled of dialledOf(part)) {
      if (byDialled.has(dialled)) continue
      const ofSources = JSON.stringify([key, dialled, sources.map(({ hash }) => hash)])
      const resource = this.#scopes.get(ofSources, () =>
        scope(
          dialled,
          this.#configurations.get(key, () => configuration(part, variant)),
          variant,
        ),
      )
      byDialled.set(dialled, resource)
    }
  }
}

/** As Envoy prints the addresses of a service that connections are for. */
function dialledOf({ addresses, port }: OutboundPart): readonly string[] {
  return addresses.map((address) => authority({ host: printedAddress(address), port }))
}

function configuration(part: OutboundPart, { closes, retries }: ScopeVariant): Uint8Array {
  const virtualHost = scopedVirtualHost(part, closes)
  return scopedRouteConfiguration(names.serviceRoutes(part), [
    retries === undefined ? virtualHost : withRetries(virtualHost, retries),
  ])
}

function scope(dialled: string, routes: Uint8Array, { sources }: ScopeVariant): EncodedResource {
  return encodedResource(names.scope(dialled), routeScope(dialled, routes), sources)
}

/** Everything that the scopes of a proxy depend on. Identities without retries that call the same share them. */
function setKey(view: ProxyView): string {
  const { proxy, breakers, plaintext, retired } = view
  const rules = retriesOf(view).size > 0 ? proxy.clientRules : ''
  return JSON.stringify([proxy.outbound ?? '', rules, breakers.key, plaintext.key, retired])
}
