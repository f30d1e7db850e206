import fc from 'fast-check'

import { accountOf, GATEWAY_NAME, hostOf, namespaceIn, numbered, type Place, plugins, serviceOf } from './names.js'
import { type Maker, manifest } from './random-workloads.js'

const SMI_SPECS = 'specs.smi-spec.io/v1alpha4'
const POLICY = 'policy.openservicemesh.io/v1alpha1'
const CONFIG = 'config.openservicemesh.io/v1alpha2'
const GATEWAY = 'gateway.networking.k8s.io/v1'
const PLUGIN = 'plugin.flomesh.io/v1alpha1'

const accountIn = (place: Place) =>
  fc.record({ kind: fc.constant('ServiceAccount'), name: accountOf(place), namespace: namespaceIn(place) })
const serviceIn = (place: Place) => fc.record({ service: serviceOf(place), namespace: namespaceIn(place) })
const matchRef = (kinds: readonly (readonly [string, string])[]) =>
  fc.tuple(fc.constantFrom(...kinds), fc.constantFrom('0', '1')).map(([[apiGroup, kind], number]) => ({
    apiGroup,
    kind,
    name: `${kind === 'HTTPRouteGroup' ? 'g' : 'u'}${number}`,
  }))

export const anyRouteGroup: Maker = (place) =>
  manifest(SMI_SPECS, 'HTTPRouteGroup', place, {
    name: numbered('g'),
    spec: fc.record({
      matches: fc.array(
        fc.record(
          {
            name: numbered('m'),
            pathRegex: fc.constantFrom('/a', '/b.*', '.*', '('),
            methods: fc.constantFrom(['GET'], ['*']),
            headers: fc.constantFrom([{ 'x-user': 'root' }], [{ ['__proto__']: 'x' }]),
          },
          { requiredKeys: ['name'] },
        ),
        { maxLength: 2 },
      ),
    }),
  })

export const anyTcpRoute: Maker = (place) =>
  manifest(SMI_SPECS, 'TCPRoute', place, {
    name: numbered('t'),
    spec: fc.constantFrom({}, { matches: { ports: [8080] } }, { matches: { ports: [9090] } }),
  })

export const anyTrafficTarget: Maker = (place) =>
  manifest('access.smi-spec.io/v1alpha3', 'TrafficTarget', place, {
    name: fc.constantFrom('tt0', 'tt1', 'tt2'),
    spec: fc.record({
      // Now and then in the wrong place.
      destination: fc.record({
        kind: fc.constant('ServiceAccount'),
        name: accountOf(place),
        namespace: fc.oneof({ weight: 4, arbitrary: fc.constant(place.home) }, namespaceIn(place)),
      }),
      sources: fc.array(accountIn(place), { minLength: 1, maxLength: 2 }),
      rules: fc.array(
        fc.oneof(
          fc.record({ kind: fc.constant('HTTPRouteGroup'), name: numbered('g') }),
          fc.record({ kind: fc.constant('TCPRoute'), name: numbered('t') }),
        ),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  })

export const anyTrafficSplit: Maker = (place) =>
  manifest('split.smi-spec.io/v1alpha4', 'TrafficSplit', place, {
    name: numbered('sp'),
    spec: fc.record({
      service: fc.oneof(
        { weight: 3, arbitrary: serviceOf(place) },
        fc.tuple(serviceOf(place), namespaceIn(place)).map(([name, namespace]) => `${name}.${namespace}`),
      ),
      backends: fc.array(fc.record({ service: serviceOf(place), weight: fc.nat(2) }), { minLength: 1, maxLength: 2 }),
    }),
  })

export const anyGatewayRoute =
  (kind: 'HTTPRoute' | 'GRPCRoute' | 'TCPRoute' | 'TLSRoute'): Maker =>
  (place) => {
    const service = fc.record({
      group: fc.constant(''),
      kind: fc.constant('Service'),
      name: serviceOf(place),
      namespace: namespaceIn(place),
    })
    const backend = service.map((reference) => ({ ...reference, port: 80 }))
    // A route of connections has one rule, with backends.
    const isOfConnections = kind === 'TCPRoute' || kind === 'TLSRoute'
    const rule = fc.record({
      backendRefs: fc.array(backend, { minLength: isOfConnections ? 1 : 0, maxLength: 2 }),
    })
    return manifest(GATEWAY, kind, place, {
      name: numbered('rt'),
      spec: fc.record({
        parentRefs: fc.array(service, { minLength: 1, maxLength: 2 }),
        ...(kind === 'TLSRoute' ? { hostnames: fc.constantFrom(['a.example'], ['*.example', 'a.example']) } : {}),
        rules: fc.array(rule, { minLength: 1, maxLength: isOfConnections ? 1 : 2 }),
      }),
    })
  }

const mtls = (place: Place) =>
  fc.oneof(
    fc.constant({ issuer: 'osm' }),
    namespaceIn(place).map((namespace) => ({
      issuer: 'other',
      cert: { sn: 1, expiration: '2030-01-01T00:00:00Z', secret: { name: 'client', namespace } },
    })),
  )

export const anyEgress: Maker = (place) =>
  manifest(POLICY, 'Egress', place, {
    name: numbered('e'),
    spec: fc.record(
      {
        sources: fc.array(
          fc
            .tuple(accountIn(place), fc.option(mtls(place), { nil: undefined, freq: 3 }))
            .map(([source, tls]) => (tls === undefined ? source : { ...source, mtls: tls })),
          { minLength: 1, maxLength: 2 },
        ),
        hosts: fc.uniqueArray(hostOf(place), { minLength: 1, maxLength: 2 }),
        ipAddresses: fc.subarray(['192.0.2.0/24', '10.96.0.1/32', '10.96.0.2/32']),
        ports: fc.array(
          fc.record({
            number: fc.constantFrom(...place.ports),
            protocol: fc.constantFrom('http', 'https', 'https', 'tcp', 'tcp-server-first'),
          }),
          { minLength: 1, maxLength: 2 },
        ),
        matches: fc.array(
          matchRef([
            [SMI_SPECS, 'HTTPRouteGroup'],
            [POLICY, 'UpstreamTrafficSetting'],
          ]),
          { maxLength: 1 },
        ),
      },
      { requiredKeys: ['sources', 'hosts', 'ports'] },
    ),
  })

export const anyEgressGateway: Maker = (place) =>
  manifest(POLICY, 'EgressGateway', place, {
    name: numbered('x'),
    spec: fc.record(
      {
        global: fc.array(serviceIn(place), { minLength: 1, maxLength: 1 }),
        rules: fc.array(
          fc.record({
            egressPolicies: fc.array(fc.record({ name: numbered('e'), namespace: namespaceIn(place) }), {
              minLength: 1,
              maxLength: 2,
            }),
            egressGateways: fc.array(serviceIn(place), { minLength: 1, maxLength: 1 }),
          }),
          { minLength: 1, maxLength: 2 },
        ),
      },
      { requiredKeys: [] },
    ),
  })

export const anyUpstreamSetting: Maker = (place) =>
  manifest(POLICY, 'UpstreamTrafficSetting', place, {
    name: numbered('u'),
    spec: fc.record(
      {
        host: fc.oneof(
          fc
            .tuple(serviceOf(place), namespaceIn(place), fc.constantFrom('', '.svc.cluster.local'))
            .map(([name, namespace, suffix]) => `${name}.${namespace}${suffix}`),
          hostOf(place),
        ),
        connectionSettings: fc.constantFrom(
          { tcp: { maxConnections: 1 } },
          { http: { maxRequests: 1, circuitBreaking: { statTimeWindow: '1m', degradedStatusCode: 200 } } },
        ),
        rateLimit: fc.constant({ local: { tcp: { connections: 1, unit: 'second' } } }),
      },
      { requiredKeys: ['host'] },
    ),
  })

export const anyRetry: Maker = (place) =>
  manifest(POLICY, 'Retry', place, {
    name: numbered('r'),
    spec: fc.record({
      source: accountIn(place),
      destinations: fc.array(
        fc.record({
          kind: fc.constant('Service'),
          name: fc.oneof({ weight: 3, arbitrary: serviceOf(place) }, fc.constant('*')),
          namespace: fc.oneof(namespaceIn(place), fc.constant('*')),
        }),
        { minLength: 1, maxLength: 2 },
      ),
      retryPolicy: fc.record({
        retryOn: fc.constant('5xx'),
        numRetries: fc.nat(3),
        perTryTimeout: fc.constant('1s'),
        retryBackoffBaseInterval: fc.constant('20ms'),
      }),
    }),
  })

const access =
  (kind: string): Maker =>
  (place) =>
    manifest(POLICY, kind, place, {
      name: numbered('i'),
      spec: fc.record(
        {
          backends: fc.array(
            fc.record(
              {
                name: serviceOf(place),
                port: fc.record({
                  number: fc.constantFrom(8080, 9090),
                  protocol: fc.constantFrom('http', 'https'),
                }),
                tls: fc.record(
                  {
                    skipClientCertValidation: fc.boolean(),
                    sniHosts: fc
                      .tuple(serviceOf(place), namespaceIn(place))
                      .map(([name, namespace]) => [`${name}.${namespace}.svc.cluster.local`]),
                  },
                  { requiredKeys: ['skipClientCertValidation'] },
                ),
              },
              { requiredKeys: ['name', 'port'] },
            ),
            { minLength: 1, maxLength: 2 },
          ),
          sources: fc.array(
            fc.oneof(
              fc.record({ kind: fc.constant('IPRange'), name: fc.constantFrom('10.0.0.0/8', '0.0.0.0/0') }),
              fc.record({ kind: fc.constant('Service'), name: serviceOf(place), namespace: namespaceIn(place) }),
              fc.record({
                kind: fc.constant('AuthenticatedPrincipal'),
                name: fc.constantFrom('gateway.example', 'web.bank.cluster.local'),
              }),
            ),
            { minLength: 1, maxLength: 2 },
          ),
          matches: fc.array(matchRef([[SMI_SPECS, 'HTTPRouteGroup']]), { maxLength: 1 }),
        },
        { requiredKeys: ['backends', 'sources'] },
      ),
    })

export const anyIngressBackend = access('IngressBackend')
export const anyAccessControl = access('AccessControl')

/** Names that certificates of others hold, or that rules of others let in. */
const certificateName = (place: Place): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom('gateway.example', GATEWAY_NAME, 'mallory.example'),
    fc
      .tuple(accountOf(place), namespaceIn(place), fc.constantFrom('cluster.local', 'svc.cluster.local'))
      .map((labels) => labels.join('.')),
  )

export const anyAccessCert: Maker = (place) =>
  manifest(POLICY, 'AccessCert', place, {
    name: numbered('c'),
    spec: fc.record({
      subjectAltNames: certificateName(place).map((name) => [name]),
      secret: fc.record({ name: fc.constantFrom('outside', 'gateway'), namespace: namespaceIn(place) }),
    }),
  })

/** Namespaces carry the labels that a cluster gives them, so that a selector can mean one, some or all. */
const namespaceSelector = (place: Place) =>
  fc.oneof(
    fc.constant({}),
    namespaceIn(place).map((name) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } })),
  )

export const anyPluginChain: Maker = (place) =>
  manifest(PLUGIN, 'PluginChain', place, {
    name: numbered('pc'),
    spec: fc.record({
      chains: fc.array(
        fc.record({
          name: fc.constantFrom('inbound-http', 'outbound-http', 'outbound-tcp'),
          plugins: fc.subarray([...plugins], { minLength: 1 }),
        }),
        { minLength: 1, maxLength: 2 },
      ),
      selectors: fc.record(
        {
          podSelector: serviceOf(place).map((app) => ({ matchLabels: { app } })),
          namespaceSelector: namespaceSelector(place),
        },
        { requiredKeys: [] },
      ),
    }),
  })

export const anyPluginConfig: Maker = (place) =>
  manifest(PLUGIN, 'PluginConfig', place, {
    name: numbered('pf'),
    spec: fc.record({
      plugin: fc.constantFrom(...plugins),
      destinationRefs: fc.array(
        fc.record({ kind: fc.constant('Service'), name: serviceOf(place), namespace: namespaceIn(place) }),
        { minLength: 1, maxLength: 2 },
      ),
      config: fc.record({ token: fc.constant(`of ${place.home}`), readOnly: fc.boolean() }),
    }),
  })

const groups: Readonly<Record<string, string>> = {
  Egress: 'policy.openservicemesh.io',
  EgressGateway: 'policy.openservicemesh.io',
  AccessCert: 'policy.openservicemesh.io',
  PluginConfig: 'plugin.flomesh.io',
  PluginChain: 'plugin.flomesh.io',
  IngressBackend: 'policy.openservicemesh.io',
  HTTPRoute: 'gateway.networking.k8s.io',
  GRPCRoute: 'gateway.networking.k8s.io',
  TCPRoute: 'gateway.networking.k8s.io',
  TLSRoute: 'gateway.networking.k8s.io',
}
const targets: readonly (readonly [string, string])[] = [
  ['', 'ServiceAccount'],
  ['', 'Service'],
  ['', 'Secret'],
  ['policy.openservicemesh.io', 'Egress'],
  ['policy.openservicemesh.io', 'IngressBackend'],
  ['policy.openservicemesh.io', 'AccessControl'],
]

/** Consent of the namespace that the object is in to what objects of others say about it. */
export const anyReferenceGrant: Maker = (place) =>
  manifest(POLICY, 'ReferenceGrant', place, {
    name: numbered('rg'),
    spec: fc.record({
      from: fc.array(
        fc
          .tuple(fc.constantFrom(...Object.keys(groups)), namespaceIn(place))
          .map(([kind, namespace]) => ({ group: groups[kind] ?? '', kind, namespace })),
        { minLength: 1, maxLength: 2 },
      ),
      to: fc.array(
        fc.constantFrom(...targets).map(([group, kind]) => ({ group, kind })),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  })

export const anyGatewayReferenceGrant: Maker = (place) =>
  manifest(GATEWAY, 'ReferenceGrant', place, {
    name: numbered('gg'),
    spec: fc.record({
      from: fc.array(
        fc
          .tuple(fc.constantFrom('HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute'), namespaceIn(place))
          .map(([kind, namespace]) => ({ group: 'gateway.networking.k8s.io', kind, namespace })),
        { minLength: 1, maxLength: 2 },
      ),
      to: fc.constant([{ group: '', kind: 'Service' }]),
    }),
  })

export const anyMeshConfig: Maker = (place) =>
  manifest(CONFIG, 'MeshConfig', place, {
    name: fc.constantFrom('osm-mesh-config', 'other'),
    spec: fc.record({
      traffic: fc.record({ enablePermissiveTrafficPolicyMode: fc.boolean(), enableEgress: fc.boolean() }),
    }),
  })

export const anyMeshRootCertificate: Maker = (place) =>
  manifest(CONFIG, 'MeshRootCertificate', place, {
    name: fc.constantFrom('osm-mesh-root-certificate', 'other'),
    spec: fc.constant({
      trustDomain: 'cluster.local',
      intent: 'active',
      provider: { tresor: { ca: { secretRef: { name: 'root', namespace: place.home } } } },
    }),
  })
