import fc from 'fast-check'

import { text, integer, count, duration, several, some, matches } from './former-values.js'

const port = fc.integer({ min: 1, max: 65_535 })
const texts = several(text)
const secret = fc.record({ name: text, namespace: text })
const image = fc.constantFrom('', 'envoyproxy/envoy:v1.22.2', 'flomesh/pipy:0.90.3-38')
const quantities = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'ephemeral-storage'),
  fc.constantFrom('1', '0.5', '64M'),
)
const range = fc.constantFrom('10.0.0.0/8', '1.2.3.4/32')
const endpoint = { enable: fc.boolean(), port: count, address: text, endpoint: text }
const selector = some({
  matchLabels: fc.dictionary(fc.constantFrom('app', 'a.b/c'), fc.constantFrom('', 'web')),
  matchExpressions: several(
    fc.record({ key: text, operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'), values: texts }),
  ),
})
const stage = some({ plugin: text, priority: fc.nat(), disable: fc.boolean() }, 'plugin', 'priority')

/** Specs of the kinds of the control plane, of plugins and of several clusters, like those of policies. */
export const formerSettings: Readonly<Record<string, fc.Arbitrary<object>>> = {
  TCPRoute: fc.record({ matches: fc.record({ ports: several(integer) }) }),
  AccessCert: some(
    { subjectAltNames: fc.array(text, { minLength: 1, maxLength: 1 }), secret, matches },
    'subjectAltNames',
    'secret',
  ),
  MeshConfig: some({
    clusterSet: some({ properties: several(fc.record({ name: text, value: text })) }),
    sidecar: some({
      enablePrivilegedInitContainer: fc.boolean(),
      logLevel: fc.constantFrom('trace', 'debug', 'info', 'warning', 'warn', 'error', 'critical', 'off'),
      maxDataPlaneConnections: count,
      sidecarClass: fc.constantFrom('pipy', 'envoy'),
      sidecarImage: image,
      sidecarWindowsImage: image,
      initContainerImage: image,
      envoyImage: image,
      envoyWindowsImage: image,
      sidecarDrivers: several(
        some(
          {
            sidecarName: fc.constantFrom('pipy', 'envoy'),
            sidecarImage: image,
            sidecarWindowsImage: image,
            initContainerImage: image,
            proxyServerPort: port,
            sidecarDisabledMTLS: fc.boolean(),
          },
          'sidecarName',
        ),
      ),
      resources: some({ limits: quantities, requests: quantities }),
      configResyncInterval: duration,
      sidecarTimeout: count,
      tlsMinProtocolVersion: fc.constantFrom('TLS_AUTO', 'TLSv1_0', 'TLSv1_1', 'TLSv1_2', 'TLSv1_3'),
      tlsMaxProtocolVersion: fc.constantFrom('TLS_AUTO', 'TLSv1_0', 'TLSv1_1', 'TLSv1_2', 'TLSv1_3'),
      cipherSuites: texts,
      ecdhCurves: texts,
      localProxyMode: fc.constantFrom('Localhost', 'PodIP'),
      localDNSProxy: some({
        enable: fc.boolean(),
        primaryUpstreamDNSServerIPAddr: fc.constantFrom('', '10.96.0.10'),
        secondaryUpstreamDNSServerIPAddr: fc.constantFrom('', '10.96.0.11'),
      }),
    }),
    repoServer: fc.record({ ipaddr: text, codebase: text }),
    traffic: some({
      interceptionMode: fc.constantFrom('iptables', 'ebpf', 'none'),
      enableEgress: fc.boolean(),
      outboundIPRangeExclusionList: several(range),
      outboundIPRangeInclusionList: several(range),
      outboundPortExclusionList: several(port),
      inboundPortExclusionList: several(port),
      networkInterfaceExclusionList: texts,
      http1PerRequestLoadBalancing: fc.boolean(),
      http2PerRequestLoadBalancing: fc.boolean(),
      enablePermissiveTrafficPolicyMode: fc.boolean(),
      inboundExternalAuthorization: some({
        enable: fc.boolean(),
        address: text,
        port,
        statPrefix: text,
        timeout: text,
        failureModeAllow: fc.boolean(),
      }),
    }),
    observability: some({
      osmLogLevel: text,
      enableDebugServer: fc.boolean(),
      tracing: some({ ...endpoint, sampledFraction: text }),
      remoteLogging: some({
        ...endpoint,
        level: fc.integer({ min: 0, max: 2 }),
        authorization: text,
        sampledFraction: text,
      }),
    }),
    certificate: some(
      {
        serviceCertValidityDuration: text,
        certKeyBitSize: integer,
        ingressGateway: fc.record({
          subjectAltNames: fc.array(text, { minLength: 1, maxLength: 3 }),
          validityDuration: text,
          secret,
        }),
      },
      'serviceCertValidityDuration',
      'certKeyBitSize',
    ),
    featureFlags: fc.dictionary(
      fc.constantFrom(
        'enableWASMStats',
        'enableEgressPolicy',
        'enableMulticlusterMode',
        'enableSnapshotCacheMode',
        'enableAsyncProxyServiceMapping',
        'enableIngressBackendPolicy',
        'enableEnvoyActiveHealthChecks',
        'enableSidecarActiveHealthChecks',
        'enableRetryPolicy',
        'enableAccessControlPolicy',
        'enableAccessCertPolicy',
        'enablePluginPolicy',
      ),
      fc.boolean(),
    ),
    pluginChains: some({
      'inbound-tcp': several(stage),
      'inbound-http': several(stage),
      'outbound-tcp': several(stage),
      'outbound-http': several(stage),
    }),
  }),
  MeshRootCertificate: some(
    {
      trustDomain: text,
      provider: fc.oneof(
        fc.record({ tresor: fc.record({ ca: fc.record({ secretRef: secret }) }) }),
        fc.record({
          vault: fc.record({
            host: text,
            port,
            role: text,
            protocol: text,
            token: fc.record({ secretKeyRef: fc.record({ name: text, key: text, namespace: text }) }),
          }),
        }),
        fc.record({
          certManager: fc.record({
            issuerName: text,
            issuerKind: fc.constantFrom('Issuer', 'ClusterIssuer'),
            issuerGroup: text,
          }),
        }),
      ),
    },
    'provider',
  ),
  Plugin: some({ priority: fc.nat(), pipyscript: text, matches }, 'pipyscript'),
  PluginChain: some(
    {
      chains: several(
        fc.record({
          name: fc.constantFrom('inbound-tcp', 'inbound-http', 'outbound-tcp', 'outbound-http'),
          plugins: texts,
        }),
      ),
      selectors: some({ podSelector: selector, namespaceSelector: selector }),
      matches,
    },
    'chains',
    'selectors',
  ),
  PluginConfig: some(
    {
      plugin: text,
      destinationRefs: several(fc.record({ kind: fc.constant('Service'), name: text, namespace: text })),
      config: fc.dictionary(text, fc.jsonValue()),
      matches,
    },
    'plugin',
    'destinationRefs',
    'config',
  ),
  ServiceExport: some({
    pathRewrite: some({ from: text, to: text }),
    sessionSticky: fc.boolean(),
    loadBalancer: fc.constantFrom('RoundRobinLoadBalancer', 'HashingLoadBalancer', 'LeastWorkLoadBalancer'),
    rules: fc.array(
      some({ portNumber: integer, path: text, pathType: fc.constantFrom('Exact', 'Prefix') }, 'pathType'),
      { minLength: 1, maxLength: 3 },
    ),
    targetClusters: texts,
    serviceAccountName: text,
  }),
  ServiceImport: some(
    {
      ports: several(
        some(
          {
            name: text,
            protocol: text,
            appProtocol: text,
            port: integer,
            endpoints: several(
              fc.record({
                clusterKey: text,
                target: fc.record({ host: text, ip: text, port: integer, path: text }),
              }),
            ),
          },
          'port',
          'endpoints',
        ),
      ),
      ips: fc.array(text, { maxLength: 1 }),
      type: fc.constantFrom('ClusterSetIP', 'Headless'),
      sessionAffinity: text,
      sessionAffinityConfig: some({ clientIP: some({ timeoutSeconds: integer }) }),
      serviceAccountName: text,
    },
    'ports',
  ),
  GlobalTrafficPolicy: some(
    {
      lbType: fc.constantFrom('Locality', 'ActiveActive', 'FailOver'),
      targets: several(some({ clusterKey: text, weight: integer }, 'clusterKey')),
    },
    'lbType',
  ),
}
