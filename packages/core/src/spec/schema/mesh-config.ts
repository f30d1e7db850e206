import { Type } from '@sinclair/typebox'

import { duration, freeObject, oneOf, portNumber, secretRef, struct, textMap, type Spec } from './common.js'
import type { pluginChainNames } from './plugin.js'

const bool = (description: string) => Type.Optional(Type.Boolean({ description }))
const text = (description: string) => Type.Optional(Type.String({ description }))
const textList = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))
const portList = (description: string) => Type.Optional(Type.Array(portNumber('A port.'), { description }))

// Nought stands for "not said", as it does in Go.
const portOrNone = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 65535, description: `${description} 0 counts as absent.` }))

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
    logLevel: Type.Optional(oneOf(sidecarLogLevels, 'Log level of sidecars; error when absent.')),
    maxDataPlaneConnections: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Sidecars that one controller serves at most; 0 means no limit.' }),
    ),
    sidecarClass: text('Default sidecar class: the name of a driver.'),
    ...images,
    envoyImage: text('Name of sidecarImage in OSM; holds for class envoy.'),
    envoyWindowsImage: text('Name of sidecarWindowsImage in OSM; holds for class envoy.'),
    sidecarDrivers: Type.Optional(
      Type.Array(
        struct(
          {
            sidecarName: Type.String({ minLength: 1, description: 'Name of the driver; also the sidecar class.' }),
            ...images,
            proxyServerPort: Type.Optional(portNumber('Port on which the proxy control plane of the driver listens.')),
            sidecarDisabledMTLS: bool(
              'Accepted for compatibility and never obeyed: traffic between sidecars is always mutual TLS.',
            ),
            config: Type.Optional(freeObject('Settings of the driver, checked by its own schema.')),
          },
          'A driver.',
        ),
        { description: 'Drivers that workloads may choose.' },
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
    configResyncInterval: Type.Optional(duration('Period of full resends; 0s turns them off.')),
    sidecarTimeout: Type.Optional(
      Type.Integer({
        description:
          'Seconds of idleness after which TCP connections and HTTP requests are ended. Absent or not positive: traffic.tcpIdleTimeout and traffic.streamIdleTimeout hold, or their defaults.',
      }),
    ),
    tlsMinProtocolVersion: Type.Optional(
      oneOf(tlsVersions, 'Lowest TLS version between sidecars; TLSv1_2 when absent.'),
    ),
    tlsMaxProtocolVersion: Type.Optional(
      oneOf(tlsVersions, 'Highest TLS version between sidecars; TLSv1_3 when absent.'),
    ),
    cipherSuites: textList('Cipher suites for TLS up to 1.2.'),
    ecdhCurves: textList('Curves for the key exchange.'),
    localProxyMode: Type.Optional(
      oneOf(['Localhost', 'PodIP'], 'Address at which the sidecar reaches its application; Localhost when absent.'),
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
      oneOf(['iptables', 'ebpf', 'none'], 'How traffic reaches the sidecar; iptables when absent.'),
    ),
    enableEgress: bool('True: traffic to unknown destinations passes through.'),
    outboundIPRangeExclusionList: textList('CIDR ranges whose outbound traffic bypasses the sidecar.'),
    outboundIPRangeInclusionList: textList(
      'When given, only outbound traffic to these CIDR ranges goes through the sidecar.',
    ),
    outboundPortExclusionList: portList('Ports whose outbound traffic bypasses the sidecar.'),
    inboundPortExclusionList: portList('Ports whose inbound traffic bypasses the sidecar.'),
    networkInterfaceExclusionList: textList('Network interfaces whose traffic bypasses the sidecar.'),
    http1PerRequestLoadBalancing: bool('True: HTTP/1 requests of one connection are balanced one by one.'),
    http2PerRequestLoadBalancing: bool(
      'True: HTTP/2 requests of one connection are balanced one by one; true when absent.',
    ),
    enablePermissiveTrafficPolicyMode: bool(
      'True: every workload of the mesh may reach every service; SMI policy is not read.',
    ),
    plaintextNamespaces: textList(
      'Namespaces whose services take and get plaintext where a sidecar is missing, while they are enrolled or withdrawn; * for all. Holds in permissive mode only.',
    ),
    useHTTPSIngress: bool('Of v1alpha1; accepted and not read. IngressBackend says it per backend.'),
    inboundExternalAuthorization: Type.Optional(
      struct(
        {
          enable: bool('True: inbound requests are authorized by an external service.'),
          address: text('Host of the service.'),
          port: portOrNone('gRPC port of the service.'),
          statPrefix: text('Prefix of its metrics; inboundExtAuthz when absent.'),
          timeout: Type.Optional(duration('Time to answer; 1s when absent.')),
          failureModeAllow: bool('True: requests pass when the service cannot be reached.'),
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
            'True: an AccessCert may have a name that IngressBackends and AccessControls of other namespaces trust, without a ReferenceGrant.',
          ),
          pluginConfig: bool('True: a PluginConfig may be for services of any namespace, without a ReferenceGrant.'),
          pluginChain: bool('True: the selectors of a PluginChain may select workloads of every namespace.'),
        },
        'Kinds whose objects act on other namespaces without the consent of those, as in osm-edge.',
      ),
    ),
    escapedSlashes: Type.Optional(
      oneOf(
        ['Reject', 'Keep'],
        'Requests whose path holds an escaped slash (%2F) or backslash (%5C): Reject answers 400; Keep forwards the path as it was sent, and rules must allow every reading of it. Reject when absent.',
      ),
    ),
    keepUnderscoreHeaders: bool(
      'True: request headers that differ from those that rules name in `_` for `-` alone reach the workload. They are removed otherwise: many application servers read both as one header.',
    ),
    tcpIdleTimeout: Type.Optional(
      duration(
        'Time without a byte after which a TCP connection is closed; 0s for never; sidecarTimeout, or else 1h, when absent.',
      ),
    ),
    streamIdleTimeout: Type.Optional(
      duration(
        'Time without a byte after which an HTTP request is ended; 0s for never; sidecarTimeout, or else 5m, when absent.',
      ),
    ),
    policyWithdrawalTimeout: Type.Optional(
      duration(
        'Time within which open connections are closed after the access that let them in was withdrawn; 30s when absent.',
      ),
    ),
  },
  'Traffic management.',
)

const endpointProperties = {
  enable: bool('True: it is on.'),
  port: portOrNone('Port of the collector; that of the address where it has one.'),
  address: text('Host of the collector; host:port is read too.'),
  endpoint: text('Path at the collector.'),
  sampledFraction: text('Share of requests between 0 and 1; 1.0 when absent.'),
}

const ObservabilitySchema = struct(
  {
    osmLogLevel: text('Log level of the control plane; info when absent.'),
    enableDebugServer: bool('True: the controller serves debug pages.'),
    tracing: Type.Optional(
      struct(
        {
          ...endpointProperties,
          provider: Type.Optional(
            oneOf(['zipkin', 'opentelemetry'], 'What the collector speaks, both over HTTP; zipkin when absent.'),
          ),
        },
        'Where spans are sent.',
      ),
    ),
    remoteLogging: Type.Optional(
      struct(
        {
          ...endpointProperties,
          level: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'How much is logged.' })),
          authorization: text('Value of the Authorization header.'),
        },
        'Where request logs are sent.',
      ),
    ),
  },
  'Logs, traces and debugging.',
)

const CertificateSchema = struct(
  {
    serviceCertValidityDuration: Type.Optional(duration('Validity of service certificates; 24h when absent.')),
    certKeyBitSize: Type.Optional(Type.Integer({ description: 'Size of RSA keys, 2048 to 4096; 2048 when absent.' })),
    keyAlgorithm: Type.Optional(
      oneOf(
        ['ECDSA', 'RSA'],
        'Key algorithm of certificates; ECDSA (P-256) when absent. certKeyBitSize applies to RSA.',
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
          secret: secretRef('Secret that the certificate is written to.'),
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

const flag = Type.Optional(Type.Boolean({ description: 'True: the feature is on.' }))
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
  'Switches for parts of the mesh.',
)

const chain = Type.Optional(
  Type.Array(
    struct(
      {
        plugin: Type.String({ minLength: 1, description: 'Name of the built-in stage or plugin.' }),
        priority: Type.Number({ description: 'Place in the chain; higher comes first.' }),
        disable: bool('True: the stage is left out.'),
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
