import type { Capabilities, OptionalFeature } from '@osm-ts/driver-api'
import { declares, type RequiredFeature } from '@osm-ts/driver-api/host'

import { isService } from '../catalog/inputs/references.js'
import { patternMatch } from '../catalog/policy/problems/pattern.js'
import { EGRESS_GATEWAY_MODE, egressGatewayMode } from '../spec/egress-gateway-mode.js'
import { isOfKind, type KindMap, type MeshObject } from '../spec/objects.js'
import { POD_ADDRESSES, podAddressesSwitch } from '../spec/pod-addresses.js'
import { portProtocol } from '../spec/protocol.js'

/** Something that an object requests and a sidecar class can't do. */
export interface UnsupportedField {
  /** Path inside the object. */
  readonly field: string
  /** What would be needed. */
  readonly feature: RequiredFeature
}

type Ask = readonly [field: string, feature: RequiredFeature, asked: unknown]

/** What an object requests beyond what a sidecar class can do. */
export function unsupportedFields(object: MeshObject, capabilities: Capabilities): readonly UnsupportedField[] {
  return asks(object).flatMap(([field, feature, asked]): readonly UnsupportedField[] =>
    isAsked(asked) && !declares(capabilities, feature) ? [{ field, feature }] : [],
  )
}

/** Remembers {@link unsupportedFields}: objects never change, so that of a mesh that is checked again only what is new is looked at. */
export class UnsupportedFields {
  readonly #known = new WeakMap<Capabilities, WeakMap<MeshObject, readonly UnsupportedField[]>>()

  /** As {@link unsupportedFields}. */
  of(object: MeshObject, capabilities: Capabilities): readonly UnsupportedField[] {
    let known = this.#known.get(capabilities)
    if (known === undefined) this.#known.set(capabilities, (known = new WeakMap()))
    let fields = known.get(object)
    if (fields === undefined) known.set(object, (fields = unsupportedFields(object, capabilities)))
    return fields
  }
}

/** True unless a value is zero, unset or empty. */
function isAsked(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== undefined && value !== false && value !== 0 && value !== ''
}

function asks(object: MeshObject): readonly Ask[] {
  switch (object.kind) {
    case 'MeshConfig':
      return meshConfigAsks(object.spec)
    case 'UpstreamTrafficSetting':
      return upstreamAsks(object.spec)
    case 'Retry':
      return [
        ['spec.retryPolicy', 'retries', true],
        ['spec.retryPolicy.perTryTimeout', 'per-try-timeout', object.spec.retryPolicy.perTryTimeout],
      ]
    case 'Egress':
      return egressAsks(object.spec)
    case 'EgressGateway':
      return [['spec', 'egress-gateway-http2tunnel', true]]
    case 'Service':
      return [
        ['spec.trafficDistribution', 'load-balancing-locality', object.spec.trafficDistribution],
        ['spec.sessionAffinity', 'load-balancing-hash', object.spec.sessionAffinity === 'ClientIP' ? true : undefined],
        [
          `metadata.annotations[${JSON.stringify(EGRESS_GATEWAY_MODE)}]`,
          'egress-gateway-socks5',
          egressGatewayMode(object) === 'socks5',
        ],
        [
          `metadata.annotations[${JSON.stringify(POD_ADDRESSES)}]`,
          'pod-addresses',
          podAddressesSwitch(object) === true,
        ],
        ...object.spec.ports.map((port, index): Ask => [
          `spec.ports[${index}]`,
          `protocol:${portProtocol(port).protocol}`,
          true,
        ]),
      ]
    case 'Namespace':
      return [
        [
          `metadata.annotations[${JSON.stringify(POD_ADDRESSES)}]`,
          'pod-addresses',
          podAddressesSwitch(object) === true,
        ],
      ]
    case 'HTTPRouteGroup':
      return isOfKind(object, 'HTTPRouteGroup') ? object.spec.matches.flatMap(matchAsks) : []
    case 'HTTPRoute':
      return object.spec.rules.flatMap(routeRuleAsks)
    case 'GRPCRoute':
      return object.spec.rules.flatMap(callRuleAsks)
    case 'GatewayTCPRoute':
      return object.spec.rules.flatMap(connectionRuleAsks)
    case 'TLSRoute':
      return [['spec.hostnames', 'tls-routes', true], ...object.spec.rules.flatMap(connectionRuleAsks)]
    case 'IngressBackend':
    case 'AccessControl':
      return object.spec.backends.map(({ port }, index) => [
        `spec.backends[${index}].port.protocol`,
        port.protocol.toLowerCase() === 'https' ? 'ingress-https' : 'ingress-http',
        true,
      ])
    case 'Telemetry':
      return [
        ['spec.accessLog.format', 'access-log-format', object.spec.accessLog?.format],
        ['spec.accessLog.openTelemetry', 'access-log-opentelemetry', object.spec.accessLog?.openTelemetry],
      ]
    case 'ExternalWorkload':
      return [['spec.network.gateway', 'multi-cluster', object.spec.network?.gateway]]
    case 'ServiceImport':
    case 'GlobalTrafficPolicy':
      return [['spec', 'multi-cluster', true]]
    default:
      return []
  }
}

function meshConfigAsks({
  sidecar,
  traffic,
  observability,
  certificate,
  featureFlags,
}: KindMap['MeshConfig']['spec']): readonly Ask[] {
  const authorization = 'spec.traffic.inboundExternalAuthorization.enable'
  return [
    ['spec.traffic.enableEgress', 'egress-global', traffic?.enableEgress],
    ['spec.traffic.escapedSlashes', 'escaped-slashes', traffic?.escapedSlashes === 'Keep'],
    ['spec.traffic.networkGateway', 'multi-cluster', traffic?.networkGateway],
    [authorization, 'external-authorization', traffic?.inboundExternalAuthorization?.enable],
    [
      'spec.observability.tracing.enable',
      observability?.tracing?.provider === 'opentelemetry' ? 'tracing-opentelemetry' : 'tracing-zipkin',
      observability?.tracing?.enable,
    ],
    ['spec.observability.remoteLogging.enable', 'remote-logging', observability?.remoteLogging?.enable],
    ['spec.sidecar.localDNSProxy.enable', 'dns-proxy', sidecar?.localDNSProxy?.enable],
    ['spec.sidecar.cipherSuites', 'tls-parameters', sidecar?.cipherSuites],
    ['spec.sidecar.ecdhCurves', 'tls-parameters', sidecar?.ecdhCurves],
    ['spec.certificate.serviceCertificates', 'proxy-key-certificates', certificate?.serviceCertificates === 'perProxy'],
    ['spec.featureFlags.enableWASMStats', 'request-metrics', featureFlags?.enableWASMStats],
    ...(['enableSidecarActiveHealthChecks', 'enableEnvoyActiveHealthChecks'] as const).map((flag): Ask => [
      `spec.featureFlags.${flag}`,
      'active-health-checks',
      featureFlags?.[flag],
    ]),
  ]
}

function upstreamAsks({
  connectionSettings,
  rateLimit,
  httpRoutes = [],
}: KindMap['UpstreamTrafficSetting']['spec']): readonly Ask[] {
  const { tcp, http } = connectionSettings ?? {}
  const { circuitBreaking, ...limits } = http ?? {}
  return [
    ['spec.connectionSettings.tcp', 'connection-limits', tcp],
    ['spec.connectionSettings.http', 'connection-limits', Object.keys(limits)],
    ['spec.connectionSettings.http.circuitBreaking', 'statistical-circuit-breaker', circuitBreaking],
    ['spec.rateLimit.local.tcp', 'rate-limit-local-tcp', rateLimit?.local?.tcp],
    ['spec.rateLimit.local.http', 'rate-limit-local-http', rateLimit?.local?.http],
    ['spec.rateLimit.global', 'rate-limit-global', rateLimit?.global],
    ...httpRoutes.flatMap((route, index): readonly Ask[] => [
      [`spec.httpRoutes[${index}].rateLimit.local`, 'rate-limit-local-http', route.rateLimit?.local],
      [`spec.httpRoutes[${index}].rateLimit.global`, 'rate-limit-global', route.rateLimit?.global],
    ]),
  ]
}

function egressAsks({ ports, sources }: KindMap['Egress']['spec']): readonly Ask[] {
  const features: Readonly<Record<string, OptionalFeature>> = { http: 'egress-http', https: 'egress-https' }
  return [
    ...ports.map(({ protocol }, index): Ask => [
      `spec.ports[${index}].protocol`,
      features[protocol.toLowerCase()] ?? 'egress-tcp',
      true,
    ]),
    ...sources.map(({ mtls }, index): Ask => [`spec.sources[${index}].mtls`, 'egress-tls-origination', mtls]),
  ]
}

/** What has no special characters is compared as text. */
function matchAsks(
  { pathRegex = '', headers = [] }: KindMap['HTTPRouteGroup']['spec']['matches'][number],
  index: number,
): readonly Ask[] {
  const path = pathRegex === '' ? undefined : patternMatch(pathRegex)
  return [
    ...(path === undefined ? [] : [[`spec.matches[${index}].pathRegex`, `path-match:${path.type}`, true] as const]),
    ...headers.flatMap((header, place) =>
      Object.values(header).map((pattern): Ask => [
        `spec.matches[${index}].headers[${place}]`,
        `header-match:${patternMatch(pattern)?.type ?? 'present'}`,
        true,
      ]),
    ),
  ]
}

type RouteRule = KindMap['HTTPRoute']['spec']['rules'][number]

function routeRuleAsks(
  { matches = [], filters = [], backendRefs = [], retry }: RouteRule,
  index: number,
): readonly Ask[] {
  const at = `spec.rules[${index}]`
  return [
    ...matches.flatMap(({ path, headers, queryParams }, place): readonly Ask[] => [
      [
        `${at}.matches[${place}].path`,
        `path-match:${pathTypes[path?.type ?? 'PathPrefix']}`,
        path !== undefined && path.value !== '/',
      ],
      ...headerAsks(headers, `${at}.matches[${place}]`),
      [`${at}.matches[${place}].queryParams`, 'query-matches', queryParams],
    ]),
    ...actionAsks({ filters, backendRefs }, at),
    [`${at}.retry`, 'route-retries', retry],
  ]
}

type ConnectionRule = KindMap['GatewayTCPRoute']['spec']['rules'][number]

type CallRule = KindMap['GRPCRoute']['spec']['rules'][number]

function callRuleAsks({ matches = [], filters = [], backendRefs = [] }: CallRule, index: number): readonly Ask[] {
  const at = `spec.rules[${index}]`
  return [
    ...matches.flatMap(({ method, headers }, place): readonly Ask[] => [
      [`${at}.matches[${place}].method`, `path-match:${callPathType(method)}`, method],
      ...headerAsks(headers, `${at}.matches[${place}]`),
    ]),
    ...actionAsks({ filters, backendRefs }, at),
  ]
}

/** Backends that are no Services get no connections, whatever there is in the mesh. */
function connectionRuleAsks({ backendRefs }: ConnectionRule, index: number): readonly Ask[] {
  return backendRefs.map((backend, place) => [
    `spec.rules[${index}].backendRefs[${place}]`,
    'tcp-route-errors',
    !isService(backend),
  ])
}

/** How the path of a call is compared: a method alone is at the end of any path. */
function callPathType(match: NonNullable<CallRule['matches']>[number]['method']): 'exact' | 'segments' | 'regex' {
  const { type, service = '', method = '' } = match ?? {}
  if (type === 'RegularExpression' || service === '') return 'regex'
  return method === '' ? 'segments' : 'exact'
}

function headerAsks(headers: NonNullable<CallRule['matches']>[number]['headers'] = [], at: string): readonly Ask[] {
  return headers.map(({ type }, position) => [
    `${at}.headers[${position}]`,
    `header-match:${type === 'Exact' ? 'exact' : 'regex'}`,
    true,
  ])
}

/** What filters and backends ask for. */
function actionAsks(
  { filters, backendRefs }: Required<Pick<CallRule, 'filters' | 'backendRefs'>>,
  at: string,
): readonly Ask[] {
  return [
    // Requests of a rule with an unknown filter are answered with an error, and so are those that no backend is for.
    ...filters.map(({ type }, place): Ask => [`${at}.filters[${place}]`, filterFeatures[type] ?? 'route-errors', true]),
    [
      `${at}.backendRefs`,
      'route-errors',
      backendRefs.length === 0 && filters.every(({ type }) => type !== 'RequestRedirect'),
    ],
    ...backendRefs.map((backend, place): Ask => [
      `${at}.backendRefs[${place}].filters`,
      'route-target-headers',
      backend.filters,
    ]),
  ]
}

const pathTypes = { Exact: 'exact', PathPrefix: 'segments', RegularExpression: 'regex' } as const

const filterFeatures: Readonly<Partial<Record<string, OptionalFeature>>> = {
  RequestHeaderModifier: 'route-headers',
  ResponseHeaderModifier: 'route-headers',
  RequestRedirect: 'route-redirects',
  URLRewrite: 'route-rewrites',
  RequestMirror: 'route-mirrors',
}
