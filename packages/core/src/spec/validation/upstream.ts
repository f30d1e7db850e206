import type { MeshService } from '@osm-ts/driver-api'

import type { Steps } from '../../async/index.js'
import { parseDuration } from '../../config/duration.js'
import { formatObjectRef } from '../../problem.js'
import { isDnsSubdomain } from '../../identity/index.js'
import { objectRef, type KindMap } from '../objects.js'
import { serviceHostName, serviceOfHost } from '../service-names.js'
import {
  badDuration,
  doubt,
  fault,
  findings,
  inEach,
  missing,
  unknownAccount,
  type CheckContext,
  type Finding,
} from './check.js'
import { upstreamClaim } from './claims.js'
import { checkRateLimits } from './rate-limits.js'

type Setting = KindMap['UpstreamTrafficSetting']

/** UpstreamTrafficSettings for no host, for one that has a setting, or with limits that limit nothing. */
export function* checkUpstreamTrafficSetting(setting: Setting, context: CheckContext): Steps<readonly Finding[]> {
  const { host, connectionSettings } = setting.spec
  const name = host.toLowerCase()
  const owner = context.claims.rival('upstream', upstreamClaim(setting, context.clusterDomain), setting)
  const { http, tcp } = connectionSettings ?? {}
  return findings(
    isDnsSubdomain(name) && name.includes('.')
      ? foreignService(setting, name, context)
      : fault(
          'OSM_SPEC_HOST',
          'spec.host',
          `must be a full host name such as web.default.svc.${context.clusterDomain}, not ${JSON.stringify(host)}`,
        ),
    owner !== undefined &&
      fault(
        'OSM_SPEC_CONFLICT',
        'spec.host',
        `already has ${formatObjectRef(objectRef(owner))}, which takes precedence`,
      ),
    badDuration(tcp?.connectTimeout, 'spec.connectionSettings.tcp.connectTimeout'),
    http?.circuitBreaking && checkBreaker(http.circuitBreaking),
    yield* checkRateLimits(setting, context),
  )
}

/**
 * A host that is not a service of the setting's namespace. A service of the mesh takes settings of its own namespace only, in whatever spelling. Every other
 * host is one outside the mesh, also where a Service of that name exists: its setting counts for the Egress that names it.
 */
function elsewhere({ namespace, name }: Setting['metadata'], host: string, context: CheckContext): readonly Finding[] {
  const service = namedService(host, context)
  if (service !== undefined)
    return [
      fault(
        'OSM_SPEC_HOST',
        'spec.host',
        `is a service of namespace ${JSON.stringify(service.namespace)}; a setting must be in the namespace of its service, which here is ${JSON.stringify(namespace)}`,
      ),
    ]
  return findings(
    context.claims.owner('egress-setting', `${namespace}/${name}`) === undefined &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.host',
        `is outside the mesh: the setting applies only to an Egress that names it in spec.matches, and no Egress of namespace ${JSON.stringify(namespace)} names ${JSON.stringify(name)}`,
      ),
  )
}

/** The service of the mesh, in any namespace, that a host name stands for. */
function namedService(host: string, { clusterDomain, snapshot }: CheckContext): MeshService | undefined {
  for (const namespace of namespacesIn(host)) {
    const service = serviceOfHost(host, namespace, clusterDomain)
    const own = service?.name.split('.').at(-1)
    if (service !== undefined && own !== undefined && snapshot.get('Service', namespace, own) !== undefined)
      return service
  }
  return undefined
}

/** Labels of a host name that may be the namespace of a service, or of an instance of one. */
function namespacesIn(host: string): readonly string[] {
  return host.split('.').slice(1, 3)
}

/** A setting counts for services of its own namespace only. */
function foreignService({ metadata, spec }: Setting, host: string, context: CheckContext): readonly Finding[] {
  const { clusterDomain, snapshot } = context
  const named = serviceOfHost(host, metadata.namespace, clusterDomain)
  if (named === undefined) return elsewhere(metadata, host, context)
  const [service = '', ...more] = named.name.split('.').toReversed()
  const served = spec.rateLimit !== undefined || (spec.httpRoutes ?? []).length > 0
  return findings(
    snapshot.get('Service', named.namespace, service) === undefined &&
      doubt('OSM_SPEC_REFERENCE', 'spec.host', missing(context, 'Service', named.namespace, service)),
    more.length > 0 &&
      served &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.host',
        `is one instance of a headless service: its limits on the called side have no effect; set them for ${serviceHostName({ ...named, name: service }, clusterDomain)}`,
      ),
  )
}

type Breaker = NonNullable<NonNullable<NonNullable<Setting['spec']['connectionSettings']>['http']>['circuitBreaking']>

function checkBreaker(breaker: Breaker): readonly Finding[] {
  const field = 'spec.connectionSettings.http.circuitBreaking'
  const { slowTimeThreshold, slowAmountThreshold, slowRatioThreshold, errorAmountThreshold, errorRatioThreshold } =
    breaker
  const slow = Boolean(slowAmountThreshold) || Boolean(slowRatioThreshold)
  const errors = Boolean(errorAmountThreshold) || Boolean(errorRatioThreshold)
  const durations = ['statTimeWindow', 'degradedTimeWindow', 'slowTimeThreshold'] as const
  const ratios = ['slowRatioThreshold', 'errorRatioThreshold'] as const
  return findings(
    durations.flatMap((name) => findings(badDuration(breaker[name], `${field}.${name}`))),
    ratios.flatMap((name) =>
      findings(
        (breaker[name] ?? 0) > 1 && doubt('OSM_SPEC_NO_EFFECT', `${field}.${name}`, 'is a ratio: 1 is the maximum'),
      ),
    ),
    slow &&
      (parseDuration(slowTimeThreshold ?? '0') ?? 0) <= 0 &&
      doubt('OSM_SPEC_NO_EFFECT', `${field}.slowTimeThreshold`, 'is missing: it defines which requests are slow'),
    !slow &&
      !errors &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        field,
        'never opens: set slowAmountThreshold, slowRatioThreshold, errorAmountThreshold or errorRatioThreshold',
      ),
  )
}

const retryConditions = new Set([
  '5xx',
  'gateway-error',
  'reset',
  'reset-before-request',
  'connect-failure',
  'envoy-ratelimited',
  'retriable-4xx',
  'refused-stream',
  'retriable-status-codes',
  'retriable-headers',
  'http3-post-connect-failure',
  'cancelled',
  'deadline-exceeded',
  'internal',
  'resource-exhausted',
  'unavailable',
])

/** Retries that retry nothing. */
export function* checkRetry({ metadata, spec }: KindMap['Retry'], context: CheckContext): Steps<readonly Finding[]> {
  const { source, destinations, retryPolicy } = spec
  const conditions = retryPolicy.retryOn.split(',').map((condition) => condition.trim())
  return findings(
    source.kind === 'ServiceAccount'
      ? unknownAccount(context, source.namespace, source.name, 'spec.source.name')
      : fault('OSM_SPEC_ACCOUNT', 'spec.source.kind', `must be ServiceAccount, not ${JSON.stringify(source.kind)}`),
    source.namespace !== metadata.namespace &&
      fault('OSM_SPEC_RETRY_NAMESPACE', 'spec.source.namespace', misplacedRetry(source.namespace, metadata.namespace)),
    destinations.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.destinations', 'is empty: nothing is retried'),
    yield* inEach(destinations, ({ kind, namespace, name }, index) =>
      kind !== 'Service'
        ? [
            fault(
              'OSM_SPEC_REFERENCE',
              `spec.destinations[${index}].kind`,
              `must be Service, not ${JSON.stringify(kind)}`,
            ),
          ]
        : findings(unknownDestination(context, { namespace, name }, `spec.destinations[${index}].name`)),
    ),
    conditions.flatMap((condition) =>
      findings(
        !retryConditions.has(condition) &&
          !/^[1-5]\d\d$/.test(condition) &&
          doubt('OSM_SPEC_RETRY_ON', 'spec.retryPolicy.retryOn', `${JSON.stringify(condition)} is unknown and ignored`),
      ),
    ),
    badDuration(retryPolicy.perTryTimeout, 'spec.retryPolicy.perTryTimeout'),
    badDuration(retryPolicy.retryBackoffBaseInterval, 'spec.retryPolicy.retryBackoffBaseInterval'),
  )
}

/** A doubt if no service is meant. `*` stands for every name, or every namespace. */
function unknownDestination(
  context: CheckContext,
  { namespace, name }: MeshService,
  field: string,
): Finding | undefined {
  const { snapshot } = context
  if (namespace !== '*' && name !== '*')
    return snapshot.get('Service', namespace, name) === undefined
      ? doubt('OSM_SPEC_REFERENCE', field, missing(context, 'Service', namespace, name))
      : undefined
  const named = namespace === '*' ? snapshot.list('Service') : snapshot.byNamespace('Service', namespace)
  return named.some(({ metadata }) => name === '*' || metadata.name === name)
    ? undefined
    : doubt('OSM_SPEC_REFERENCE', field, `${namespace}/${name} does not name a Service`)
}

/** Says that a Retry is ignored because it is not in the namespace of its source, and what to do. */
export function misplacedRetry(source: string, own: string): string {
  const named = JSON.stringify(source)
  return `is ${named}, but the Retry is in ${JSON.stringify(own)} and is ignored: set metadata.namespace to ${named}`
}
