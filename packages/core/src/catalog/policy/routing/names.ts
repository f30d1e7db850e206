import { compareText, type DnsPart, type DnsRecord } from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'
import { sortedUnique } from '../parts/keys.js'
import { calledParts, outboundPart } from './outbound.js'
import { keepPart, makePart, samePart, type PolicyPart } from '../parts/policy-part.js'
import {
  namespacesInScope,
  scopedNamespaceKey,
  scopeKey,
  servicesInScope,
  type Scope,
  type ScopedNamespace,
} from '../parts/reach.js'

/** Seconds for which an answer may be kept: endpoints of headless services come and go. */
const TTL_SECONDS = 30

/**
 * Full names of a namespace's services in a scope, and of instances that have their own, with the addresses that clients dial. Short names are none:
 * resolvers look for full ones first, and others may have them outside of the cluster. What has no address is left to other servers.
 */
const namespaceNames = defineQuery<CatalogState, ScopedNamespace, readonly DnsRecord[]>({
  name: 'namespace-names',
  keyOf: scopedNamespaceKey,
  equal: deepEqual,
  compute: (context, key) => {
    const domain = `.svc.${context.get(settingInputs.domains, '').clusterDomain}`
    const names = new Map<string, readonly string[]>()
    for (const service of context.get(servicesInScope, key))
      for (const port of context.get(calledParts, service).ports) {
        const { hosts = [], addresses = [] } = context.get(outboundPart, port)?.part ?? {}
        for (const host of addresses.length === 0 ? [] : hosts.filter((each) => each.endsWith(domain)))
          names.set(host, [...(names.get(host) ?? []), ...addresses])
      }
    return [...names].map(([name, addresses]) => ({ name, addresses: sortedUnique(addresses) }))
  },
})

/** What the local DNS proxies of a scope answer; undefined while there are none. */
export const dnsPart = defineQuery<CatalogState, Scope, PolicyPart<DnsPart> | undefined>({
  name: 'dns-part',
  keyOf: scopeKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, scope) => {
    const { enable, upstreams } = context.get(settingInputs.localDNSProxy, '')
    if (!enable) return undefined
    const records = context
      .get(namespacesInScope, scope)
      .flatMap((namespace) => context.get(namespaceNames, { scope, namespace }))
      .sort((a, b) => compareText(a.name, b.name))
    return makePart<DnsPart>({ kind: 'dns', id: 'dns', ttlSeconds: TTL_SECONDS, records, upstreamServers: upstreams })
  },
})
