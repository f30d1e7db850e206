import { parseDuration } from '../../config/duration.js'
import { formatObjectRef } from '../../problem.js'
import { isDnsSubdomain } from '../../identity/index.js'
import { objectRef, type KindMap } from '../objects.js'
import {
  badPattern,
  doubt,
  fault,
  findings,
  missing,
  unknownAccount,
  type CheckContext,
  type Finding,
} from './check.js'
import { upstreamClaim } from './claims.js'

type Setting = KindMap['UpstreamTrafficSetting']

/** UpstreamTrafficSettings for no host, or for one that has a setting. */
export function checkUpstreamTrafficSetting(setting: Setting, context: CheckContext): readonly Finding[] {
  const { host, connectionSettings, rateLimit, httpRoutes = [] } = setting.spec
  const name = host.toLowerCase()
  const owner = context.claims.rival('upstream', upstreamClaim(setting), setting)
  const { http, tcp } = connectionSettings ?? {}
  const breaker = 'spec.connectionSettings.http.circuitBreaking'
  return findings(
    (!isDnsSubdomain(name) || !name.includes('.')) &&
      fault(
        'OSM_SPEC_HOST',
        'spec.host',
        `must be a full host name such as web.default.svc.${context.clusterDomain}, not ${JSON.stringify(host)}`,
      ),
    foreignService(setting, name, context),
    owner !== undefined &&
      fault('OSM_SPEC_CONFLICT', 'spec.host', `has ${formatObjectRef(objectRef(owner))} already, which holds`),
    badDuration(tcp?.connectTimeout, 'spec.connectionSettings.tcp.connectTimeout'),
    badDuration(http?.circuitBreaking?.statTimeWindow, `${breaker}.statTimeWindow`),
    badDuration(http?.circuitBreaking?.degradedTimeWindow, `${breaker}.degradedTimeWindow`),
    badDuration(http?.circuitBreaking?.slowTimeThreshold, `${breaker}.slowTimeThreshold`),
    badDuration(rateLimit?.global?.tcp?.timeout, 'spec.rateLimit.global.tcp.timeout'),
    badDuration(rateLimit?.global?.http?.timeout, 'spec.rateLimit.global.http.timeout'),
    checkDescriptors(rateLimit?.global?.http?.descriptors ?? [], 'spec.rateLimit.global.http.descriptors', context),
    httpRoutes.flatMap((route, index) => [
      ...findings(badPattern(route.path, `spec.httpRoutes[${index}].path`, context)),
      ...checkDescriptors(
        route.rateLimit?.global?.descriptors ?? [],
        `spec.httpRoutes[${index}].rateLimit.global.descriptors`,
        context,
      ),
    ]),
  )
}

/** A setting counts for services of its own namespace only. */
function foreignService(
  { metadata }: Setting,
  host: string,
  { clusterDomain, snapshot }: CheckContext,
): Finding | undefined {
  const suffix = `.svc.${clusterDomain}`
  if (!host.endsWith(suffix)) return undefined
  const [name = '', namespace = ''] = host.slice(0, -suffix.length).split('.').slice(-2)
  if (namespace !== metadata.namespace)
    return fault(
      'OSM_SPEC_HOST',
      'spec.host',
      `is a service of namespace ${JSON.stringify(namespace)}; a setting stands in the namespace of its service, which here is ${JSON.stringify(metadata.namespace)}`,
    )
  return snapshot.get('Service', namespace, name) === undefined
    ? doubt('OSM_SPEC_REFERENCE', 'spec.host', missing(snapshot, 'Service', namespace, name))
    : undefined
}

type Descriptors = NonNullable<
  NonNullable<NonNullable<NonNullable<Setting['spec']['rateLimit']>['global']>['http']>['descriptors']
>

function checkDescriptors(descriptors: Descriptors, field: string, context: CheckContext): readonly Finding[] {
  return descriptors.flatMap(({ entries }, descriptor) =>
    entries.flatMap((entry, index) => {
      const at = `${field}[${descriptor}].entries[${index}]`
      const given = Object.keys(entry)
      return findings(
        given.length !== 1 &&
          fault(
            'OSM_SPEC_HEADER',
            at,
            'must have exactly one of genericKey, remoteAddress, requestHeader and headerValueMatch',
          ),
        (entry.headerValueMatch?.headers ?? []).flatMap(({ name, ...match }, header) => {
          const place = `${at}.headerValueMatch.headers[${header}]`
          return findings(
            Object.keys(match).length !== 1 &&
              fault(
                'OSM_SPEC_HEADER',
                place,
                `must say exactly one thing of header ${name}: exact, prefix, suffix, regex, contains or present`,
              ),
            match.regex !== undefined && badPattern(match.regex, `${place}.regex`, context),
          )
        }),
      )
    }),
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
export function checkRetry({ spec }: KindMap['Retry'], { snapshot }: CheckContext): readonly Finding[] {
  const { source, destinations, retryPolicy } = spec
  const conditions = retryPolicy.retryOn.split(',').map((condition) => condition.trim())
  return findings(
    source.kind === 'ServiceAccount'
      ? unknownAccount(snapshot, source.namespace, source.name, 'spec.source.name')
      : fault('OSM_SPEC_ACCOUNT', 'spec.source.kind', `must be ServiceAccount, not ${JSON.stringify(source.kind)}`),
    destinations.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.destinations', 'is empty: nothing is retried'),
    destinations.flatMap(({ kind, namespace, name }, index) =>
      kind !== 'Service'
        ? [
            fault(
              'OSM_SPEC_REFERENCE',
              `spec.destinations[${index}].kind`,
              `must be Service, not ${JSON.stringify(kind)}`,
            ),
          ]
        : findings(
            snapshot.get('Service', namespace, name) === undefined &&
              doubt(
                'OSM_SPEC_REFERENCE',
                `spec.destinations[${index}].name`,
                missing(snapshot, 'Service', namespace, name),
              ),
          ),
    ),
    conditions.flatMap((condition) =>
      findings(
        !retryConditions.has(condition) &&
          !/^[1-5]\d\d$/.test(condition) &&
          doubt(
            'OSM_SPEC_RETRY_ON',
            'spec.retryPolicy.retryOn',
            `${JSON.stringify(condition)} is not known and not obeyed`,
          ),
      ),
    ),
    badDuration(retryPolicy.perTryTimeout, 'spec.retryPolicy.perTryTimeout'),
    badDuration(retryPolicy.retryBackoffBaseInterval, 'spec.retryPolicy.retryBackoffBaseInterval'),
  )
}

/** A duration that can't be read, or runs backwards. */
export function badDuration(text: string | undefined, field: string): Finding | undefined {
  if (text === undefined) return undefined
  const milliseconds = parseDuration(text)
  if (milliseconds !== undefined && milliseconds >= 0) return undefined
  return fault('OSM_SPEC_DURATION', field, `${JSON.stringify(text)} is no duration such as 5s or 1m30s`)
}
