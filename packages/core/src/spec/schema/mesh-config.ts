import { Type } from '@sinclair/typebox'

import { duration, freeObject, oneOf, portNumber, secretRef, struct, textMap, type Spec } from './common.js'
import type { pluginChainNames } from './plugin.js'
import { networkGateway } from './workload-network.js'

const bool = (description: string) => Type.Optional(Type.Boolean({ description }))
const text = (description: string) => Type.Optional(Type.String({ description }))
const textList = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))
const portList = (description: string) => Type.Optional(Type.Array(portNumber('A port.'), { description }))

// Zero means unset, as in Go.
const portOrNone = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 65535, description: `${description} 0 means unset.` }))

/** Log levels of sidecars. */
export const sidecarLogLevels = ['trace', 'debug', 'info', 'warning', 'warn', 'error', 'critical', 'off'] as const
const tlsVersions = ['TLS_AUTO', 'TLSv1_0', 'TLSv1_1', 'TLSv1_2', 'TLSv1_3'] as const

const images = {
  sidecarImage: text('Image of the sidecar.'),
  sidecarWindowsImage: text('Image of the sidecar on Windows nodes.'),
  initContainerImage: text('Image of the init container that redirects traffic.'),
}

const SidecarSchema = struct(
  {
    enablePrivilegedInitContainer: bool('True: the init container runs privileged.'),
    logLevel: Type.Optional(oneOf(sidecarLogLevels, 'Log level of sidecars. Defaults to error.')),
    maxDataPlaneConnections: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Maximum number of sidecars per controller; 0 means no limit.' }),
    ),
    sidecarClass: text('Default sidecar class: the name of a driver.'),
    ...images,
    envoyImage: text('Name of sidecarImage in OSM; applies to class envoy.'),
    envoyWindowsImage: text('Name of sidecarWindowsImage in OSM; applies to class envoy.'),
    sidecarDrivers: Type.Optional(
      Type.Array(
        struct(
          {
            sidecarName: Type.String({ minLength: 1, description: 'Name of the driver; also the sidecar class.' }),
            ...images,
            proxyServerPort: Type.Optional(portNumber('Port on which the proxy control plane of the driver listens.')),
            sidecarDisabledMTLS: bool(
              'Accepted for compatibility and ignored: traffic between sidecars always uses mutual TLS.',
            ),
            config: Type.Optional(freeObject('Settings of the driver, checked by its own schema.')),
          },
          'A driver.',
        ),
        { description: 'Drivers that workloads may select.' },
      ),
    ),
    resources: Type.Optional(
      struct(
        {
          limits: Type.Optional(textMap('Upper bounds.')),
          requests: Type.Optional(textMap('Reserved amounts.')),
        },
        'Resources of sidecar containers.',
      ),
    ),
    configResyncInterval: Type.Optional(duration('Interval of full resends; 0s disables them.')),
    sidecarTimeout: Type.Optional(
      Type.Integer({
        description:
          'Idle timeout of TCP connections and HTTP requests, in seconds. If absent or not positive, traffic.tcpIdleTimeout and traffic.streamIdleTimeout apply, or their defaults.',
      }),
    ),
    tlsMinProtocolVersion: Type.Optional(
      oneOf(tlsVersions, 'Minimum TLS version between sidecars. Defaults to TLSv1_2.'),
    ),
    tlsMaxProtocolVersion: Type.Optional(
      oneOf(tlsVersions, 'Maximum TLS version between sidecars. Defaults to TLSv1_3.'),
    ),
    cipherSuites: textList('Cipher suites for TLS up to 1.2.'),
    ecdhCurves: textList('Curves for the key exchange.'),
    localProxyMode: Type.Optional(
      oneOf(['Localhost', 'PodIP'], 'Address that the sidecar uses to reach its application. Defaults to Localhost.'),
    ),
    localDNSProxy: Type.Optional(
      struct(
        {
          enable: bool('True: the sidecar answers DNS queries for names of the mesh.'),
          primaryUpstreamDNSServerIPAddr: text('Server for other names.'),
          secondaryUpstreamDNSServerIPAddr: text('Second server for other names.'),
        },
        'DNS in the sidecar.',
      ),
    ),
  },
  'Settings of sidecars.',
)

const TrafficSchema = struct(
  {
    interceptionMode: Type.Optional(
      oneOf(['iptables', 'ebpf', 'none'], 'Traffic interception mode. Defaults to iptables.'),
    ),
    enableEgress: bool('True: traffic to unknown destinations is allowed.'),
    outboundIPRangeExclusionList: textList('CIDR ranges whose outbound traffic bypasses the sidecar.'),
    outboundIPRangeInclusionList: textList(
      'If set, only outbound traffic to these CIDR ranges is redirected to the sidecar.',
    ),
    outboundPortExclusionList: portList('Ports whose outbound traffic bypasses the sidecar.'),
    inboundPortExclusionList: portList('Ports whose inbound traffic bypasses the sidecar.'),
    networkInterfaceExclusionList: textList('Network interfaces whose traffic bypasses the sidecar.'),
    http1PerRequestLoadBalancing: bool('True: HTTP/1 requests are balanced individually, not per connection.'),
    http2PerRequestLoadBalancing: bool(
      'True: HTTP/2 requests are balanced individually, not per connection. Defaults to true.',
    ),
    enablePermissiveTrafficPolicyMode: bool(
      'True: every workload of the mesh may call every service; SMI policies are ignored.',
    ),
    plaintextNamespaces: textList(
      'Namespaces in which pods without a sidecar exchange plaintext traffic with the mesh, during enrolment or withdrawal; * for all. Applies in permissive mode only.',
    ),
    networkGateway: Type.Optional(
      networkGateway(
        'Gateway for calls from machines in other networks to workloads in the network of the mesh. It forwards TLS connections by server name.',
      ),
    ),
    useHTTPSIngress: bool('Field of v1alpha1; accepted and ignored. Set it per backend in IngressBackend.'),
    inboundExternalAuthorization: Type.Optional(
      struct(
        {
          enable: bool('True: inbound requests are authorized by an external service.'),
          address: text('Host of the service.'),
          port: portOrNone('gRPC port of the service.'),
          statPrefix: text('Prefix of its metrics. Defaults to inboundExtAuthz.'),
          timeout: Type.Optional(duration('Timeout. Defaults to 1s.')),
          failureModeAllow: bool('True: requests are allowed while the service is unavailable.'),
        },
        'External authorization of inbound requests.',
      ),
    ),
    crossNamespace: Type.Optional(
      struct(
        {
          egress: bool('True: the sources of an Egress may be in any namespace, without a ReferenceGrant.'),
          egressGateway: bool(
            'True: an EgressGateway may send the traffic of every namespace through its gateways, without a ReferenceGrant.',
          ),
          accessCert: bool(
            'True: an AccessCert may use a name that IngressBackends and AccessControls of other namespaces trust, without a ReferenceGrant.',
          ),
          pluginConfig: bool('True: a PluginConfig may select services of any namespace, without a ReferenceGrant.'),
          pluginChain: bool('True: the selectors of a PluginChain may select workloads of every namespace.'),
        },
        'Kinds of objects that may refer to other namespaces without a ReferenceGrant, as in osm-edge.',
      ),
    ),
    escapedSlashes: Type.Optional(
      oneOf(
        ['Reject', 'Keep'],
        'Handling of requests with an escaped slash (%2F) or backslash (%5C) in the path: Reject answers 400; Keep forwards the path unchanged, and rules must allow every interpretation of it. Defaults to Reject.',
      ),
    ),
    keepUnderscoreHeaders: bool(
      'True: request headers are forwarded even if they equal a header in rules with `_` instead of `-`. Otherwise they are removed, because many application servers treat both as one header.',
    ),
    tcpIdleTimeout: Type.Optional(
      duration('Idle timeout of TCP connections; 0s for none. Defaults to sidecarTimeout, or else 1h.'),
    ),
    streamIdleTimeout: Type.Optional(
      duration('Idle timeout of HTTP requests; 0s for none. Defaults to sidecarTimeout, or else 5m.'),
    ),
    policyWithdrawalTimeout: Type.Optional(
      duration('Time until open connections are closed after their access is withdrawn. Defaults to 30s.'),
    ),
  },
  'Traffic management.',
)

const endpointProperties = {
  enable: bool('True: enabled.'),
  port: portOrNone('Port of the collector. Defaults to the port in the address, if any.'),
  address: text('Host of the collector, or host:port.'),
  endpoint: text('Path at the collector.'),
  sampledFraction: text('Share of requests between 0 and 1. Defaults to 1.0.'),
}

const ObservabilitySchema = struct(
  {
    osmLogLevel: text('Log level of the control plane. Defaults to info.'),
    enableDebugServer: bool('True: the controller serves debug pages.'),
    tracing: Type.Optional(
      struct(
        {
          ...endpointProperties,
          provider: Type.Optional(
            oneOf(['zipkin', 'opentelemetry'], 'Protocol of the collector, over HTTP. Defaults to zipkin.'),
          ),
        },
        'Collector of spans.',
      ),
    ),
    remoteLogging: Type.Optional(
      struct(
        {
          ...endpointProperties,
          level: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Level of detail: 0, 1 or 2.' })),
          authorization: text('Value of the Authorization header.'),
        },
        'Collector of request logs.',
      ),
    ),
  },
  'Logs, traces and debugging.',
)

const CertificateSchema = struct(
  {
    serviceCertValidityDuration: Type.Optional(
      duration(
        'Validity of service certificates. Defaults to 24h. A change applies to each certificate from its next rotation.',
      ),
    ),
    certKeyBitSize: Type.Optional(Type.Integer({ description: 'Size of RSA keys, 2048 to 4096. Defaults to 2048.' })),
    keyAlgorithm: Type.Optional(
      oneOf(
        ['ECDSA', 'RSA'],
        'Key algorithm of certificates. Defaults to ECDSA (P-256). certKeyBitSize applies to RSA.',
      ),
    ),
    serviceCertificates: Type.Optional(
      oneOf(
        ['shared', 'perProxy'],
        'Keys of service certificates. shared: the sidecars of a service account receive one certificate with its key. perProxy: each sidecar receives a certificate for the key of its proxy certificate, and no key is sent. Defaults to shared.',
      ),
    ),
    ingressGateway: Type.Optional(
      struct(
        {
          subjectAltNames: Type.Array(Type.String({ minLength: 1 }), {
            minItems: 1,
            description: 'Names in the certificate.',
          }),
          validityDuration: duration('Validity of the certificate.'),
          secret: secretRef('Secret for the certificate.'),
        },
        'Client certificate of the ingress gateway.',
      ),
    ),
  },
  'Certificates.',
)

/** Feature flags of MeshConfig. */
export const featureFlagNames = [
  'enableWASMStats',
  'enableEgressPolicy',
  'enableMulticlusterMode',
  'enableSnapshotCacheMode',
  'enableAsyncProxyServiceMapping',
  'enableIngressBackendPolicy',
  'enableAccessControlPolicy',
  'enableAccessCertPolicy',
  'enableSidecarActiveHealthChecks',
  'enableEnvoyActiveHealthChecks',
  'enableRetryPolicy',
  'enablePluginPolicy',
] as const

const flag = Type.Optional(Type.Boolean({ description: 'True: the feature is enabled.' }))
const FeatureFlagsSchema = struct(
  {
    enableWASMStats: flag,
    enableEgressPolicy: flag,
    enableMulticlusterMode: flag,
    enableSnapshotCacheMode: flag,
    enableAsyncProxyServiceMapping: flag,
    enableIngressBackendPolicy: flag,
    enableAccessControlPolicy: flag,
    enableAccessCertPolicy: flag,
    enableSidecarActiveHealthChecks: flag,
    enableEnvoyActiveHealthChecks: flag,
    enableRetryPolicy: flag,
    enablePluginPolicy: flag,
  } satisfies Record<(typeof featureFlagNames)[number], unknown>,
  'Feature flags.',
)

const chain = Type.Optional(
  Type.Array(
    struct(
      {
        plugin: Type.String({ minLength: 1, description: 'Name of the built-in stage or plugin.' }),
        priority: Type.Number({ description: 'Position in the chain; higher priorities run first.' }),
        disable: bool('True: the stage is disabled.'),
      },
      'A stage.',
    ),
    { description: 'Stages of the chain.' },
  ),
)
const PluginChainsSchema = struct(
  { 'inbound-tcp': chain, 'inbound-http': chain, 'outbound-tcp': chain, 'outbound-http': chain } satisfies Record<
    (typeof pluginChainNames)[number],
    unknown
  >,
  'Built-in stages of script-running sidecars.',
)

/** config.openservicemesh.io MeshConfig. Defaults are applied where the configuration is resolved, not here. */
export const MeshConfigSpecSchema = struct(
  {
    clusterSet: Type.Optional(
      struct(
        {
          properties: Type.Optional(
            Type.Array(
              struct(
                {
                  name: Type.String({ description: 'Name of the property.' }),
                  value: Type.String({ description: 'Value of the property.' }),
                },
                'A property.',
              ),
              { description: 'Properties of this cluster.' },
            ),
          ),
        },
        'The cluster among others.',
      ),
    ),
    sidecar: Type.Optional(SidecarSchema),
    repoServer: Type.Optional(
      struct(
        {
          ipaddr: Type.String({ description: 'Address of the repo.' }),
          codebase: Type.String({ description: 'Prefix of codebases.' }),
        },
        'A configuration repo outside the controller.',
      ),
    ),
    traffic: Type.Optional(TrafficSchema),
    observability: Type.Optional(ObservabilitySchema),
    certificate: Type.Optional(CertificateSchema),
    featureFlags: Type.Optional(FeatureFlagsSchema),
    pluginChains: Type.Optional(PluginChainsSchema),
  },
  'Configuration of the mesh.',
)
/** Spec of a MeshConfig, as written. */
export type MeshConfigSpec = Spec<typeof MeshConfigSpecSchema>
