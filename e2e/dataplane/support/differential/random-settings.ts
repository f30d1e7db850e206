import fc from 'fast-check'

import { ref } from '../yaml.js'
import { numbered } from './random-names.js'
import { randomObservation } from './random-observation.js'
import { address, count, duration, expression, headerName, headerValue, host, mostly, range } from './random-values.js'
import { HTTP_PORT, TCP_PORT, document, services } from './topology.js'

/*
 * Random objects of the kinds that shape traffic without deciding who may send it, in great number. Values are of the kind that people write by mistake as
 * well: out of proportion, of another type, contradictory, about what is not there.
 */

const api = 'policy.openservicemesh.io/v1alpha1'
const unit = fc.constantFrom('second', 'minute', 'hour')
const service = fc.constantFrom('web', 'twin', 'both', 'none')
const port = fc.constantFrom(80, HTTP_PORT, TCP_PORT, 65_535)
const status = fc.constantFrom(429, 503, 599)
const group = fc.constantFrom('g0', 'g1', 'random', 'none')
const routes = group.map((name) => ({ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name }))
const account = { kind: 'ServiceAccount', name: 'alice', namespace: 'a' }

const meshHost = fc.constantFrom(...services, 'a/none' as const).map((name) => {
  const { namespace, name: own } = ref(name)
  return `${own}.${namespace}.svc.cluster.local`
})

const localHttp = fc.record(
  {
    requests: mostly(count),
    unit: mostly(unit),
    burst: mostly(count),
    responseStatusCode: mostly(status),
    responseHeadersToAdd: fc.array(fc.record({ name: headerName, value: headerValue }), { maxLength: 2 }),
  },
  { requiredKeys: ['requests', 'unit'] },
)
const descriptorEntry = fc.oneof(
  fc.record({ genericKey: fc.record({ value: headerValue, key: headerValue }, { requiredKeys: ['value'] }) }),
  fc.constant({ remoteAddress: {} }),
  fc.record({ requestHeader: fc.record({ name: headerName, key: headerValue }) }),
  fc.record({
    headerValueMatch: fc.record({
      value: headerValue,
      expectMatch: fc.boolean(),
      headers: fc.array(
        fc.oneof(
          fc.record({ name: headerName, regex: expression }),
          fc.record({ name: headerName, exact: headerValue }),
          fc.record({ name: headerName, present: fc.boolean() }),
          fc.record({ name: headerName, prefix: headerValue, suffix: headerValue }),
        ),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  }),
)
const descriptors = fc.array(fc.record({ entries: fc.array(descriptorEntry, { maxLength: 2 }) }), { maxLength: 2 })
const counter = {
  rateLimitService: fc.record({ host: address, port: mostly(port) }),
  domain: headerValue,
  timeout: duration,
  failOpen: fc.boolean(),
}
const globalLimit = fc.record(
  {
    http: fc.record({ ...counter, descriptors, responseStatusCode: mostly(status) }),
    tcp: fc.record({
      ...counter,
      descriptors: fc.array(
        fc.record({ entries: fc.array(fc.record({ key: headerValue, value: headerValue }), { maxLength: 2 }) }),
        { maxLength: 2 },
      ),
    }),
  },
  { requiredKeys: [] },
)

const upstreamTrafficSetting = numbered(
  api,
  'UpstreamTrafficSetting',
  { name: 'uts', last: 19 },
  fc.record(
    {
      host: mostly(fc.oneof(meshHost, meshHost, host)),
      connectionSettings: fc.record(
        {
          tcp: fc.record({ maxConnections: mostly(count), connectTimeout: duration }, { requiredKeys: [] }),
          http: fc.record(
            {
              maxRequests: mostly(count),
              maxRequestsPerConnection: mostly(count),
              maxPendingRequests: mostly(count),
              maxRetries: mostly(count),
              circuitBreaking: fc.record(
                { statTimeWindow: duration, errorRatioThreshold: fc.double({ min: 0, max: 2, noNaN: true }) },
                { requiredKeys: [] },
              ),
            },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: [] },
      ),
      rateLimit: fc.record(
        {
          local: fc.record(
            { tcp: fc.record({ connections: mostly(count), unit, burst: mostly(count) }), http: localHttp },
            { requiredKeys: [] },
          ),
          global: globalLimit,
        },
        { requiredKeys: [] },
      ),
      httpRoutes: fc.array(
        fc.record({
          path: expression,
          rateLimit: fc.record({ local: localHttp, global: fc.record({ descriptors }) }, { requiredKeys: [] }),
        }),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: ['host'] },
  ),
)

const retry = fc
  .tuple(
    fc.nat(7),
    mostly(
      fc.record({
        retryOn: fc.constantFrom('5xx', '5xx,reset', 'gateway-error,connect-failure', 'nonsense', '503', '999', ','),
        perTryTimeout: duration,
        numRetries: mostly(fc.nat(100)),
        retryBackoffBaseInterval: duration,
      }),
    ),
    fc.array(fc.constantFrom('*', 'web', 'both', 'none'), { minLength: 1, maxLength: 3 }),
  )
  .map(([number, retryPolicy, names]) =>
    document(api, 'Retry', `a/retry${number}`, {
      spec: {
        source: account,
        destinations: names.map((name) => ({ kind: 'Service', name, namespace: 'a' })),
        retryPolicy,
      },
    }),
  )

const egress = numbered(
  api,
  'Egress',
  { home: fc.constant('a'), name: 'egress', last: 9 },
  fc.record(
    {
      sources: fc.constantFrom({}, {}, { mtls: { issuer: 'osm' } }).map((mtls) => [{ ...account, ...mtls }]),
      hosts: fc.array(host, { minLength: 1, maxLength: 4 }),
      ipAddresses: fc.array(range, { minLength: 1, maxLength: 3 }),
      ports: fc.array(
        fc.record({
          number: mostly(port),
          protocol: fc.constantFrom('http', 'http', 'https', 'tcp', 'tcp-server-first', 'udp'),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      matches: fc.array(
        fc.oneof(
          routes,
          fc.nat(19).map((setting) => ({ apiGroup: api, kind: 'UpstreamTrafficSetting', name: `uts${setting}` })),
        ),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: ['sources', 'ports'] },
  ),
)

/** IngressBackends and AccessControls have one form. */
const outside = fc
  .tuple(
    fc.constantFrom('IngressBackend', 'AccessControl'),
    fc.nat(7),
    fc.array(
      fc.record(
        {
          name: service,
          port: fc.record({ number: mostly(port), protocol: fc.constantFrom('http', 'https', 'grpc', 'tcp') }),
          tls: fc.record(
            { skipClientCertValidation: fc.boolean(), sniHosts: fc.array(host, { maxLength: 3 }) },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: ['name', 'port'] },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    fc.array(
      fc.oneof(
        range.map((name) => ({ kind: 'IPRange', name })),
        headerValue.map((name) => ({ kind: 'AuthenticatedPrincipal', name })),
        service.map((name) => ({ kind: 'Service', name, namespace: 'a' })),
      ),
      { minLength: 1, maxLength: 4 },
    ),
    fc.array(routes, { maxLength: 1 }),
  )
  .map(([kind, number, backends, sources, matches]) =>
    document(api, kind, `a/outside${number}`, { spec: { backends, sources, matches } }),
  )

const routeGroup = fc
  .array(
    fc.record(
      {
        name: fc.nat(3).map((number) => `m${number}`),
        pathRegex: mostly(expression),
        methods: mostly(fc.array(fc.constantFrom('GET', '*', 'NONSENSE', 'get', ''), { maxLength: 2 })),
        headers: fc.array(
          fc.tuple(headerName, expression).map(([name, pattern]) => ({ [name]: pattern })),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: ['name'] },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((matches) => document('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', 'a/random', { spec: { matches } }))

/** Lets the random routes decide about something. */
const target = document('access.smi-spec.io/v1alpha3', 'TrafficTarget', 'a/random', {
  spec: {
    destination: { ...account, name: 'web' },
    sources: [account],
    rules: [{ kind: 'HTTPRouteGroup', name: 'random' }],
  },
})

/** Documents of settings; a name may occur twice. */
export const anySettings: fc.Arbitrary<readonly string[]> = fc
  .tuple(
    routeGroup.map((text) => [text, target]),
    fc.array(upstreamTrafficSetting, { minLength: 6, maxLength: 12 }),
    fc.array(retry, { minLength: 2, maxLength: 5 }),
    fc.array(egress, { minLength: 4, maxLength: 8 }),
    fc.array(outside, { minLength: 4, maxLength: 8 }),
    randomObservation,
  )
  .map((lists) => lists.flat())
