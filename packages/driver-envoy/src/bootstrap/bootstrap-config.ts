import { create, createRegistry, type JsonValue, toJson } from '@bufbuild/protobuf'
import type { InjectorContext, SidecarConfigView, WorkloadApiSocket } from '@osm-ts/driver-api'
import type { SocketAddress } from '@osm-ts/driver-api/policy'
import { BootstrapSchema } from '@osm-ts/envoy-api/envoy/config/bootstrap/v3/bootstrap_pb.js'
import { Cluster_DiscoveryType, type ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import {
  ApiConfigSource_ApiType as ApiType,
  ApiVersion,
  type ConfigSourceSchema,
} from '@osm-ts/envoy-api/envoy/config/core/v3/config_source_pb.js'
import type { OverloadManagerSchema } from '@osm-ts/envoy-api/envoy/config/overload/v3/overload_pb.js'
import { InternalListenerSchema } from '@osm-ts/envoy-api/envoy/extensions/bootstrap/internal_listener/v3/internal_listener_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { DownstreamConnectionsConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/resource_monitors/downstream_connections/v3/downstream_connections_pb.js'
import { SubjectAltNameMatcher_SanType as SanType } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import { UpstreamTlsContextSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { HttpProtocolOptionsSchema } from '@osm-ts/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js'
import type { StringMatcherSchema } from '@osm-ts/envoy-api/envoy/type/matcher/v3/string_pb.js'

import { socketAddress } from '../translate/encoding/address.js'
import { hostCluster } from '../translate/upstreams/cluster.js'
import { adsSource, WORKLOAD_API_CLUSTER } from '../translate/encoding/config-source.js'
import { duration, type Init, oneOf, pack } from '../translate/encoding/encode.js'
import { tlsParameters } from '../translate/access/tls.js'
import type { EnvoyConfig } from './driver-config.js'
import { readyCluster, readyListener } from './ready-listener.js'
import { CERTIFICATE_SECRET, VALIDATION_SECRET } from './secret-files.js'
import { files, KEY_FILE_METADATA } from './text-with-files.js'

/** Name of the cluster of the control plane. */
const CONTROL_PLANE_CLUSTER = 'osm-controller'

/**
 * Largest RE2 program of a pattern. Envoy's own limit of 100 is less than ordinary path patterns need; without any limit, one pattern could take
 * megabytes in every sidecar. A larger one is refused with its name, and what was in force stays.
 */
const MAX_REGEX_PROGRAM_SIZE = 4096

/**
 * Header fields that repeat are one value to rules, joined by commas, as they are to applications (RFC 9110, section 5.3). Envoy would let a request in
 * if any one of them fits, whatever the application makes of the others.
 */
const WHOLE_HEADERS = {
  'envoy.reloadable_features.match_headers_individually': false,
  'envoy.reloadable_features.rbac_match_headers_individually': false,
}

/** More connections than file descriptors that a container usually has. Envoy warns at each start if there is no limit at all. */
const MAX_CONNECTIONS = 50_000n

/**
 * Statistics of clusters that nothing reads: in a mesh of 1,000 services they are three of four, 5 MB of each scrape and 13 MB of each sidecar (measured). Refused
 * updates are reported to the control plane anyway.
 */
const unreadStatistics = [
  'assignment_.*',
  String.raw`circuit_breakers\.high\..*`,
  String.raw`client_ssl_socket_factory\..*`,
  String.raw`default\.total_match_count`,
  'init_fetch_timeout',
  'lb_.*',
  'max_host_weight',
  String.raw`ssl\.certificate\..*`,
  String.raw`ssl\.ocsp_.*`,
  'update_.*',
  'version.*',
  'warming_state',
]

/** What the bootstrap configuration depends on. */
export type BootstrapContext = Pick<InjectorContext, 'controlPlane' | 'proxyCommonName' | 'locality'> & {
  readonly admin: SocketAddress
  /** Address on which others may ask whether Envoy is ready; absent: only the machine itself may, of its administration interface. */
  readonly readyAddress?: string
  readonly sidecar: SidecarConfigView
  readonly config: EnvoyConfig
  /** Present: where the SPIFFE Workload API gives the service certificate out. */
  readonly workloadApi?: WorkloadApiSocket
}

/** Envoy's bootstrap configuration: where the control plane is and how to prove who is who. Everything else comes from there. */
export function bootstrapConfig(context: BootstrapContext): JsonValue {
  const bootstrap = create(BootstrapSchema, {
    node: {
      id: context.proxyCommonName,
      locality: context.locality,
      metadata: { [KEY_FILE_METADATA]: files.privateKey },
    },
    admin: { address: socketAddress(context.admin) },
    dynamicResources: {
      adsConfig: {
        apiType: context.config.xds === 'delta' ? ApiType.DELTA_GRPC : ApiType.GRPC,
        transportApiVersion: ApiVersion.V3,
        setNodeOnFirstMessageOnly: true,
        grpcServices: [
          {
            targetSpecifier: {
              case: 'envoyGrpc',
              value: {
                clusterName: CONTROL_PLANE_CLUSTER,
                // Thousands of sidecars lose a controller at the same moment; Envoy spreads them over this range at random.
                retryPolicy: { retryBackOff: { baseInterval: duration(500), maxInterval: duration(10_000) } },
              },
            },
          },
        ],
      },
      cdsConfig: adsSource(),
      ldsConfig: adsSource(),
    },
    staticResources: {
      clusters: [
        controlPlaneCluster(context),
        ...(context.readyAddress === undefined ? [] : [readyCluster(context.admin)]),
        ...(context.workloadApi === undefined ? [] : [workloadApiCluster(context.workloadApi)]),
      ],
      listeners: context.readyAddress === undefined ? [] : [readyListener(context.readyAddress)],
    },
    layeredRuntime: {
      layers: [
        {
          name: 'mesh',
          layerSpecifier: {
            case: 'staticLayer',
            value: { 're2.max_program_size.error_level': MAX_REGEX_PROGRAM_SIZE, ...WHOLE_HEADERS },
          },
        },
      ],
    },
    statsConfig: {
      statsMatcher: {
        statsMatcher: { case: 'exclusionList', value: { patterns: unreadStatistics.map(inEveryCluster) } },
      },
    },
    // Most clusters of a mesh are never called by most proxies: their statistics come to be with the first call.
    deferredStatOptions: { enableDeferredCreationStats: true },
    // Nothing but scrapes reads them.
    statsFlush: { case: 'statsFlushOnAdmin', value: true },
    overloadManager: overloadManager(),
    // Tunnels to egress gateways begin at listeners inside the proxy, which it has to be told beforehand that there may be.
    bootstrapExtensions: [{ name: 'envoy.bootstrap.internal_listener', typedConfig: pack(InternalListenerSchema, {}) }],
  })
  const registry = createRegistry(
    UpstreamTlsContextSchema,
    HttpProtocolOptionsSchema,
    DownstreamConnectionsConfigSchema,
    HttpConnectionManagerSchema,
    RouterSchema,
    InternalListenerSchema,
  )
  return toJson(BootstrapSchema, bootstrap, { registry })
}

function inEveryCluster(statistic: string): Init<typeof StringMatcherSchema> {
  return {
    matchPattern: { case: 'safeRegex', value: { regex: String.raw`cluster\..*\.${statistic}` } },
  }
}

function controlPlaneCluster({ controlPlane, sidecar }: BootstrapContext): Init<typeof ClusterSchema> {
  return {
    ...hostCluster(CONTROL_PLANE_CLUSTER, controlPlane.address, controlPlane.port),
    connectTimeout: duration(5_000),
    typedExtensionProtocolOptions: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': pack(HttpProtocolOptionsSchema, {
        upstreamProtocolOptions: {
          case: 'explicitHttpConfig',
          value: {
            protocolConfig: {
              case: 'http2ProtocolOptions',
              // A controller that is gone without a word is noticed within 40 seconds.
              value: { connectionKeepalive: { interval: duration(30_000), timeout: duration(10_000) } },
            },
          },
        },
      }),
    },
    upstreamConnectionOptions: { tcpKeepalive: { keepaliveTime: 60, keepaliveInterval: 5, keepaliveProbes: 5 } },
    transportSocket: {
      name: 'envoy.transport_sockets.tls',
      configType: {
        case: 'typedConfig',
        value: pack(UpstreamTlsContextSchema, controlPlaneTls(controlPlane, sidecar)),
      },
    },
  }
}

/** Not TLS: the agent knows the process at the other end of a socket by asking the kernel. */
function workloadApiCluster({ socketPath }: WorkloadApiSocket): Init<typeof ClusterSchema> {
  return {
    name: WORKLOAD_API_CLUSTER,
    clusterDiscoveryType: oneOf('type', Cluster_DiscoveryType.STATIC),
    connectTimeout: duration(1_000),
    loadAssignment: {
      clusterName: WORKLOAD_API_CLUSTER,
      endpoints: [
        {
          lbEndpoints: [
            {
              hostIdentifier: oneOf('endpoint', {
                address: { address: { case: 'pipe' as const, value: { path: socketPath } } },
              }),
            },
          ],
        },
      ],
    },
    typedExtensionProtocolOptions: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': pack(HttpProtocolOptionsSchema, {
        upstreamProtocolOptions: {
          case: 'explicitHttpConfig',
          value: { protocolConfig: { case: 'http2ProtocolOptions', value: {} } },
        },
      }),
    },
  }
}

function controlPlaneTls(
  { serverName }: InjectorContext['controlPlane'],
  sidecar: SidecarConfigView,
): Init<typeof UpstreamTlsContextSchema> {
  return {
    sni: serverName,
    commonTlsContext: {
      tlsParams: tlsParameters({
        // Versions below 1.2 close the data plane. They must not close this connection too: over it comes the way back.
        minVersion: sidecar.tlsMinProtocolVersion === 'TLSv1_3' ? 'TLSv1_3' : 'TLSv1_2',
        maxVersion: sidecar.tlsMaxProtocolVersion === 'TLSv1_2' ? 'TLSv1_2' : 'TLSv1_3',
        cipherSuites: sidecar.cipherSuites,
        ecdhCurves: sidecar.ecdhCurves,
      }),
      alpnProtocols: ['h2'],
      tlsCertificateSdsSecretConfigs: [{ name: CERTIFICATE_SECRET, sdsConfig: fileSource(files.certificateSecret) }],
      validationContextType: oneOf('combinedValidationContext', {
        defaultValidationContext: {
          matchTypedSubjectAltNames: [
            { sanType: SanType.DNS, matcher: { matchPattern: { case: 'exact' as const, value: serverName } } },
          ],
        },
        validationContextSdsSecretConfig: { name: VALIDATION_SECRET, sdsConfig: fileSource(files.validationSecret) },
      }),
    },
  }
}

function fileSource(path: string): Init<typeof ConfigSourceSchema> {
  return {
    configSourceSpecifier: oneOf('pathConfigSource', { path }),
    resourceApiVersion: ApiVersion.V3,
  }
}

function overloadManager(): Init<typeof OverloadManagerSchema> {
  return {
    resourceMonitors: [
      {
        name: 'envoy.resource_monitors.global_downstream_max_connections',
        configType: {
          case: 'typedConfig',
          value: pack(DownstreamConnectionsConfigSchema, { maxActiveDownstreamConnections: MAX_CONNECTIONS }),
        },
      },
    ],
  }
}
