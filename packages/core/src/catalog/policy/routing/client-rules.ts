import type { ServiceAccountRef } from '@osm-ts/driver-api'
import {
  compareText,
  type ClientGateway,
  type ClientRetry,
  type ClientRulesPart,
  type RetryPolicy,
} from '@osm-ts/driver-api/policy'

import { parseDuration } from '../../../config/index.js'
import { serviceIdentity } from '../../../identity/index.js'
import { misplacedRetry, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs, objectInputs, settingInputs } from '../../inputs/inputs.js'
import { withInstances } from '../problems/claims.js'
import { gatewayRules, type GatewayRule } from '../egress/egress-parts.js'
import { gatewayUpstreamId } from '../egress/gateway-service.js'
import { nameKey, servicePortKey, sortedUnique, type NamespacedName } from '../parts/keys.js'
import { keepPart, makePart, samePart, type PolicyPart, type SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { allServicesInScope, scopeOf } from '../parts/reach.js'
import { serviceModel } from '../upstreams/services.js'

interface RetryAnalysis {
  /** Undefined: the object is ignored. */
  readonly policy: RetryPolicy | undefined
  readonly destinations: readonly NamespacedName[]
  readonly problems: readonly PolicyProblem[]
}

/** What a Retry says; undefined if there is none of that name. */
export const retryAnalysis = defineQuery<CatalogState, NamespacedName, RetryAnalysis | undefined>({
  name: 'retry-analysis',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const retry = context.get(objectInputs.Retry, key)
    return retry && analyse(retry)
  },
})

function analyse({ metadata, spec }: KindMap['Retry']): RetryAnalysis {
  const problems = new ProblemList(objectRefOf('Retry', metadata))
  const { retryOn, numRetries, perTryTimeout, retryBackoffBaseInterval } = spec.retryPolicy
  const duration = (text: string, field: string): number | undefined => {
    const milliseconds = parseDuration(text)
    if (milliseconds !== undefined && milliseconds >= 0) return milliseconds
    problems.error(
      'OSM_SPEC_DURATION',
      `spec.retryPolicy.${field}`,
      `must be a duration such as 250ms or 1s, not ${JSON.stringify(text)}; the default of the proxy applies`,
    )
    return undefined
  }
  const perTryTimeoutMs = duration(perTryTimeout, 'perTryTimeout')
  const backoffBaseIntervalMs = duration(retryBackoffBaseInterval, 'retryBackoffBaseInterval')
  const policy: RetryPolicy = {
    retryOn: sortedUnique(
      retryOn
        .split(',')
        .map((condition) => condition.trim())
        .filter((condition) => condition !== ''),
    ),
    numRetries,
    // Zero means unset, as in Go.
    ...(perTryTimeoutMs ? { perTryTimeoutMs } : {}),
    ...(backoffBaseIntervalMs ? { backoffBaseIntervalMs } : {}),
  }
  const misplaced = spec.source.namespace !== metadata.namespace
  if (misplaced)
    problems.error(
      'OSM_SPEC_RETRY_NAMESPACE',
      'spec.source.namespace',
      misplacedRetry(spec.source.namespace, metadata.namespace),
    )
  return {
    policy: misplaced ? undefined : policy,
    destinations: spec.destinations.map(({ namespace, name }) => ({ namespace, name })),
    problems: problems.items,
  }
}

/** The `clientRules` part of an account; undefined if there is nothing to say. */
export const clientRulesPart = defineQuery<CatalogState, ServiceAccountRef, PolicyPart<ClientRulesPart> | undefined>({
  name: 'client-rules-part',
  keyOf: nameKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, account) => {
    const found = retriesOf(context, account)
    const gateways = context.get(gatewayRules, account)
    if (found.length === 0 && gateways.length === 0) return undefined
    const origins = [
      ...found.map(({ origin }, index): [string, readonly SourceRef[]] => [`/retries/${index}`, [origin]]),
      ...gateways.map(({ choice }, index): [string, readonly SourceRef[]] => [`/gateways/${index}`, [choice.origin]]),
    ]
    return makePart<ClientRulesPart>(
      {
        kind: 'clientRules',
        id: serviceIdentity(account),
        retries: found.map(({ retry }) => retry),
        preFilters: [],
        egressCredentials: [],
        gateways: gateways.map(clientGateway),
      },
      { origins: Object.fromEntries(origins) },
    )
  },
})

function clientGateway({ egress, choice: { mode, targets } }: GatewayRule): ClientGateway {
  const weighted = targets.map(({ upstream, weight }) => ({ upstream: gatewayUpstreamId(upstream), weight }))
  return { egress, mode, targets: weighted.toSorted((a, b) => compareText(a.upstream, b.upstream)) }
}

/** A destination, or `*` in place of its name, its namespace or both. */
const WILDCARD = '*'

/** The destinations that match a service, the most specific first. The first one that a Retry names applies. */
function destinationsOf({ namespace, name }: NamespacedName): readonly NamespacedName[] {
  return [
    { namespace, name },
    { namespace, name: WILDCARD },
    { namespace: WILDCARD, name },
    { namespace: WILDCARD, name: WILDCARD },
  ]
}

/** For each service that the account may call, the Retry that names it most closely; of several the first by name. */
function retriesOf(
  context: QueryContext<CatalogState>,
  account: ServiceAccountRef,
): readonly { readonly retry: ClientRetry; readonly origin: SourceRef }[] {
  const names = context.get(settingInputs.retries, '') ? context.get(indexInputs.retriesBySource, nameKey(account)) : []
  if (names.length === 0) return []
  const reachable = context.get(allServicesInScope, context.get(scopeOf, account))
  // Looked up by name: a Retry may have thousands of destinations, and a mesh thousands of services.
  const offers = new Map<string, { readonly name: NamespacedName; readonly policy: RetryPolicy }>()
  for (const name of names) {
    const { policy, destinations = [] } = context.get(retryAnalysis, name) ?? {}
    if (policy === undefined) continue
    for (const key of destinations.map(nameKey)) if (!offers.has(key)) offers.set(key, { name, policy })
  }
  const found = new Map<string, { readonly retry: ClientRetry; readonly origin: SourceRef }>()
  for (const service of reachable) {
    const [offer] = destinationsOf(service).flatMap((destination) => offers.get(nameKey(destination)) ?? [])
    if (offer === undefined) continue
    const origin: SourceRef = { object: objectRefOf('Retry', offer.name) }
    for (const outbound of httpPorts(context, service))
      found.set(outbound, { retry: { outbound, policy: offer.policy }, origin })
  }
  return [...found].sort(([a], [b]) => compareText(a, b)).map(([, entry]) => entry)
}

/** Ids of the `outbound` parts of a service, and of its instances with names of their own, that speak HTTP. */
function httpPorts(context: QueryContext<CatalogState>, service: NamespacedName): readonly string[] {
  const ports = (context.get(serviceModel, service)?.ports ?? []).filter(({ protocol }) => isHttp(protocol))
  return withInstances(context, service).flatMap((called) =>
    ports.map(({ port }) => servicePortKey({ ...called, port })),
  )
}
