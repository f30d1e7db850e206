import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import { deepEqual, defineQuery, sameItems } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  indexInputs,
  servicesInNamespace,
  servicesOfAccount,
  serviceNamespaces,
  settingInputs,
} from '../../inputs/inputs.js'
import { destinationsFrom } from '../access/grants.js'
import { nameKey, sameName, sortedUnique, uniqueNames } from './keys.js'
import { serviceModel } from '../upstreams/services.js'
import { portsLeadingTo } from '../gateway/route-reach.js'
import { routesBy, type RouteRef } from '../gateway/route-refs.js'
import { splitAnalysis } from '../routing/split-plan.js'

/** Whose view a set of parts is: everybody's in permissive mode, else that of one account. */
export type Scope = 'everyone' | ServiceAccountRef

/** Text form of a scope. No namespace is called so: it holds a character that namespaces can't. */
export function scopeKey(scope: Scope): string {
  return scope === 'everyone' ? '*' : nameKey(scope)
}

/** The scope of an account. */
export const scopeOf = defineQuery<CatalogState, ServiceAccountRef, Scope>({
  name: 'scope-of-account',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => (context.get(settingInputs.permissive, '') ? 'everyone' : account),
})

/** What a TrafficTarget that opens an account leads its callers to. */
interface OpenedByAccount {
  /** Services of the account, and apexes of TrafficSplits over them. */
  readonly services: readonly MeshService[]
  /** Routes of the Gateway API over its services, each with the service. It depends on the caller what they lead to. */
  readonly routes: readonly { readonly service: MeshService; readonly route: RouteRef }[]
}

/** All callers of an account share what it opens: with hundreds of callers, most of their reads are here. */
const openedByAccount = defineQuery<CatalogState, ServiceAccountRef, OpenedByAccount>({
  name: 'opened-by-account',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, destination) => {
    const direct = context.get(servicesOfAccount, destination)
    const apexes = direct
      .flatMap((service) => context.get(indexInputs.splitsByBackend, nameKey(service)))
      .flatMap((split) => context.get(splitAnalysis, split)?.apex ?? [])
    const routes = direct.flatMap((service) =>
      routesBy(context, 'backend', nameKey(service)).map((route) => ({ service, route })),
    )
    return { services: [...direct, ...apexes], routes }
  },
})

/**
 * Services that a client may be interested in under SMI access policy: those of accounts that a TrafficTarget lets it reach, and apexes of TrafficSplits
 * or parents of routes of the Gateway API over them. Backends of a split or route that no TrafficTarget opens are not services of their own to the client; it still needs their upstreams, and their
 * own proxies refuse it.
 */
const smiReach = defineQuery<CatalogState, ServiceAccountRef, readonly MeshService[]>({
  name: 'smi-reach',
  keyOf: nameKey,
  equal: (a, b) => sameItems(a, b, sameName),
  compute: (context, account) => {
    const opened = context
      .get(destinationsFrom, account)
      .map((destination) => context.get(openedByAccount, destination))
    const parents = opened
      .flatMap(({ routes }) => routes)
      // A route that may not refer to the service has nothing to do with those who call it.
      .flatMap(({ route, service }) => portsLeadingTo(context, route, service, account.namespace))
      .map(({ namespace, name }) => ({ namespace, name }))
    return uniqueNames([...opened.flatMap(({ services }) => services), ...parents])
  },
})

/** Namespaces with services in a scope; sorted. */
export const namespacesInScope = defineQuery<CatalogState, Scope, readonly string[]>({
  name: 'namespaces-in-scope',
  keyOf: scopeKey,
  equal: sameItems,
  compute: (context, scope) => {
    if (scope === 'everyone') return context.get(serviceNamespaces, '')
    return sortedUnique(context.get(smiReach, scope).map(({ namespace }) => namespace))
  },
})

/** A namespace as a scope sees it. */
export interface ScopedNamespace {
  readonly scope: Scope
  readonly namespace: string
}

/** Text form of a scoped namespace. */
export function scopedNamespaceKey({ scope, namespace }: ScopedNamespace): string {
  return `${scopeKey(scope)}>${namespace}`
}

/** Services of a namespace that are in a scope; sorted. */
export const servicesInScope = defineQuery<CatalogState, ScopedNamespace, readonly MeshService[]>({
  name: 'services-in-scope',
  keyOf: scopedNamespaceKey,
  equal: (a, b) => sameItems(a, b, sameName),
  compute: (context, { scope, namespace }) => {
    const services =
      scope === 'everyone'
        ? context.get(servicesInNamespace, namespace)
        : context.get(smiReach, scope).filter((service) => service.namespace === namespace)
    return services.filter((service) => context.get(serviceModel, service) !== undefined)
  },
})

/** Every service in a scope, namespace by namespace. */
export const allServicesInScope = defineQuery<CatalogState, Scope, readonly MeshService[]>({
  name: 'all-services-in-scope',
  keyOf: scopeKey,
  equal: (a, b) => sameItems(a, b, sameName),
  compute: (context, scope) =>
    context.get(namespacesInScope, scope).flatMap((namespace) => context.get(servicesInScope, { scope, namespace })),
})
