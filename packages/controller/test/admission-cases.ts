import type { OptionalFeature } from '@osm-ts/driver-api'

/** A MeshConfig with every feature flag on. */
export const allFlags =
  '{ featureFlags: { enablePluginPolicy: true, enableAccessCertPolicy: true, enableAccessControlPolicy: true, enableEgressPolicy: true, enableIngressBackendPolicy: true, enableRetryPolicy: true } }'

/** What a case stands in. */
export interface AdmissionSetUp {
  /** Objects of the mesh, as YAML. */
  readonly mesh?: string
  readonly config?: string
  readonly validateTrafficTarget?: boolean
  readonly features?: readonly OptionalFeature[]
}

export const policy = (kind: string, spec: string, name = 'one', namespace = 'shop'): string =>
  `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name}, namespace: ${namespace} }\nspec: ${spec}\n`
const plugin = (kind: string, spec: string): string =>
  `apiVersion: plugin.flomesh.io/v1alpha1\nkind: ${kind}\nmetadata: { name: one, ${kind === 'Plugin' ? '' : 'namespace: shop'} }\nspec: ${spec}\n`
const smi = (kind: string, version: string, spec: string): string =>
  `apiVersion: ${version}\nkind: ${kind}\nmetadata: { name: one, namespace: shop }\nspec: ${spec}\n`
const target = (spec: string): string => smi('TrafficTarget', 'access.smi-spec.io/v1alpha3', spec)
const routes = (spec: string): string => smi('HTTPRouteGroup', 'specs.smi-spec.io/v1alpha4', spec)
export const split = (spec: string): string => smi('TrafficSplit', 'split.smi-spec.io/v1alpha4', spec)
export const meshConfig = (spec: string): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: osm-system }\nspec: ${spec}\n`
export const service = (name: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { selector: { app: a }, ports: [{ port: 80 }] }\n`

export const backend = (protocol: string, more = ''): string =>
  `{ backends: [{ name: web, port: { number: 80, protocol: ${protocol} }${more} }], sources: [{ kind: IPRange, name: 10.0.0.0/8 }] }`
export const retryPolicy =
  'retryPolicy: { retryOn: 5xx, perTryTimeout: 1s, numRetries: 3, retryBackoffBaseInterval: 1s }'
export const account = '{ kind: ServiceAccount, name: default, namespace: shop }'
const wrongNamespace = `{ destination: { kind: ServiceAccount, name: default, namespace: other }, rules: [{ kind: TCPRoute, name: t }], sources: [${account}] }`

/** An object, what is said of it, and where. */
export type AdmissionCase = readonly [what: string, yaml: string, expected: string, setUp?: AdmissionSetUp]

/** What is refused, with what the message has to name. */
export const refused: readonly AdmissionCase[] = [
  ['a TrafficTarget beside its destination', target(wrongNamespace), 'spec.destination.namespace'],
  [
    'an unknown protocol of an IngressBackend',
    policy('IngressBackend', backend('tcp')),
    'spec.backends[0].port.protocol',
  ],
  [
    'an IngressBackend for https without principals',
    policy('IngressBackend', backend('https')),
    'AuthenticatedPrincipal',
  ],
  [
    'a source Service without namespace',
    policy(
      'IngressBackend',
      '{ backends: [{ name: web, port: { number: 80, protocol: http } }], sources: [{ kind: Service, name: nginx }] }',
    ),
    'spec.sources[0].namespace',
  ],
  [
    'an invalid range',
    policy(
      'IngressBackend',
      '{ backends: [{ name: web, port: { number: 80, protocol: http } }], sources: [{ kind: IPRange, name: 10.0.0.0 }] }',
    ),
    'spec.sources[0].name',
  ],
  [
    'an unknown kind of source',
    policy(
      'IngressBackend',
      '{ backends: [{ name: web, port: { number: 80, protocol: http } }], sources: [{ kind: Pod, name: x }] }',
    ),
    'spec.sources[0].kind',
  ],
  [
    'a backend that another IngressBackend has',
    policy('IngressBackend', backend('http'), 'two'),
    'IngressBackend shop/one',
    { mesh: policy('IngressBackend', backend('http')) },
  ],
  [
    'a backend that stands twice in one object',
    policy(
      'IngressBackend',
      '{ backends: [{ name: web, port: { number: 80, protocol: http } }, { name: web, port: { number: 80, protocol: http } }], sources: [{ kind: IPRange, name: 10.0.0.0/8 }] }',
    ),
    'spec.backends[1]',
  ],
  [
    'a backend that another AccessControl has',
    policy('AccessControl', backend('http'), 'two'),
    'AccessControl shop/one',
    { mesh: policy('AccessControl', backend('http')) },
  ],
  [
    'an unknown protocol of an AccessControl',
    policy('AccessControl', backend('udp')),
    'spec.backends[0].port.protocol',
  ],
  [
    'an AccessCert for a name of the mesh',
    policy('AccessCert', '{ subjectAltNames: [a.shop.svc.cluster.local], secret: { name: s, namespace: shop } }'),
    'spec.subjectAltNames[0]',
  ],
  [
    'an AccessCert for a wildcard',
    policy('AccessCert', '{ subjectAltNames: ["*.example.com"], secret: { name: s, namespace: shop } }'),
    'wildcard',
  ],
  [
    'an AccessCert for two names',
    policy('AccessCert', '{ subjectAltNames: [a.example.com, b.example.com], secret: { name: s, namespace: shop } }'),
    'spec.subjectAltNames',
  ],
  [
    'an AccessCert while its flag is off',
    policy('AccessCert', '{ subjectAltNames: [a.example.com], secret: { name: s, namespace: shop } }'),
    'enableAccessCertPolicy',
    { config: '{}' },
  ],
  [
    'an Egress match of another group',
    policy(
      'Egress',
      `{ sources: [${account}], hosts: [a.example.com], ports: [{ number: 80, protocol: http }], matches: [{ apiGroup: v1, kind: ConfigMap, name: x }] }`,
    ),
    'spec.matches[0].apiGroup',
  ],
  [
    'an Egress match of a wrong kind',
    policy(
      'Egress',
      `{ sources: [${account}], hosts: [a.example.com], ports: [{ number: 80, protocol: http }], matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: TCPRoute, name: x }] }`,
    ),
    'spec.matches[0].kind',
  ],
  [
    'an Egress with two settings',
    policy(
      'Egress',
      `{ sources: [${account}], hosts: [a.example.com], ports: [{ number: 80, protocol: http }], matches: [{ apiGroup: policy.openservicemesh.io/v1alpha1, kind: UpstreamTrafficSetting, name: x }, { apiGroup: policy.openservicemesh.io/v1alpha1, kind: UpstreamTrafficSetting, name: y }] }`,
    ),
    'spec.matches[1]',
  ],
  [
    'an Egress to a URL',
    policy(
      'Egress',
      `{ sources: [${account}], hosts: ["http://a.example.com/"], ports: [{ number: 80, protocol: http }] }`,
    ),
    'spec.hosts[0]',
  ],
  [
    'an Egress to a bad range',
    policy('Egress', `{ sources: [${account}], ipAddresses: [10.0.0.0/99], ports: [{ number: 80, protocol: tcp }] }`),
    'spec.ipAddresses[0]',
  ],
  [
    'an Egress of an unknown protocol',
    policy('Egress', `{ sources: [${account}], hosts: [a.example.com], ports: [{ number: 80, protocol: quic }] }`),
    'spec.ports[0].protocol',
  ],
  [
    'a second global EgressGateway',
    policy('EgressGateway', '{ global: [{ service: gw, namespace: shop }] }', 'two'),
    'EgressGateway shop/one',
    { mesh: policy('EgressGateway', '{ global: [{ service: gw, namespace: shop }] }') },
  ],
  ['a setting for a short host', policy('UpstreamTrafficSetting', '{ host: web }'), 'spec.host'],
  [
    'a second setting for a host',
    policy('UpstreamTrafficSetting', '{ host: web.shop.svc.cluster.local }', 'two'),
    'UpstreamTrafficSetting shop/one',
    { mesh: policy('UpstreamTrafficSetting', '{ host: web.shop.svc.cluster.local }') },
  ],
  [
    'an HTTP status out of range',
    policy(
      'UpstreamTrafficSetting',
      '{ host: web.shop.svc.cluster.local, rateLimit: { local: { http: { requests: 1, unit: second, responseStatusCode: 200 } } } }',
    ),
    'spec.rateLimit.local.http.responseStatusCode',
  ],
  [
    'an invalid timeout',
    policy(
      'UpstreamTrafficSetting',
      '{ host: web.shop.svc.cluster.local, connectionSettings: { tcp: { connectTimeout: soon } } }',
    ),
    'spec.connectionSettings.tcp.connectTimeout',
  ],
  [
    'a Retry from a Pod',
    policy(
      'Retry',
      `{ source: { kind: Pod, name: a, namespace: shop }, destinations: [{ kind: Service, name: web, namespace: shop }], ${retryPolicy} }`,
    ),
    'spec.source.kind',
  ],
  [
    'a Retry to a Deployment',
    policy(
      'Retry',
      `{ source: ${account}, destinations: [{ kind: Deployment, name: web, namespace: shop }], ${retryPolicy} }`,
    ),
    'spec.destinations[0].kind',
  ],
  [
    'a Retry with a bad timeout',
    policy(
      'Retry',
      `{ source: ${account}, destinations: [{ kind: Service, name: web, namespace: shop }], ${retryPolicy.replace('1s', 'x')} }`,
    ),
    'spec.retryPolicy.perTryTimeout',
  ],
  [
    'a PluginChain while its flag is off',
    plugin(
      'PluginChain',
      '{ chains: [{ name: inbound-http, plugins: [a] }], selectors: { podSelector: {}, namespaceSelector: {} } }',
    ),
    'enablePluginPolicy',
    { config: '{}' },
  ],
  [
    'a PluginConfig while its flag is off',
    plugin(
      'PluginConfig',
      '{ plugin: a, destinationRefs: [{ kind: Service, name: web, namespace: shop }], config: {} }',
    ),
    'enablePluginPolicy',
    { config: '{}' },
  ],
  ['a Plugin without a script', plugin('Plugin', '{ pipyscript: " " }'), 'spec.pipyscript'],
  [
    'a PluginChain of an unknown name',
    plugin(
      'PluginChain',
      '{ chains: [{ name: sideways, plugins: [a] }], selectors: { podSelector: {}, namespaceSelector: {} } }',
    ),
    'spec.chains[0].name',
  ],
  ['a TrafficSplit without backends', split('{ service: web, backends: [] }'), 'spec.backends'],
  [
    'a TrafficSplit with a negative weight',
    split('{ service: web, backends: [{ service: a, weight: -1 }] }'),
    'spec.backends[0].weight',
  ],
  [
    'a TrafficSplit of another namespace',
    split('{ service: web.other, backends: [{ service: a, weight: 1 }] }'),
    'spec.service',
  ],
  ['a path that is not RE2', routes('{ matches: [{ name: a, pathRegex: "(" }] }'), 'spec.matches[0].pathRegex'],
  [
    'a header that is not RE2',
    routes('{ matches: [{ name: a, headers: [{ host: "(?<=x)" }] }] }'),
    'spec.matches[0].headers[0].host',
  ],
  [
    'an invalid header name',
    routes('{ matches: [{ name: a, headers: [{ "a b": x }] }] }'),
    'spec.matches[0].headers[0]',
  ],
  ['a MeshConfig that says nothing', meshConfig('{}'), 'is empty'],
  ['an unknown default class', meshConfig('{ sidecar: { sidecarClass: other } }'), 'registered: fake'],
  ['a class that is not a name', meshConfig('{ sidecar: { sidecarClass: "a b" } }'), 'spec.sidecar.sidecarClass'],
  [
    'settings that a driver does not take',
    meshConfig('{ sidecar: { sidecarClass: fake, sidecarDrivers: [{ sidecarName: fake, config: { unknown: 1 } }] } }'),
    'spec.sidecar.sidecarDrivers[0].config',
  ],
  [
    'two providers of a root',
    'apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshRootCertificate\nmetadata: { name: a, namespace: osm-system }\nspec: { trustDomain: cluster.local, provider: {} }\n',
    'spec.provider',
  ],
]

/** What passes with a warning. */
export const warned: readonly AdmissionCase[] = [
  [
    'an ingress gateway that is named like a service of the mesh',
    meshConfig(
      '{ certificate: { serviceCertValidityDuration: 24h, certKeyBitSize: 2048, ingressGateway: ' +
        '{ subjectAltNames: [ingress.cluster.local], validityDuration: 24h, secret: { name: x, namespace: y } } } }',
    ),
    'certificate.ingressGateway.subjectAltNames[0]',
  ],
  [
    'a TrafficTarget beside its destination where that is not checked',
    target(wrongNamespace),
    'spec.destination.namespace',
    { validateTrafficTarget: false },
  ],
  [
    'a TrafficTarget before its routes',
    target(`{ destination: ${account}, rules: [{ kind: HTTPRouteGroup, name: later }], sources: [${account}] }`),
    'spec.rules[0].name',
  ],
  [
    'a TrafficTarget of an unsupported route',
    target(`{ destination: ${account}, rules: [{ kind: UDPRoute, name: u }], sources: [${account}] }`),
    'spec.rules[0].kind',
  ],
  [
    'a TrafficSplit before its services',
    split('{ service: web, backends: [{ service: a, weight: 1 }] }'),
    'spec.service',
  ],
  [
    'an Egress before its routes',
    policy(
      'Egress',
      `{ sources: [${account}], hosts: [a.example.com], ports: [{ number: 80, protocol: http }], matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, name: later }] }`,
    ),
    'spec.matches[0].name',
  ],
  ['a Plugin while its flag is off', plugin('Plugin', '{ pipyscript: "1" }'), 'enablePluginPolicy', { config: '{}' }],
  [
    'an Egress while its flag is off',
    policy('Egress', `{ sources: [${account}], hosts: [a.example.com], ports: [{ number: 80, protocol: http }] }`),
    'enableEgressPolicy',
    { config: '{}' },
  ],
  [
    'a Retry while its flag is off',
    policy(
      'Retry',
      `{ source: ${account}, destinations: [{ kind: Service, name: web, namespace: shop }], ${retryPolicy} }`,
    ),
    'enableRetryPolicy',
    { config: '{}', mesh: service('web') },
  ],
  [
    'a Retry that the class cannot do',
    policy(
      'Retry',
      `{ source: ${account}, destinations: [{ kind: Service, name: web, namespace: shop }], ${retryPolicy} }`,
    ),
    'retries',
    { mesh: service('web'), features: [] },
  ],
  [
    'escaped slashes that the class cannot keep',
    meshConfig('{ sidecar: { sidecarClass: fake }, traffic: { escapedSlashes: Keep } }'),
    'escaped-slashes',
    { features: [] },
  ],
  [
    'an image that is too old for the class',
    meshConfig('{ sidecar: { sidecarClass: fake, sidecarImage: "example.com/proxy:v1.19.1" } }'),
    'OSM_CONTROLLER_IMAGE',
  ],
  [
    'a breaker that the class cannot do',
    policy(
      'UpstreamTrafficSetting',
      '{ host: web.shop.svc.cluster.local, connectionSettings: { http: { circuitBreaking: { minRequestAmount: 2 } } } }',
    ),
    'statistical-circuit-breaker',
    { mesh: service('web'), features: ['connection-limits'] },
  ],
  ['an expression that can hurt', routes('{ matches: [{ name: a, pathRegex: "(a+)+b" }] }'), 'OSM_SPEC_REGEX_COSTLY'],
  ['a field that no one reads', routes('{ matches: [{ name: a, pathRegexp: "/" }] }'), 'pathRegex'],
  [
    'a second class without a driver',
    meshConfig('{ sidecar: { sidecarClass: fake, sidecarDrivers: [{ sidecarName: pipy }] } }'),
    'spec.sidecar.sidecarDrivers[0].sidecarName',
  ],
  [
    'a setting that is not read',
    meshConfig('{ sidecar: { sidecarClass: fake }, repoServer: { ipaddr: 10.0.0.1, codebase: x } }'),
    'OSM_CONFIG_NOT_READ',
  ],
  [
    'a change that waits for a restart',
    meshConfig('{ sidecar: { sidecarClass: fake, sidecarDrivers: [{ sidecarName: fake, proxyServerPort: 15999 }] } }'),
    'OSM_CONFIG_RESTART',
  ],
  [
    'a duration that gives way',
    meshConfig('{ sidecar: { sidecarClass: fake, configResyncInterval: 5s } }'),
    'spec.sidecar.configResyncInterval',
  ],
]
