import { type Manifest, manifests, type Place } from '@osm-ts/core/testing'

/** Namespace of everything, and the workload whose proxy is measured. */
const NAMESPACE = 'bench'
export const MEASURED = 'measured'

const policyApi = 'policy.openservicemesh.io/v1alpha1'
const routeMatch = { apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name: 'routes' }
const measuredAccount = manifests.accountRef(place(MEASURED))

/**
 * For each kind of policy a mesh in which `size` things of the kind concern the measured proxy: services that it may call, destinations outside, or
 * ports, callers and routes that it serves.
 */
export const policyKindMeshes: Readonly<Record<string, (size: number) => readonly Manifest[]>> = {
  permissive: (size) => [...client(true), ...services(size)],
  smi: (size) => callable(size),
  trafficSplit: (size) => [
    ...callable(size),
    ...numbers(size).flatMap((n) => [
      manifests.service(place(`apex-${n}`), {}, { selector: { app: serviceName(n) } }),
      written('split.smi-spec.io/v1alpha4', 'TrafficSplit', `split-${n}`, {
        service: `apex-${n}`,
        backends: [
          { service: serviceName(n), weight: 3 },
          { service: serviceName((n + 1) % size), weight: 1 },
        ],
      }),
    ]),
  ],
  splitMatches: (size) => [
    ...routedServices(size),
    routeGroup(1),
    ...numbers(size).map((n) => {
      const name = serviceName(n % routedCount(size))
      return written('split.smi-spec.io/v1alpha4', 'TrafficSplit', `split-${n}`, {
        service: name,
        backends: [
          { service: name, weight: 3 },
          { service: nextService(n, size), weight: 1 },
        ],
        matches: [{ kind: 'HTTPRouteGroup', name: `match-${n}` }],
      })
    }),
    ...numbers(size).map((n) =>
      manifests.routeGroup(place(`match-${n}`), [{ name: 'only', pathRegex: `/route-${n}/.*`, methods: ['GET'] }]),
    ),
  ],
  httpRoutes: (size) => [
    ...routedServices(size),
    routeGroup(1),
    ...numbers(size).map((n) => {
      const name = serviceName(n % routedCount(size))
      return written('gateway.networking.k8s.io/v1', 'HTTPRoute', `route-${n}`, {
        parentRefs: [{ group: '', kind: 'Service', name, port: 80 }],
        rules: [
          {
            matches: [{ path: { type: 'RegularExpression', value: `/route-${n}/.*` }, method: 'GET' }],
            backendRefs: [
              { name, port: 80, weight: 3 },
              { name: nextService(n, size), port: 80, weight: 1 },
            ],
          },
        ],
      })
    }),
  ],
  retry: (size) => [
    ...callable(size),
    written(policyApi, 'Retry', 'retry', {
      source: measuredAccount,
      destinations: numbers(size).map((n) => ({ kind: 'Service', name: serviceName(n), namespace: NAMESPACE })),
      retryPolicy: { retryOn: '5xx', perTryTimeout: '1s', numRetries: 2, retryBackoffBaseInterval: '25ms' },
    }),
  ],
  connectionSettings: (size) => [
    ...callable(size),
    ...numbers(size).map((n) =>
      setting(serviceName(n), {
        connectionSettings: {
          tcp: { maxConnections: 100, connectTimeout: '1s' },
          http: { maxRequests: 100, maxRequestsPerConnection: 1000, maxPendingRequests: 10, maxRetries: 3 },
        },
      }),
    ),
  ],
  egressHosts: (size) => [...client(), routeGroup(1), ...numbers(size).map((n) => egressTo(n, 'http', 80))],
  egressServerNames: (size) => [...client(), ...numbers(size).map((n) => egressTo(n, 'https', 443))],
  egressRanges: (size) => [
    ...client(),
    ...numbers(size).map((n) =>
      egress(n, { ipAddresses: [`203.${n >> 8}.${n & 255}.0/24`], ports: [{ number: 5432, protocol: 'tcp' }] }),
    ),
  ],
  servedPorts: (size) => serving(size),
  callers: (size) => [
    ...server(1),
    routeGroup(1),
    ...numbers(size).map((n) => manifests.account(place(serviceName(n)))),
    target(
      MEASURED,
      numbers(size).map((n) => serviceName(n)),
    ),
  ],
  routes: (size) => [...server(1), routeGroup(size), manifests.account(place('caller')), target(MEASURED, ['caller'])],
  localRateLimit: (size) => [
    ...serving(size),
    ...servedNames(size).map((name) =>
      setting(name, {
        rateLimit: { local: { http: { requests: 100, unit: 'second', burst: 10 } } },
        httpRoutes: [{ path: '/route-0/.*', rateLimit: { local: { requests: 10, unit: 'second' } } }],
      }),
    ),
  ],
  globalRateLimit: (size) => [
    ...serving(size),
    ...servedNames(size).map((name) =>
      setting(name, {
        rateLimit: {
          global: {
            http: {
              rateLimitService: { host: '192.0.2.1', port: 8081 },
              domain: name,
              descriptors: [{ entries: [{ genericKey: { value: name } }, { remoteAddress: {} }] }],
            },
          },
        },
      }),
    ),
  ],
  ingressBackend: (size) => [
    ...server(size),
    routeGroup(1),
    ...servedNames(size).map((name, n) => outside('IngressBackend', name, n, ['203.0.113.0/24'])),
  ],
  accessControl: (size) => [
    ...server(size),
    routeGroup(1),
    ...servedNames(size).map((name, n) => outside('AccessControl', name, n, ['203.0.113.0/24'])),
  ],
  ingressSources: (size) => [
    ...server(1),
    routeGroup(1),
    outside(
      'IngressBackend',
      servedNames(1)[0] ?? '',
      0,
      numbers(size).map((n) => `203.${n >> 8}.${n & 255}.0/24`),
    ),
  ],
}

/** The measured workload as a client. */
function client(permissive = false): readonly Manifest[] {
  return [meshConfig(permissive), manifests.account(place(MEASURED)), instance(MEASURED, 0)]
}

/** Services, each with its own workload. */
function services(size: number): readonly Manifest[] {
  return numbers(size).flatMap((n) => [
    manifests.account(place(serviceName(n))),
    instance(serviceName(n), n + 1),
    manifests.service(place(serviceName(n))),
  ])
}

/** Services that the measured proxy may call, and no other. */
function callable(size: number): readonly Manifest[] {
  return [
    ...client(),
    ...services(size),
    routeGroup(1),
    ...numbers(size).map((n) => target(serviceName(n), [MEASURED])),
  ]
}

/** Fewer services than rules for them, with addresses: without one no sidecar has routes to a service. */
function routedServices(size: number): readonly Manifest[] {
  const count = routedCount(size)
  const addressed = services(count).map((object, n) =>
    object.kind === 'Service'
      ? { ...object, spec: { ...object.spec, clusterIP: `10.96.${n >> 8}.${n & 255}` } }
      : object,
  )
  return [...client(), ...addressed, ...numbers(count).map((n) => target(serviceName(n), [MEASURED]))]
}

/** Services of a number of rules: 300 of 1,000. */
function routedCount(size: number): number {
  return Math.ceil(size * 0.3)
}

function nextService(n: number, size: number): string {
  return serviceName((n + 1) % routedCount(size))
}

/** The measured workload as a server: one service for each of its ports. */
function server(ports: number): readonly Manifest[] {
  return [
    meshConfig(false),
    manifests.account(place(MEASURED)),
    instance(MEASURED, 0, ports),
    ...servedNames(ports).map((name, n) =>
      manifests.service(place(name), { targetPort: targetPort(n) }, { selector: { app: MEASURED } }),
    ),
  ]
}

/** A server whose ports are open to one caller. */
function serving(ports: number): readonly Manifest[] {
  return [...server(ports), routeGroup(1), manifests.account(place('caller')), target(MEASURED, ['caller'])]
}

function serviceName(n: number): string {
  return `svc-${n}`
}

function servedNames(ports: number): readonly string[] {
  return numbers(ports).map((n) => `served-${n}`)
}

function place(name: string): Place {
  return { namespace: NAMESPACE, name }
}

function instance(name: string, index: number, ports = 1): Manifest {
  return manifests.instance(place(name), index, { ports: numbers(ports).map((n) => ({ port: targetPort(n) })) })
}

function target(destination: string, sources: readonly string[]): Manifest {
  return manifests.trafficTarget(place(destination), sources.map(place))
}

function targetPort(n: number): number {
  return 8080 + n
}

function routeGroup(matches: number): Manifest {
  return manifests.routeGroup(
    place('routes'),
    numbers(matches).map((n) => ({ name: `route-${n}`, pathRegex: `/route-${n}/.*`, methods: ['GET'] })),
  )
}

function setting(name: string, spec: object): Manifest {
  return written(policyApi, 'UpstreamTrafficSetting', name, {
    host: `${name}.${NAMESPACE}.svc.cluster.local`,
    ...spec,
  })
}

function egressTo(n: number, protocol: 'http' | 'https', number: number): Manifest {
  const matches = protocol === 'http' ? [routeMatch] : []
  return egress(n, { hosts: [`host-${n}.example.com`], ports: [{ number, protocol }], matches })
}

function egress(n: number, spec: object): Manifest {
  return written(policyApi, 'Egress', `egress-${n}`, { sources: [measuredAccount], ...spec })
}

function outside(
  kind: 'IngressBackend' | 'AccessControl',
  name: string,
  n: number,
  ranges: readonly string[],
): Manifest {
  return written(policyApi, kind, name, {
    backends: [{ name, port: { number: targetPort(n), protocol: 'http' } }],
    sources: ranges.map((range) => ({ kind: 'IPRange', name: range })),
    matches: [routeMatch],
  })
}

function meshConfig(permissive: boolean): Manifest {
  return manifests.meshConfig({
    traffic: { enablePermissiveTrafficPolicyMode: permissive },
    featureFlags: {
      enableEgressPolicy: true,
      enableIngressBackendPolicy: true,
      enableAccessControlPolicy: true,
      enableRetryPolicy: true,
    },
  })
}

function written(apiVersion: string, kind: string, name: string, spec: object): Manifest {
  return manifests.manifest(apiVersion, kind, place(name), spec)
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n)
}
