import fc from 'fast-check'

import {
  type Compare,
  compareBy,
  compareCanonical,
  compareText,
  type HeaderChanges,
  type HeaderMatch,
  type HttpRateLimitDescriptor,
  type OutboundMatch,
  type OutboundRoute,
  type PathChange,
  type QueryMatch,
  type RateLimits,
  type RouteLimits,
  type RouteMatch,
  type StringMatch,
  type UpstreamTls,
  type WeightedUpstream,
} from '../../src/policy/index.js'
import {
  by,
  count,
  credentialRef,
  duration,
  headers,
  host,
  hostAddress,
  name,
  port,
  positiveCount,
  principal,
  sortedList,
} from './values.js'

const valueMatch = fc.record({
  type: fc.constantFrom('exact' as const, 'prefix' as const, 'regex' as const),
  value: fc.string(),
})
const stringMatch: fc.Arbitrary<StringMatch> = fc.oneof(valueMatch, fc.constant({ type: 'present' } as const))

const headerMatch: fc.Arbitrary<HeaderMatch> = fc.record(
  { name: fc.stringMatching(/^[a-z][a-z0-9-]{0,7}$/), match: stringMatch, invert: fc.constant(true) },
  { requiredKeys: ['name', 'match'] },
)

const headerMatches = sortedList(headerMatch, compareBy(by('name'), compareCanonical), { minLength: 1 })

const segments = fc.stringMatching(/^\/[a-z]{1,5}(\/[a-z]{1,5})?$/)
const queryMatch: fc.Arbitrary<QueryMatch> = fc.record({
  name,
  match: fc.record({ type: fc.constantFrom('exact' as const, 'regex' as const), value: fc.string() }),
})

const pathMatch = fc.record({
  type: fc.constantFrom('exact' as const, 'prefix' as const, 'regex' as const),
  value: fc.webPath().map((path) => `/${path}`),
})

export const routeMatch: fc.Arbitrary<RouteMatch> = fc.record(
  {
    path: pathMatch,
    methods: sortedList(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'), compareText, { minLength: 1 }),
    headers: headerMatches,
  },
  { requiredKeys: [] },
)

const bucket = fc.record({ tokens: positiveCount, intervalMs: duration, burst: count })
export const errorStatus = fc.integer({ min: 400, max: 599 })
const httpLocal = fc.record({ bucket, statusCode: errorStatus, responseHeaders: headers })
const tcpDescriptor = fc.record({
  entries: fc.array(fc.record({ key: name, value: fc.string() }), { maxLength: 3 }),
})
const httpDescriptor: fc.Arbitrary<HttpRateLimitDescriptor> = fc.record({
  entries: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('constant' as const), key: name, value: fc.string() }),
      fc.constant({ kind: 'remoteAddress' } as const),
      fc.record({ kind: fc.constant('requestHeader' as const), key: name, header: name }),
      fc.record({
        kind: fc.constant('headerMatch' as const),
        key: name,
        value: fc.string(),
        expectMatch: fc.boolean(),
        headers: headerMatches,
      }),
    ),
    { maxLength: 3 },
  ),
})
const globalLimit = { service: hostAddress, domain: name, timeoutMs: duration, failOpen: fc.boolean() }
const tcpLimits = {
  tcp: fc.record({ bucket }),
  globalTcp: fc.record({ ...globalLimit, descriptors: fc.array(tcpDescriptor, { maxLength: 2 }) }),
}
const httpLimits = {
  http: httpLocal,
  globalHttp: fc.record({
    ...globalLimit,
    statusCode: errorStatus,
    limitHeaders: fc.boolean(),
    descriptors: fc.array(httpDescriptor, { maxLength: 2 }),
  }),
}

/** Limits that a port of that sort may have. */
export function rateLimits(http: boolean): fc.Arbitrary<RateLimits> {
  return http
    ? fc.record({ ...tcpLimits, ...httpLimits }, { requiredKeys: [] })
    : fc.record(tcpLimits, { requiredKeys: [] })
}

export const routeLimits: fc.Arbitrary<RouteLimits> = fc.record({
  match: routeMatch,
  rateLimits: fc.record(
    { http: httpLocal, globalHttpDescriptors: fc.array(httpDescriptor, { maxLength: 2 }) },
    { requiredKeys: [] },
  ),
})

export const externalAuthorization = fc.record({
  host,
  port,
  statPrefix: name,
  timeoutMs: duration,
  failureModeAllow: fc.boolean(),
})

export const targets: fc.Arbitrary<readonly WeightedUpstream[]> = sortedList(
  fc.record({ upstream: name, weight: count }),
  by('upstream'),
)

const outboundMatch: fc.Arbitrary<OutboundMatch> = fc
  .tuple(
    routeMatch,
    fc.record(
      {
        path: fc.record({ type: fc.constant('segments' as const), value: segments }),
        queryParameters: sortedList(queryMatch, by('name'), { minLength: 1 }),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([match, more]) => ({ ...match, ...more }))

const headerName = fc.stringMatching(/^[a-z][a-z0-9-]{0,7}$/)
const headerValues = sortedList(fc.record({ name: headerName, value: fc.string() }), by('name'), { minLength: 1 })
const headerChanges: fc.Arbitrary<HeaderChanges> = fc.oneof(
  headerValues.map((set) => ({ set })),
  headerValues.map((add) => ({ add })),
  sortedList(headerName, compareText, { minLength: 1 }).map((remove) => ({ remove })),
)
const pathChange: fc.Arbitrary<PathChange> = fc.record({ type: fc.constant('full' as const), value: segments })
const changedHeaders = { requestHeaders: headerChanges, responseHeaders: headerChanges }
const redirectRoute = fc.record(
  {
    match: outboundMatch,
    targets: fc.constant([]),
    timeoutMs: fc.constant(0),
    redirect: fc.record(
      {
        status: fc.constantFrom(301 as const, 302 as const, 303 as const, 307 as const, 308 as const),
        scheme: fc.constantFrom('http' as const, 'https' as const),
        host,
        port,
        path: pathChange,
      },
      { requiredKeys: ['status'] },
    ),
    responseHeaders: headerChanges,
  },
  { requiredKeys: ['match', 'targets', 'timeoutMs', 'redirect'] },
)
export const retryPolicy = fc.record(
  {
    retryOn: sortedList(fc.constantFrom('5xx', 'gateway-error', 'reset', 'connect-failure'), compareText),
    numRetries: count,
    perTryTimeoutMs: duration,
    backoffBaseIntervalMs: duration,
  },
  { requiredKeys: ['retryOn', 'numRetries'] },
)

const routeTargets = sortedList(
  fc.record({ upstream: name, weight: count, ...changedHeaders }, { requiredKeys: ['upstream', 'weight'] }),
  by('upstream'),
)
const errorShare = fc.record(
  { errorWeight: fc.integer({ min: 1, max: 100 }), errorStatus: fc.constant(503 as const) },
  { requiredKeys: ['errorWeight'] },
)
const succeedingRoute = fc.record(
  {
    match: outboundMatch,
    targets: routeTargets,
    timeoutMs: fc.nat(60_000),
    ...changedHeaders,
    rewrite: fc.oneof(fc.record({ host }), fc.record({ path: pathChange })),
    retries: retryPolicy,
  },
  { requiredKeys: ['match', 'targets', 'timeoutMs'] },
)
const targetRoute = fc.oneof(
  succeedingRoute,
  fc.tuple(succeedingRoute, errorShare).map(([route, errors]) => ({ ...route, ...errors })),
)
export const outboundRoute: fc.Arbitrary<OutboundRoute> = fc.oneof(targetRoute, redirectRoute)

export const meshTls = fc.record({
  mode: fc.constant('mesh' as const),
  serverName: host,
  principals: sortedList(principal, compareText, { minLength: 1 }),
})
export const foreignTls: fc.Arbitrary<UpstreamTls> = fc.oneof(
  fc.record(
    {
      mode: fc.constant('originate' as const),
      serverName: host,
      subjectAltNames: sortedList(host, compareText),
      credential: credentialRef,
      roots: credentialRef,
    },
    { requiredKeys: ['mode', 'serverName', 'subjectAltNames'] },
  ),
  fc.constant({ mode: 'none' } as const),
)

export const bySocket: Compare<{ readonly address: string; readonly port: number }> = compareBy<{
  readonly address: string
  readonly port: number
}>(by('address'), (a, b) => a.port - b.port)
