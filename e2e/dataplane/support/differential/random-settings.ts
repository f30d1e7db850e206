import fc from 'fast-check'

import { HTTP_PORT, document, services } from './topology.js'

/*
 * Random objects of the kinds that shape traffic without deciding who may send it. Values are of the kind that people write by mistake as well: out of
 * proportion, contradictory, about what is not there.
 */

const count = fc.constantFrom(1, 2, 1000, 4_294_967_295)
const unit = fc.constantFrom('second', 'minute', 'hour')
const duration = fc.constantFrom('1ms', '250ms', '1s', '1h')
const host = fc.constantFrom(...services, 'a/none').map((name) => {
  const [namespace = '', own = ''] = name.split('/')
  return `${own}.${namespace}.svc.cluster.local`
})
const httpLimit = fc.record(
  {
    requests: count,
    unit,
    burst: count,
    responseStatusCode: fc.constantFrom(429, 503, 599),
    responseHeadersToAdd: fc.constantFrom([], [{ name: 'x-limited', value: 'yes' }]),
  },
  { requiredKeys: ['requests', 'unit'] },
)

const upstreamTrafficSetting = fc
  .tuple(
    fc.nat(5),
    fc.record(
      {
        host,
        connectionSettings: fc.record(
          {
            tcp: fc.record({ maxConnections: count, connectTimeout: duration }, { requiredKeys: [] }),
            http: fc.record(
              { maxRequests: count, maxRequestsPerConnection: count, maxPendingRequests: count, maxRetries: count },
              { requiredKeys: [] },
            ),
          },
          { requiredKeys: [] },
        ),
        rateLimit: fc.record({
          local: fc.record(
            { tcp: fc.record({ connections: count, unit, burst: count }), http: httpLimit },
            { requiredKeys: [] },
          ),
        }),
        httpRoutes: fc.array(
          fc.record({
            path: fc.constantFrom('/a', '.*', '/a/.*', '/none'),
            rateLimit: fc.record({ local: httpLimit }),
          }),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: ['host'] },
    ),
  )
  .map(([number, spec]) =>
    document('policy.openservicemesh.io/v1alpha1', 'UpstreamTrafficSetting', `a/uts${number}`, { spec }),
  )

const retry = fc
  .tuple(
    fc.nat(3),
    fc.record({
      retryOn: fc.constantFrom('5xx', '5xx,reset', 'gateway-error,connect-failure', 'nonsense', '503'),
      perTryTimeout: duration,
      numRetries: fc.constantFrom(0, 1, 5, 100),
      retryBackoffBaseInterval: duration,
    }),
    fc.constantFrom('*', 'web', 'both', 'none'),
  )
  .map(([number, retryPolicy, name]) =>
    document('policy.openservicemesh.io/v1alpha1', 'Retry', `a/retry${number}`, {
      spec: {
        source: { kind: 'ServiceAccount', name: 'alice', namespace: 'a' },
        destinations: [{ kind: 'Service', name, namespace: 'a' }],
        retryPolicy,
      },
    }),
  )

const egress = fc
  .tuple(
    fc.nat(3),
    fc.subarray(['outside.test', 'other.test', '*.wild.test', '*', 'web.a'], { minLength: 1 }),
    fc.constantFrom(80, HTTP_PORT, 65_535),
    fc.constantFrom([], [{ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name: 'g0' }]),
  )
  .map(([number, hosts, port, matches]) =>
    document('policy.openservicemesh.io/v1alpha1', 'Egress', `a/egress${number}`, {
      spec: {
        sources: [{ kind: 'ServiceAccount', name: 'alice', namespace: 'a' }],
        hosts,
        ports: [{ number: port, protocol: 'http' }],
        matches,
      },
    }),
  )

const ingressBackend = fc
  .tuple(
    fc.nat(3),
    fc.constantFrom('web', 'twin', 'both', 'none'),
    fc.subarray(['10.0.0.0/8', '127.0.0.1/32', '0.0.0.0/0'], { minLength: 1 }),
  )
  .map(([number, name, ranges]) =>
    document('policy.openservicemesh.io/v1alpha1', 'IngressBackend', `a/ingress${number}`, {
      spec: {
        backends: [{ name, port: { number: HTTP_PORT, protocol: 'http' } }],
        sources: ranges.map((range) => ({ kind: 'IPRange', name: range })),
      },
    }),
  )

/** Documents of settings; a name may occur twice. */
export const anySettings: fc.Arbitrary<readonly string[]> = fc
  .tuple(
    fc.array(upstreamTrafficSetting, { maxLength: 4 }),
    fc.array(retry, { maxLength: 3 }),
    fc.array(egress, { maxLength: 3 }),
    fc.array(ingressBackend, { maxLength: 3 }),
  )
  .map((lists) => lists.flat())
