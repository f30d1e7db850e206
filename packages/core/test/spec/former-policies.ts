import fc from 'fast-check'

import { text, integer, count, positive, duration, several, some, account, matches } from './former-values.js'

const status = fc.integer({ min: 400, max: 599 })
const unit = fc.constantFrom('second', 'minute', 'hour')
const httpLimit = some(
  {
    requests: positive,
    unit,
    burst: count,
    responseStatusCode: status,
    responseHeadersToAdd: several(fc.record({ name: text, value: text })),
  },
  'requests',
  'unit',
)
const tcpLimit = some({ connections: positive, unit, burst: count }, 'connections', 'unit')
const access = some(
  {
    backends: several(
      some(
        {
          name: text,
          port: fc.record({
            number: fc.integer({ min: 1, max: 65_535 }),
            protocol: fc.constantFrom('http', 'https', 'grpc'),
          }),
          tls: some({ skipClientCertValidation: fc.boolean(), sniHosts: several(text) }, 'skipClientCertValidation'),
        },
        'name',
        'port',
      ),
    ),
    sources: several(
      some(
        { kind: fc.constantFrom('Service', 'AuthenticatedPrincipal', 'IPRange'), name: text, namespace: text },
        'kind',
        'name',
      ),
    ),
    matches,
  },
  'backends',
  'sources',
)

/**
 * Specs that the definitions of OSM 1.2 and osm-edge 1.3 take, made from their fields, types, enumerations and bounds as we know them. A field that those
 * do not bound is not bounded here. What they take, ours take: an upgrade must not make a stored object unreadable, nor `kubectl apply` of a guide fail.
 */
export const formerPolicies: Readonly<Record<string, fc.Arbitrary<object>>> = {
  Egress: some(
    {
      sources: several(account),
      hosts: several(text),
      ipAddresses: several(fc.constantFrom('10.0.0.0/8', '192.0.2.1/32', '2001:db8::/32')),
      ports: several(
        fc.record({
          number: fc.integer({ min: 1, max: 65_535 }),
          protocol: fc.constantFrom('http', 'https', 'tcp', 'tcp-server-first'),
        }),
      ),
      matches,
    },
    'sources',
    'ports',
  ),
  IngressBackend: access,
  AccessControl: access,
  Retry: fc.record({
    source: account,
    destinations: several(fc.record({ kind: fc.constant('Service'), name: text, namespace: text })),
    retryPolicy: fc.record({
      retryOn: text,
      perTryTimeout: duration,
      numRetries: count,
      retryBackoffBaseInterval: duration,
    }),
  }),
  UpstreamTrafficSetting: some(
    {
      host: text,
      connectionSettings: some({
        tcp: some({ maxConnections: count, connectTimeout: duration }),
        http: some({
          maxRequests: count,
          maxRequestsPerConnection: count,
          maxPendingRequests: count,
          maxRetries: count,
          circuitBreaking: some({
            statTimeWindow: duration,
            minRequestAmount: positive,
            degradedTimeWindow: duration,
            slowTimeThreshold: duration,
            slowAmountThreshold: count,
            slowRatioThreshold: fc.double({ min: 0, max: 1, noNaN: true }),
            errorAmountThreshold: count,
            errorRatioThreshold: fc.double({ min: 0, max: 1, noNaN: true }),
            degradedStatusCode: fc.integer({ min: 200, max: 599 }),
            degradedResponseContent: text,
          }),
        }),
      }),
      rateLimit: fc.record({ local: some({ tcp: tcpLimit, http: httpLimit }) }),
      httpRoutes: several(some({ path: text, rateLimit: fc.record({ local: httpLimit }) }, 'path')),
    },
    'host',
  ),
  EgressGateway: some({
    global: several(some({ service: text, namespace: text, weight: count }, 'service', 'namespace')),
    rules: several(
      fc.record({
        egressPolicies: several(fc.record({ name: text, namespace: text })),
        egressGateways: several(some({ service: text, namespace: text, weight: count }, 'service', 'namespace')),
      }),
    ),
    matches,
  }),
  HTTPRouteGroup: fc.record({
    matches: several(
      some(
        {
          name: text,
          pathRegex: text,
          methods: several(
            fc.constantFrom('*', 'GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'),
          ),
          headers: several(
            fc.dictionary(fc.constantFrom('host', 'user-agent', 'client-app'), text, { minKeys: 1, maxKeys: 1 }),
          ),
        },
        'name',
      ),
    ),
  }),
  TrafficTarget: some(
    {
      destination: some({ kind: text, name: text, namespace: text }, 'kind', 'name'),
      rules: several(
        some(
          { kind: fc.constantFrom('HTTPRouteGroup', 'TCPRoute', 'UDPRoute'), name: text, matches: several(text) },
          'kind',
          'name',
        ),
      ),
      sources: several(some({ kind: text, name: text, namespace: text }, 'kind', 'name')),
    },
    'destination',
    'rules',
    'sources',
  ),
  TrafficSplit: some(
    {
      service: text,
      backends: several(fc.record({ service: text, weight: integer })),
      matches: several(fc.record({ kind: fc.constant('HTTPRouteGroup'), name: text })),
    },
    'service',
    'backends',
  ),
}
