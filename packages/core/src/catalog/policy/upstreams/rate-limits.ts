import {
  compareCanonical,
  compareText,
  type HeaderMatch,
  type HttpGlobalRateLimit,
  type HttpLocalRateLimit,
  type HttpRateLimitDescriptor,
  type HttpRateLimitDescriptorEntry,
  type RateLimits,
  type RouteLimits,
  type StringMatch,
  type TcpGlobalRateLimit,
  type TcpLocalRateLimit,
  type TokenBucket,
} from '@osm-ts/driver-api/policy'

import { parseDuration } from '../../../config/index.js'
import { isAnswerHeader, isHeaderName, MAX_ANSWER_HEADERS, maxCount, type KindMap } from '../../../spec/index.js'
import { patternFault, patternMatch } from '../problems/pattern.js'

type SettingSpec = KindMap['UpstreamTrafficSetting']['spec']
type RateLimitSpec = NonNullable<SettingSpec['rateLimit']>
type LocalSpec = NonNullable<RateLimitSpec['local']>
type GlobalSpec = NonNullable<RateLimitSpec['global']>
type HttpDescriptors = NonNullable<NonNullable<GlobalSpec['http']>['descriptors']>
type HeaderSpec = NonNullable<HttpDescriptors[number]['entries'][number]['headerValueMatch']>['headers'][number]

const UNIT_MS = { second: 1000, minute: 60_000, hour: 3_600_000 } as const

/** Envoy's own: a limit must not cost more than the request that it is about. */
const SERVICE_TIMEOUT_MS = 20

/** Limits of a host, as UpstreamTrafficSettings have them. What can't be read is left out; the checks of the specification say so. */
export function rateLimitsOf({ local, global }: RateLimitSpec): RateLimits {
  const globalTcp = global?.tcp === undefined || global.tcp.domain === '' ? undefined : tcpGlobal(global.tcp)
  return {
    ...(local?.tcp === undefined ? {} : { tcp: tcpLocal(local.tcp) }),
    ...(local?.http === undefined ? {} : { http: httpLocal(local.http) }),
    ...(globalTcp === undefined ? {} : { globalTcp }),
    ...(global?.http === undefined || global.http.domain === '' ? {} : { globalHttp: httpGlobal(global.http) }),
  }
}

/** Limits of single routes, in the order of the setting; a repeated path counts once. */
export function routeLimitsOf({ httpRoutes = [], rateLimit }: SettingSpec): readonly RouteLimits[] {
  const seen = new Set<string>()
  return httpRoutes.flatMap(({ path, rateLimit: limits }): readonly RouteLimits[] => {
    if (limits === undefined || patternFault(path) !== undefined || seen.has(path)) return []
    seen.add(path)
    const match = patternMatch(path)
    const counted = (rateLimit?.global?.http?.domain ?? '') !== ''
    const descriptors = counted ? limits.global?.descriptors : undefined
    const rateLimits: RouteLimits['rateLimits'] = {
      ...(limits.local === undefined ? {} : { http: httpLocal(limits.local) }),
      ...(descriptors === undefined ? {} : { globalHttpDescriptors: httpDescriptors(descriptors) }),
    }
    return Object.keys(rateLimits).length === 0
      ? []
      : [{ match: match === undefined ? {} : { path: match }, rateLimits }]
  })
}

function tcpLocal({ connections, unit, burst }: NonNullable<LocalSpec['tcp']>): TcpLocalRateLimit {
  return { bucket: bucket(connections, unit, burst) }
}

function httpLocal(limit: NonNullable<LocalSpec['http']>): HttpLocalRateLimit {
  const { requests, unit, burst, responseStatusCode, responseHeadersToAdd = [] } = limit
  return {
    bucket: bucket(requests, unit, burst),
    statusCode: responseStatusCode,
    responseHeaders: responseHeadersToAdd
      .filter(({ name, value }) => isAnswerHeader(name, value))
      .slice(0, MAX_ANSWER_HEADERS)
      .map(({ name, value }) => ({ name, value })),
  }
}

/** Proxies hold the size of a bucket, which is both numbers together, in 32 bits. */
function bucket(tokens: number, unit: keyof typeof UNIT_MS, burst = 0): TokenBucket {
  return { tokens, intervalMs: UNIT_MS[unit], burst: Math.min(burst, maxCount - tokens) }
}

function service(limit: NonNullable<GlobalSpec['tcp'] | GlobalSpec['http']>) {
  const { rateLimitService, domain, timeout, failOpen } = limit
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout)
  return {
    service: { host: rateLimitService.host, port: rateLimitService.port },
    domain,
    timeoutMs: timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : SERVICE_TIMEOUT_MS,
    failOpen,
  }
}

/** Undefined if no descriptor can be used: sidecars refuse a limit without any, which would count nothing. */
function tcpGlobal(limit: NonNullable<GlobalSpec['tcp']>): TcpGlobalRateLimit | undefined {
  const descriptors = limit.descriptors.filter(({ entries }) => entries.every(({ key }) => key !== ''))
  if (descriptors.length === 0) return undefined
  return {
    ...service(limit),
    descriptors: descriptors.map(({ entries }) => ({ entries: entries.map(({ key, value }) => ({ key, value })) })),
  }
}

function httpGlobal(limit: NonNullable<GlobalSpec['http']>): HttpGlobalRateLimit {
  return {
    ...service(limit),
    statusCode: limit.responseStatusCode,
    limitHeaders: limit.enableXRateLimitHeaders,
    descriptors: httpDescriptors(limit.descriptors ?? []),
  }
}

/** One entry that can't be read takes its descriptor with it: without the entry the descriptor would count other requests. */
function httpDescriptors(descriptors: HttpDescriptors): readonly HttpRateLimitDescriptor[] {
  return descriptors.flatMap(({ entries }) => {
    const read = entries.flatMap((entry) => httpEntry(entry) ?? [])
    return read.length === entries.length ? [{ entries: read }] : []
  })
}

function httpEntry(entry: HttpDescriptors[number]['entries'][number]): HttpRateLimitDescriptorEntry | undefined {
  const { genericKey, remoteAddress, requestHeader, headerValueMatch } = entry
  if (Object.keys(entry).length !== 1) return undefined
  if (genericKey !== undefined)
    return { kind: 'constant', key: genericKey.key ?? 'generic_key', value: genericKey.value }
  if (remoteAddress !== undefined) return { kind: 'remoteAddress' }
  if (requestHeader !== undefined)
    return isHeaderName(requestHeader.name)
      ? { kind: 'requestHeader', key: requestHeader.key, header: requestHeader.name.toLowerCase() }
      : undefined
  if (headerValueMatch === undefined) return undefined
  const headers = headerValueMatch.headers.map(headerMatch)
  if (headers.some((header) => header === undefined)) return undefined
  return {
    kind: 'headerMatch',
    key: headerValueMatch.key === undefined || headerValueMatch.key === '' ? 'header_match' : headerValueMatch.key,
    value: headerValueMatch.value,
    expectMatch: headerValueMatch.expectMatch,
    headers: distinct(headers.filter((header) => header !== undefined)),
  }
}

function headerMatch(spec: HeaderSpec): HeaderMatch | undefined {
  const name = spec.name.toLowerCase()
  // The name, and one thing that is said of it.
  if (!isHeaderName(name) || Object.keys(spec).length !== 2) return undefined
  if (spec.present === false) return { name, match: { type: 'present' }, invert: true }
  const match = valueMatch(spec)
  return match === undefined ? undefined : { name, match }
}

function valueMatch({ exact, prefix, suffix, regex, contains }: HeaderSpec): StringMatch | undefined {
  if (exact !== undefined) return { type: 'exact', value: exact }
  if (prefix !== undefined) return { type: 'prefix', value: prefix }
  if (suffix !== undefined) return { type: 'regex', value: `.*${literally(suffix)}` }
  if (contains !== undefined) return { type: 'regex', value: `.*${literally(contains)}.*` }
  if (regex === undefined) return { type: 'present' }
  return patternFault(regex) === undefined ? (patternMatch(regex) ?? { type: 'present' }) : undefined
}

/** Text as an expression that matches just that. */
function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

/** Sorted, each once. */
function distinct(headers: readonly HeaderMatch[]): readonly HeaderMatch[] {
  const sorted = headers.toSorted((a, b) => compareText(a.name, b.name) || compareCanonical(a, b))
  return sorted.filter((header, index) => {
    const before = sorted[index - 1]
    return before === undefined || compareCanonical(before, header) !== 0
  })
}
