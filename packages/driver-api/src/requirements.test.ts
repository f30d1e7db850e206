import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { anyPart } from '../test/arbitraries.js'
import { bookbuyer, bookstore, ledger, mysql } from '../test/examples.js'
import { denyForm } from './policy/access.js'
import { optionalFeatures, type Capabilities } from './capabilities.js'
import { declares, unsupportedByClass } from './capabilities-check.js'
import type { Part, PartKind, PartOf } from './policy/parts.js'
import { PLUGIN_TYPE } from './policy/plugin.js'
import { requirementsOf } from './requirements.js'

const everything: Capabilities = {
  protocols: ['http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex', 'segments'],
  headerMatches: ['exact', 'prefix', 'regex', 'present'],
  upstreamIdentity: 'principal',
  modes: ['explicit', 'transparent'],
  standalone: true,
  ipFamilies: ['IPv4', 'IPv6'],
  operatingSystems: ['linux'],
  drain: true,
  features: optionalFeatures,
}

const nothing: Capabilities = {
  protocols: [],
  pathMatches: [],
  headerMatches: [],
  upstreamIdentity: 'serviceName',
  modes: [],
  standalone: false,
  ipFamilies: [],
  operatingSystems: [],
  drain: false,
  features: [],
}

function sample<K extends PartKind>(kind: K): PartOf<K> {
  const documents = [bookbuyer(), bookstore(), ledger(), mysql()]
  const part = documents.flatMap(({ parts }) => Object.values(parts)).find((candidate) => candidate.kind === kind)
  if (part === undefined) throw new Error(`no example has a part of kind ${kind}`)
  return part as PartOf<K>
}

const proxy = bookbuyer().proxy
const mesh = sample('mesh')
const inbound = sample('inbound')
const upstream = sample('upstream')
const endpoints = sample('endpoints')
const rules = sample('clientRules')
const outbound = sample('outbound')
const bucket = { tokens: 1, intervalMs: 1000, burst: 0 }
const local = { bucket, statusCode: 429, responseHeaders: [] }
const global = { service: { host: 'rls', port: 8081 }, domain: 'd', timeoutMs: 20, failOpen: true, descriptors: [] }
const authorization = { host: 'authz', port: 9191, statPrefix: 'a', timeoutMs: 1000, failureModeAllow: false }
const originate = { mode: 'originate' as const, serverName: 'a.example', subjectAltNames: [] }
const headers = [{ name: 'a', match: { type: 'present' as const } }]
const probe = {
  container: 'c',
  probe: 'liveness' as const,
  listen: { address: '0.0.0.0', port: 15901 },
  path: '/p',
  timeoutMs: 1000,
}
const ingress: PartOf<'ingress'> = {
  kind: 'ingress',
  id: 'i',
  service: { namespace: 'a', name: 'b' },
  port: 80,
  targetPort: 80,
  protocol: 'http',
  sources: ['10.0.0.0/8'],
  tls: 'none',
  serverNames: [],
  matches: [{ path: { type: 'prefix', value: '/' }, headers }],
  routeLimits: [],
}
const egress: PartOf<'egress'> = {
  kind: 'egress',
  id: 'e',
  port: 80,
  protocol: 'http',
  hosts: ['a.example'],
  serverNames: [],
  cidrs: [],
  routes: [{ match: { path: { type: 'exact', value: '/' } }, targets: [], timeoutMs: 0 }],
  targets: [],
}
const inboundHttp = (more: object): Part => ({
  ...inbound,
  rules: { kind: 'http', hosts: [], allow: [{ match: {}, allow: proxy.mesh }], routeLimits: [], ...more },
})

/** One element for each requirement there is, with the place where it must be found and whether ignoring it would weaken protection. */
const connected: Part = {
  kind: 'outbound',
  id: 'shop/database|5432',
  service: { namespace: 'shop', name: 'database' },
  port: 5432,
  protocol: 'tcp',
  addresses: [],
  hosts: [],
  shortHost: 'database',
  rules: {
    kind: 'tcp',
    targets: [],
    errorWeight: 1,
    serverNameRoutes: [{ serverNames: ['a.example'], targets: [], errorWeight: 1 }],
  },
}

const routed: Part = {
  kind: 'outbound',
  id: 'demo/server|80',
  service: { namespace: 'demo', name: 'server' },
  port: 80,
  protocol: 'http',
  addresses: [],
  hosts: [],
  shortHost: 'server',
  rules: {
    kind: 'http',
    routes: [
      {
        match: {
          path: { type: 'segments', value: '/a' },
          queryParameters: [{ name: 'q', match: { type: 'exact', value: '1' } }],
        },
        targets: [{ upstream: 'u', weight: 1, responseHeaders: { remove: ['x-b'] } }],
        timeoutMs: 0,
        errorWeight: 1,
        requestHeaders: { set: [{ name: 'x-a', value: '1' }] },
        rewrite: { path: { type: 'prefix', value: '' } },
        mirrors: [{ upstream: 'u', perMillion: 1 }],
        retries: { retryOn: ['503', 'reset'], numRetries: 1 },
      },
      { match: {}, targets: [], timeoutMs: 0, redirect: { status: 302 } },
    ],
  },
}

const cases: readonly (readonly [feature: string, part: Part, pointer: string, security: boolean])[] = [
  ['mode:transparent', proxy, '/mode', false],
  ['mode:explicit', ledger().proxy, '/mode', false],
  ['ip-family:IPv4', proxy, '/ipFamilies/0', true],
  ['ip-family:IPv6', { ...proxy, ipFamilies: ['IPv4', 'IPv6'] }, '/ipFamilies/1', true],
  ['multi-cluster', { ...proxy, cluster: 'east' }, '/cluster', false],
  ['workload-end', { ...proxy, workloadEnded: true }, '/workloadEnded', false],
  ['dns-proxy', { ...proxy, listen: { dns: { address: '127.0.0.153', port: 5300 } } }, '/listen/dns', false],
  ['probes-http', { ...proxy, probes: [{ ...probe, target: { type: 'http', port: 80 } }] }, '/probes/0', false],
  ['probes-https', { ...proxy, probes: [{ ...probe, target: { type: 'https', port: 80 } }] }, '/probes/0', false],
  ['probes-tcp', { ...proxy, probes: [{ ...probe, target: { type: 'tcp', port: 80 } }] }, '/probes/0', false],
  ['probes-grpc', { ...proxy, probes: [{ ...probe, target: { type: 'grpc', port: 80 } }] }, '/probes/0', false],
  ['tls-parameters', { ...sample('trust'), minVersion: 'TLSv1_3' }, '/minVersion', true],
  ['tls-parameters', { ...sample('trust'), maxVersion: 'TLSv1_2' }, '/maxVersion', true],
  ['tls-parameters', { ...sample('trust'), cipherSuites: ['a'] }, '/cipherSuites', true],
  ['tls-parameters', { ...sample('trust'), ecdhCurves: ['a'] }, '/ecdhCurves', true],
  [
    'workload-api-certificates',
    { ...sample('trust'), serviceCredential: { kind: 'workload-api' } },
    '/serviceCredential',
    true,
  ],
  ['withdrawal-of-open-connections', mesh, '/withdrawalTimeoutMs', true],
  ['access-log-format', { ...mesh, accessLog: { enabled: true, format: 'text' } }, '/accessLog', false],
  ['access-log-format', { ...mesh, accessLog: { enabled: true, format: 'json', template: '{}' } }, '/accessLog', false],
  [
    'access-log-opentelemetry',
    { ...mesh, accessLog: { enabled: true, format: 'json', openTelemetry: { host: 'a', port: 1, attributes: [] } } },
    '/accessLog/openTelemetry',
    false,
  ],
  ['tracing-zipkin', mesh, '/tracing', false],
  [
    'tracing-opentelemetry',
    { ...mesh, tracing: { provider: 'opentelemetry', host: 'a', port: 1, endpoint: '/', sampledFraction: 1 } },
    '/tracing',
    false,
  ],
  ['escaped-slashes', { ...mesh, keepsEscapedSlashes: true }, '/keepsEscapedSlashes', false],
  [
    'remote-logging',
    { ...mesh, remoteLogging: { host: 'a', port: 1, endpoint: '/', level: 0, sampledFraction: 1 } },
    '/remoteLogging',
    false,
  ],
  ['request-metrics', mesh, '/requestMetrics', false],
  ['egress-global', { ...mesh, egressEnabled: true }, '/egressEnabled', false],
  ['active-health-checks', { ...mesh, activeHealthChecks: true }, '/activeHealthChecks', false],
  ['protocol:http', inbound, '/protocol', true],
  [
    'path-match:exact',
    inboundHttp({ allow: [{ match: { path: { type: 'exact', value: '/' } }, allow: proxy.mesh }] }),
    '/rules/allow/0/match/path',
    true,
  ],
  [
    'header-match:present',
    inboundHttp({ allow: [{ match: { headers }, allow: proxy.mesh }] }),
    '/rules/allow/0/match/headers/0',
    true,
  ],
  ['external-authorization', { ...inbound, externalAuthorization: authorization }, '/externalAuthorization', true],
  ['rate-limit-local-tcp', { ...inbound, rateLimits: { tcp: { bucket } } }, '/rateLimits/tcp', false],
  ['rate-limit-local-http', { ...inbound, rateLimits: { http: local } }, '/rateLimits/http', false],
  ['rate-limit-global', { ...inbound, rateLimits: { globalTcp: global } }, '/rateLimits/globalTcp', false],
  [
    'rate-limit-global',
    { ...inbound, rateLimits: { globalHttp: { ...global, statusCode: 429, limitHeaders: false } } },
    '/rateLimits/globalHttp',
    false,
  ],
  [
    'rate-limit-local-http',
    inboundHttp({ routeLimits: [{ match: {}, rateLimits: { http: local } }] }),
    '/rules/routeLimits/0/rateLimits/http',
    false,
  ],
  [
    'rate-limit-global',
    inboundHttp({ routeLimits: [{ match: {}, rateLimits: { globalHttpDescriptors: [] } }] }),
    '/rules/routeLimits/0/rateLimits/globalHttpDescriptors',
    false,
  ],
  [
    'header-match:present',
    inboundHttp({ routeLimits: [{ match: { headers }, rateLimits: {} }] }),
    '/rules/routeLimits/0/match/headers/0',
    false,
  ],
  ['ingress-http', ingress, '/tls', false],
  ['ingress-https', { ...ingress, tls: 'tls' }, '/tls', false],
  ['ingress-tcp', { ...ingress, protocol: 'tcp', matches: [{}] }, '/protocol', false],
  ['path-match:prefix', ingress, '/matches/0/path', true],
  ['header-match:present', ingress, '/matches/0/headers/0', true],
  ['external-authorization', { ...ingress, externalAuthorization: authorization }, '/externalAuthorization', true],
  ['rate-limit-local-tcp', { ...ingress, rateLimits: { tcp: { bucket } } }, '/rateLimits/tcp', false],
  [
    'rate-limit-local-http',
    { ...ingress, routeLimits: [{ match: {}, rateLimits: { http: local } }] },
    '/routeLimits/0/rateLimits/http',
    false,
  ],
  ['protocol:http', outbound, '/protocol', false],
  [
    'header-match:present',
    { ...outbound, rules: { kind: 'http', routes: [{ match: { headers }, targets: [], timeoutMs: 0 }] } },
    '/rules/routes/0/match/headers/0',
    false,
  ],
  ['protocol:http', upstream, '/protocol', false],
  ['egress-tls-origination', { ...upstream, tls: originate }, '/tls', true],
  [
    'plaintext-endpoints',
    { ...upstream, tls: { mode: 'mesh', serverName: 'a', principals: [], plaintext: true } },
    '/tls/plaintext',
    false,
  ],
  ['pod-addresses', { ...upstream, discovery: { kind: 'originalDestination' } }, '/discovery', false],
  ['load-balancing-hash', { ...upstream, loadBalancing: { policy: 'hash', on: 'source-ip' } }, '/loadBalancing', false],
  [
    'load-balancing-least-request',
    { ...upstream, loadBalancing: { policy: 'least-request' } },
    '/loadBalancing',
    false,
  ],
  ['connection-limits', { ...upstream, limits: { maxConnections: 1 } }, '/limits', false],
  [
    'statistical-circuit-breaker',
    {
      ...upstream,
      circuitBreaker: {
        statWindowMs: 1,
        minRequests: 1,
        degradedWindowMs: 1,
        degradedStatusCode: 409,
        degradedBody: '',
      },
    },
    '/circuitBreaker',
    false,
  ],
  [
    'active-health-checks',
    {
      ...upstream,
      healthCheck: { type: 'tcp', intervalMs: 1, timeoutMs: 1, unhealthyThreshold: 1, healthyThreshold: 1 },
    },
    '/healthCheck',
    false,
  ],
  ['load-balancing-locality', { ...endpoints, preferClose: true }, '/preferClose', false],
  [
    'multi-cluster',
    { ...endpoints, endpoints: endpoints.endpoints.map((one) => ({ ...one, cluster: 'east' })) },
    '/endpoints/0/cluster',
    false,
  ],
  [
    'egress-tls-origination',
    { ...endpoints, endpoints: endpoints.endpoints.map((one) => ({ ...one, tls: originate })) },
    '/endpoints/0/tls',
    true,
  ],
  ['retries', rules, '/retries/0', false],
  ['per-try-timeout', rules, '/retries/0/policy/perTryTimeoutMs', false],
  [
    'path-match:exact',
    { ...rules, preFilters: [{ outbound: 'a', allow: [{ path: { type: 'exact', value: '/' } }] }] },
    '/preFilters/0/allow/0/path',
    false,
  ],
  [
    'egress-tls-origination',
    { ...rules, egressCredentials: [{ egress: 'e', credential: { kind: 'service' } }] },
    '/egressCredentials/0',
    true,
  ],
  [
    'egress-gateway-socks5',
    { ...rules, gateways: [{ egress: '*', mode: 'socks5', targets: [] }] },
    '/gateways/0',
    true,
  ],
  [
    'egress-gateway-http2tunnel',
    { ...rules, gateways: [{ egress: '*', mode: 'http2tunnel', targets: [] }] },
    '/gateways/0',
    true,
  ],
  ['egress-http', egress, '/protocol', true],
  ['egress-https', { ...egress, protocol: 'https' }, '/protocol', true],
  ['egress-tcp', { ...egress, protocol: 'tcp' }, '/protocol', true],
  ['egress-tcp', { ...egress, protocol: 'tcp-server-first' }, '/protocol', true],
  ['protocol:tcp-server-first', { ...egress, protocol: 'tcp-server-first' }, '/protocol', true],
  ['path-match:exact', egress, '/routes/0/match/path', true],
  ['path-match:segments', routed, '/rules/routes/0/match/path', false],
  ['query-matches', routed, '/rules/routes/0/match/queryParameters', false],
  ['route-errors', routed, '/rules/routes/0/errorWeight', false],
  ['route-headers', routed, '/rules/routes/0/requestHeaders', false],
  ['route-target-headers', routed, '/rules/routes/0/targets/0/responseHeaders', false],
  ['route-rewrites', routed, '/rules/routes/0/rewrite', false],
  ['route-mirrors', routed, '/rules/routes/0/mirrors', false],
  ['route-retries', routed, '/rules/routes/0/retries', false],
  ['route-redirects', routed, '/rules/routes/1/redirect', false],
  ['tcp-route-errors', connected, '/rules/errorWeight', false],
  ['tcp-route-errors', connected, '/rules/serverNameRoutes/0/errorWeight', false],
  ['tls-routes', connected, '/rules/serverNameRoutes', false],
  ['plugins', { kind: 'extension', id: 'e', class: 'envoy', type: PLUGIN_TYPE, value: {} }, '/value', false],
  ['dns-proxy', { kind: 'dns', id: 'd', ttlSeconds: 1, records: [], upstreamServers: [] }, '', false],
]

describe('requirementsOf', () => {
  it.each(cases)('finds %s', (feature, part, pointer, security) => {
    expect(requirementsOf(part)).toContainEqual({ feature, pointer, security })
  })

  it('has a case for every optional feature that a policy can need', () => {
    const tried = new Set<string>(cases.map(([feature]) => feature))
    // Certificates are not part of policies.
    tried.add('proxy-key-certificates').add('proxy-certificate-renewal')
    expect(optionalFeatures.filter((feature) => !tried.has(feature))).toEqual([])
  })

  it.each<[string, Part, readonly string[]]>([
    ['a plain inbound part', denyForm(inbound), ['protocol:http']],
    ['a plain upstream', upstream, ['protocol:http']],
    ['local endpoints', endpoints, []],
    [
      'a mesh without extras',
      {
        ...(({ tracing: _, ...rest }) => rest)(mesh),
        requestMetrics: false,
        accessLog: { enabled: false, format: 'text' },
      },
      ['withdrawal-of-open-connections'],
    ],
    ['usual TLS parameters', sample('trust'), []],
  ])('asks no more of %s', (_what, part, features) => {
    expect(requirementsOf(part).map(({ feature }) => feature)).toEqual(features)
  })

  it.each<Part>([
    { kind: 'principals', id: 'p', match: 'list', principals: [] },
    { kind: 'set', id: 's', of: 'egress', members: [], sets: [] },
    { kind: 'extension', id: 'e', class: 'envoy', type: 't', value: { tls: { mode: 'originate' } } },
  ])('finds nothing in $kind', (part) => {
    expect(requirementsOf(part)).toEqual([])
  })

  it('points at something that exists', () => {
    fc.assert(
      fc.property(anyPart, (part) => {
        for (const { pointer } of requirementsOf(part)) {
          const found = pointer
            .split('/')
            .slice(1)
            .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], part)
          expect(found).toBeDefined()
        }
      }),
    )
  })
})

describe('unsupportedByClass', () => {
  it('misses nothing where everything is declared, and everything where nothing is', () => {
    fc.assert(
      fc.property(anyPart, (part) => {
        expect(unsupportedByClass(part, everything)).toEqual([])
        expect(unsupportedByClass(part, nothing)).toEqual(requirementsOf(part))
      }),
    )
  })

  it('never misses more where more is declared', () => {
    fc.assert(
      fc.property(
        anyPart,
        fc.subarray([...optionalFeatures]),
        fc.subarray([...optionalFeatures]),
        (part, some, more) => {
          const few = unsupportedByClass(part, { ...nothing, features: some })
          const many = unsupportedByClass(part, { ...nothing, features: [...new Set([...some, ...more])] })
          for (const missing of many) expect(few).toContainEqual(missing)
        },
      ),
    )
  })
})

describe('declares', () => {
  it.each([
    ['protocol:grpc', { protocols: ['grpc'] }],
    ['path-match:regex', { pathMatches: ['regex'] }],
    ['header-match:present', { headerMatches: ['present'] }],
    ['mode:explicit', { modes: ['explicit'] }],
    ['ip-family:IPv6', { ipFamilies: ['IPv6'] }],
    ['retries', { features: ['retries'] }],
  ] as const)('looks for %s where it is declared', (feature, declared) => {
    expect(declares({ ...nothing, ...declared }, feature)).toBe(true)
    expect(declares(nothing, feature)).toBe(false)
  })
})
