import {
  compareText,
  type ClientRetry,
  type ClientRulesPart,
  type RetryPolicy,
  type ServiceAccountRef,
} from '@osm-ts/driver-api'

import { parseDuration } from '../../config/index.js'
import { serviceIdentity } from '../../identity/index.js'
import type { KindMap } from '../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { indexInputs, objectInputs, settingInputs } from '../inputs/inputs.js'
import { nameKey, servicePortKey, sortedUnique, type NamespacedName } from './keys.js'
import { keepPart, makePart, samePart, type PolicyPart, type SourceRef } from './policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from './problems.js'
import { isHttp } from './protocol.js'
import { allServicesInScope, scopeOf } from './reach.js'
import { serviceModel } from './services.js'

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
      `must be a duration such as 250ms or 1s, not ${JSON.stringify(text)}; the proxy's own holds`,
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
    // Nought is what Go makes of "not said".
    ...(perTryTimeoutMs ? { perTryTimeoutMs } : {}),
    ...(backoffBaseIntervalMs ? { backoffBaseIntervalMs } : {}),
  }
  const misplaced = spec.source.namespace !== metadata.namespace
  if (misplaced)
    problems.error(
      'OSM_POLICY_RETRY_NAMESPACE',
      'spec.source.namespace',
      `must be ${metadata.namespace}, the namespace of the Retry, which is ignored`,
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
    if (found.length === 0) return undefined
    const origins = found.map(({ origin }, index): [string, readonly SourceRef[]] => [`/retries/${index}`, [origin]])
    return makePart<ClientRulesPart>(
      {
        kind: 'clientRules',
        id: serviceIdentity(account),
        retries: found.map(({ retry }) => retry),
        preFilters: [],
        egressCredentials: [],
        gateways: [],
      },
      { origins: Object.fromEntries(origins) },
    )
  },
})

/** For each service that the account may call, the first Retry by name that names it. */
function retriesOf(
  context: QueryContext<CatalogState>,
  account: ServiceAccountRef,
): readonly { readonly retry: ClientRetry; readonly origin: SourceRef }[] {
  const names = context.get(settingInputs.retries, '') ? context.get(indexInputs.retriesBySource, nameKey(account)) : []
  if (names.length === 0) return []
  const reachable = new Set(context.get(allServicesInScope, context.get(scopeOf, account)).map(nameKey))
  const found = new Map<string, { readonly retry: ClientRetry; readonly origin: SourceRef }>()
  for (const name of names) {
    const { policy, destinations = [] } = context.get(retryAnalysis, name) ?? {}
    if (policy === undefined) continue
    for (const service of destinations.filter((destination) => reachable.has(nameKey(destination)))) {
      for (const { port, protocol } of context.get(serviceModel, service)?.ports ?? []) {
        const outbound = servicePortKey({ ...service, port })
        if (isHttp(protocol) && !found.has(outbound))
          found.set(outbound, { retry: { outbound, policy }, origin: { object: objectRefOf('Retry', name) } })
      }
    }
  }
  return [...found].sort(([a], [b]) => compareText(a, b)).map(([, entry]) => entry)
}
