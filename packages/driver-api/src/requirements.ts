import type { OptionalFeature } from './capabilities.js'
import { pointerToken } from './policy/issues.js'
import { PLUGIN_TYPE } from './policy/plugin.js'
import { isHttp } from './policy/protocols.js'
import type {
  AccessLog,
  LoadBalancing,
  OutboundMatch,
  OutboundRoute,
  Part,
  PartKind,
  PartOf,
  Protocol,
  RateLimits,
  RouteLimits,
  RoutedPathMatch,
  StringMatch,
} from './policy/parts.js'

/** A feature that an element of a policy needs: an optional feature, or a value that a driver declares in a list. */
export type RequiredFeature =
  | OptionalFeature
  | `protocol:${Protocol}`
  | `path-match:${RoutedPathMatch['type']}`
  | `header-match:${StringMatch['type']}`
  | `mode:${'explicit' | 'transparent'}`
  | `ip-family:${'IPv4' | 'IPv6'}`

/** A requirement of an element of a policy. */
export interface Requirement {
  /** The required feature. */
  readonly feature: RequiredFeature
  /** JSON pointer of the element in its part. */
  readonly pointer: string
  /**
   * True if omitting the element could allow traffic, or plaintext, that the policy forbids. False if omitting it only refuses
   * more, or affects availability, routing or observability.
   */
  readonly security: boolean
}

type Path = readonly (string | number)[]

interface Place {
  readonly feature: RequiredFeature
  readonly path: Path
}

/** A feature of parts of a kind, and a function that finds the elements that need it. */
interface Row<K extends PartKind> {
  readonly security: boolean
  readonly places: (part: PartOf<K>) => readonly Place[]
}

type Table = { readonly [K in PartKind]: readonly Row<K>[] }

const table: Table = {
  proxy: [
    { security: false, places: (part) => needs(`mode:${part.mode}`, 'mode') },
    {
      // Traffic of an unsupported family would bypass the proxy.
      security: true,
      places: (part) => part.ipFamilies.flatMap((family, i) => needs(`ip-family:${family}`, 'ipFamilies', i)),
    },
    {
      security: false,
      places: (part) => part.probes.flatMap(({ target }, i) => needs(`probes-${target.type}`, 'probes', i)),
    },
    { security: false, places: ({ listen }) => given(listen.dns, 'dns-proxy', 'listen', 'dns') },
    { security: false, places: (part) => when(part.cluster !== '', 'multi-cluster', 'cluster') },
    { security: false, places: (part) => given(part.workloadEnded, 'workload-end', 'workloadEnded') },
  ],
  trust: [
    // The proxy's own parameters could be weaker than the configured ones. Every class supports TLS 1.2 and prefers 1.3, so these two need no feature.
    {
      security: true,
      places: (part) => unless(part.minVersion, ['TLSv1_2', 'TLS_AUTO'], 'tls-parameters', 'minVersion'),
    },
    {
      security: true,
      places: (part) => unless(part.maxVersion, ['TLSv1_3', 'TLS_AUTO'], 'tls-parameters', 'maxVersion'),
    },
    { security: true, places: (part) => when(part.cipherSuites.length > 0, 'tls-parameters', 'cipherSuites') },
    { security: true, places: (part) => when(part.ecdhCurves.length > 0, 'tls-parameters', 'ecdhCurves') },
    // The host gives such a proxy no certificate, so that a class without the feature serves and calls no one.
    {
      security: true,
      places: (part) => given(part.serviceCredential, 'workload-api-certificates', 'serviceCredential'),
    },
  ],
  mesh: [
    {
      // Without it, open connections continue after their rule is withdrawn.
      security: true,
      places: () => needs('withdrawal-of-open-connections', 'withdrawalTimeoutMs'),
    },
    { security: false, places: ({ accessLog }) => when(hasOwnFormat(accessLog), 'access-log-format', 'accessLog') },
    {
      security: false,
      places: ({ accessLog }) =>
        given(accessLog.openTelemetry, 'access-log-opentelemetry', 'accessLog', 'openTelemetry'),
    },
    {
      security: false,
      places: ({ tracing }) => (tracing === undefined ? [] : needs(`tracing-${tracing.provider}`, 'tracing')),
    },
    { security: false, places: (part) => given(part.remoteLogging, 'remote-logging', 'remoteLogging') },
    { security: false, places: (part) => when(part.requestMetrics, 'request-metrics', 'requestMetrics') },
    { security: false, places: (part) => when(part.egressEnabled, 'egress-global', 'egressEnabled') },
    { security: false, places: (part) => when(part.activeHealthChecks, 'active-health-checks', 'activeHealthChecks') },
    // A class that does not know the field continues to refuse such paths.
    { security: false, places: (part) => given(part.keepsEscapedSlashes, 'escaped-slashes', 'keepsEscapedSlashes') },
  ],
  principals: [],
  inbound: [
    {
      // Rules on requests cannot be enforced for an unsupported protocol.
      security: true,
      places: (part) => needs(`protocol:${part.protocol}`, 'protocol'),
    },
    {
      security: true,
      places: ({ rules }) =>
        rules.kind === 'http'
          ? rules.allow.flatMap((rule, i) => ofMatch(rule.match, ['rules', 'allow', i, 'match']))
          : [],
    },
    { security: true, places: authorization },
    { security: false, places: ({ rateLimits }) => ofLimits(rateLimits) },
    {
      security: false,
      places: ({ rules }) => (rules.kind === 'http' ? ofRouteLimits(rules.routeLimits, ['rules', 'routeLimits']) : []),
    },
  ],
  ingress: [
    { security: true, places: (part) => needs(`protocol:${part.protocol}`, 'protocol') },
    {
      // Requests of omitted elements are refused.
      security: false,
      places: (part) =>
        isHttp(part.protocol)
          ? needs(part.tls === 'none' ? 'ingress-http' : 'ingress-https', 'tls')
          : needs('ingress-tcp', 'protocol'),
    },
    { security: true, places: ({ matches }) => matches.flatMap((match, i) => ofMatch(match, ['matches', i])) },
    { security: true, places: authorization },
    { security: false, places: ({ rateLimits }) => ofLimits(rateLimits) },
    { security: false, places: ({ routeLimits }) => ofRouteLimits(routeLimits, ['routeLimits']) },
  ],
  outbound: [
    { security: false, places: (part) => needs(`protocol:${part.protocol}`, 'protocol') },
    {
      security: false,
      places: ({ rules }) =>
        rules.kind === 'http'
          ? ofRoutes(rules.routes, ['rules', 'routes'])
          : [
              ...given(rules.errorWeight, 'tcp-route-errors', 'rules', 'errorWeight'),
              ...given(rules.serverNameRoutes, 'tls-routes', 'rules', 'serverNameRoutes'),
              ...(rules.serverNameRoutes ?? []).flatMap(({ errorWeight }, i) =>
                given(errorWeight, 'tcp-route-errors', 'rules', 'serverNameRoutes', i, 'errorWeight'),
              ),
            ],
    },
  ],
  upstream: [
    { security: false, places: (part) => needs(`protocol:${part.protocol}`, 'protocol') },
    {
      // Without it the request would be sent as plaintext.
      security: true,
      places: ({ tls }) => when(tls.mode === 'originate', 'egress-tls-origination', 'tls'),
    },
    {
      // Omitted elements get no traffic.
      security: false,
      places: ({ tls }) =>
        when(tls.mode === 'mesh' && tls.plaintext === true, 'plaintext-endpoints', 'tls', 'plaintext'),
    },
    {
      // Calls of the addresses of pods get no answer.
      security: false,
      places: ({ tls, discovery }) =>
        when(tls.mode === 'mesh' && discovery.kind === 'originalDestination', 'pod-addresses', 'discovery'),
    },
    { security: false, places: ({ loadBalancing: { policy } }) => ofBalancing(policy) },
    { security: false, places: (part) => given(part.limits, 'connection-limits', 'limits') },
    { security: false, places: (part) => given(part.circuitBreaker, 'statistical-circuit-breaker', 'circuitBreaker') },
    { security: false, places: (part) => given(part.healthCheck, 'active-health-checks', 'healthCheck') },
  ],
  endpoints: [
    { security: false, places: (part) => given(part.preferClose, 'load-balancing-locality', 'preferClose') },
    {
      security: false,
      places: ({ endpoints }) =>
        endpoints.flatMap(({ cluster }, i) => when(cluster !== '', 'multi-cluster', 'endpoints', i, 'cluster')),
    },
    {
      security: true,
      places: ({ endpoints }) =>
        endpoints.flatMap(({ tls }, i) =>
          when(tls?.mode === 'originate', 'egress-tls-origination', 'endpoints', i, 'tls'),
        ),
    },
  ],
  clientRules: [
    { security: false, places: ({ retries }) => retries.flatMap((_, i) => needs('retries', 'retries', i)) },
    {
      security: false,
      places: ({ retries }) =>
        retries.flatMap(({ policy }, i) =>
          given(policy.perTryTimeoutMs, 'per-try-timeout', 'retries', i, 'policy', 'perTryTimeoutMs'),
        ),
    },
    {
      // The decision stays with the called side, so a pre-filter is not protection.
      security: false,
      places: ({ preFilters }) =>
        preFilters.flatMap(({ allow }, i) =>
          allow.flatMap((match, j) => ofMatch(match, ['preFilters', i, 'allow', j])),
        ),
    },
    {
      // A server that requires a certificate must not receive a request without one.
      security: true,
      places: ({ egressCredentials }) =>
        egressCredentials.flatMap((_, i) => needs('egress-tls-origination', 'egressCredentials', i)),
    },
    {
      // Traffic would bypass its gateway.
      security: true,
      places: ({ gateways }) => gateways.flatMap(({ mode }, i) => needs(`egress-gateway-${mode}`, 'gateways', i)),
    },
  ],
  // With global egress, a destination whose rules are left out would be open without them.
  egress: [
    { security: true, places: ({ protocol }) => needs(egressFeatures[protocol], 'protocol') },
    { security: true, places: ({ protocol }) => needs(`protocol:${protocol}`, 'protocol') },
    { security: true, places: ({ routes }) => ofRoutes(routes, ['routes']) },
  ],
  dns: [{ security: false, places: () => needs('dns-proxy') }],
  // Scripts extend a policy and do not restrict it. Other extensions are the responsibility of their class.
  extension: [{ security: false, places: ({ type }) => when(type === PLUGIN_TYPE, 'plugins', 'value') }],
  set: [],
}

const egressFeatures = {
  http: 'egress-http',
  https: 'egress-https',
  tcp: 'egress-tcp',
  'tcp-server-first': 'egress-tcp',
} as const satisfies Record<PartOf<'egress'>['protocol'], OptionalFeature>

/** Requirements of a part, in the order of the table. Mutual TLS, principals and the deny form are always supported. */
export function requirementsOf(part: Part): readonly Requirement[] {
  // The table gives each kind rows for that very kind.
  const rows = table[part.kind] as readonly Row<PartKind>[]
  return rows.flatMap(({ security, places }) =>
    places(part).map(({ feature, path }) => ({
      feature,
      pointer: path.map((token) => `/${pointerToken(token)}`).join(''),
      security,
    })),
  )
}

function needs(feature: RequiredFeature, ...path: Path): readonly Place[] {
  return [{ feature, path }]
}

function when(condition: boolean, feature: RequiredFeature, ...path: Path): readonly Place[] {
  return condition ? [{ feature, path }] : []
}

function given(value: unknown, feature: RequiredFeature, ...path: Path): readonly Place[] {
  return when(value !== undefined, feature, ...path)
}

function unless<T>(value: T, usual: readonly T[], feature: RequiredFeature, ...path: Path): readonly Place[] {
  return when(!usual.includes(value), feature, ...path)
}

function hasOwnFormat({ enabled, format, template }: AccessLog): boolean {
  return enabled && (format !== 'json' || template !== undefined)
}

function authorization({ externalAuthorization }: PartOf<'inbound' | 'ingress'>): readonly Place[] {
  return given(externalAuthorization, 'external-authorization', 'externalAuthorization')
}

function ofBalancing(policy: LoadBalancing['policy']): readonly Place[] {
  return policy === 'round-robin' ? [] : needs(`load-balancing-${policy}`, 'loadBalancing')
}

function ofRoutes(routes: readonly OutboundRoute[], path: Path): readonly Place[] {
  return routes.flatMap((route, i) => {
    const at = [...path, i]
    return [
      ...ofMatch(route.match, [...at, 'match']),
      ...given(route.errorWeight, 'route-errors', ...at, 'errorWeight'),
      ...given(route.redirect, 'route-redirects', ...at, 'redirect'),
      ...ofHeaderChanges(route, 'route-headers', at),
      ...route.targets.flatMap((target, j) => ofHeaderChanges(target, 'route-target-headers', [...at, 'targets', j])),
      ...given(route.rewrite, 'route-rewrites', ...at, 'rewrite'),
      ...given(route.mirrors, 'route-mirrors', ...at, 'mirrors'),
      ...given(route.retries, 'route-retries', ...at, 'retries'),
    ]
  })
}

function ofHeaderChanges(
  { requestHeaders, responseHeaders }: Pick<OutboundRoute, 'requestHeaders' | 'responseHeaders'>,
  feature: RequiredFeature,
  path: Path,
): readonly Place[] {
  return [
    ...given(requestHeaders, feature, ...path, 'requestHeaders'),
    ...given(responseHeaders, feature, ...path, 'responseHeaders'),
  ]
}

function ofMatch({ path: matcher, headers, queryParameters }: OutboundMatch, path: Path): readonly Place[] {
  return [
    ...given(queryParameters, 'query-matches', ...path, 'queryParameters'),
    ...(matcher === undefined ? [] : needs(`path-match:${matcher.type}`, ...path, 'path')),
    ...(headers ?? []).flatMap(({ match }, i) => needs(`header-match:${match.type}`, ...path, 'headers', i)),
  ]
}

function ofLimits(limits: RateLimits = {}): readonly Place[] {
  return [
    ...given(limits.tcp, 'rate-limit-local-tcp', 'rateLimits', 'tcp'),
    ...given(limits.http, 'rate-limit-local-http', 'rateLimits', 'http'),
    ...given(limits.globalTcp, 'rate-limit-global', 'rateLimits', 'globalTcp'),
    ...given(limits.globalHttp, 'rate-limit-global', 'rateLimits', 'globalHttp'),
  ]
}

function ofRouteLimits(limits: readonly RouteLimits[], path: Path): readonly Place[] {
  return limits.flatMap(({ match, rateLimits }, i) => [
    ...ofMatch(match, [...path, i, 'match']),
    ...given(rateLimits.http, 'rate-limit-local-http', ...path, i, 'rateLimits', 'http'),
    ...given(rateLimits.globalHttpDescriptors, 'rate-limit-global', ...path, i, 'rateLimits', 'globalHttpDescriptors'),
  ])
}
