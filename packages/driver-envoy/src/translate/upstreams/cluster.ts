import { isIP } from 'node:net'
import type {
  ActiveHealthCheck,
  Discovery,
  LoadBalancing,
  Protocol,
  SocketAddress,
  UpstreamPart,
} from '@osm-ts/driver-api/policy'
import { HEALTH_CHECK_HEADER } from '@osm-ts/driver-api'
import {
  Cluster_DiscoveryType as DiscoveryType,
  Cluster_DnsLookupFamily as LookupFamily,
  Cluster_LbPolicy as LbPolicy,
  ClusterSchema,
} from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import type { HealthCheckSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/health_check_pb.js'
import { CodecClientType } from '@osm-ts/envoy-api/envoy/type/v3/http_pb.js'

import { socketAddress } from '../encoding/address.js'
import { circuitBreakers } from './circuit-breakers.js'
import { adsSource } from '../encoding/config-source.js'
import { duration, encode, type Init } from '../encoding/encode.js'
import { forwardProxyClusterType } from '../egress/forward-proxy.js'
import { httpProtocolOptions, isHttp, OUTSIDE_IDLE_MS } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import { plaintextSockets } from './plaintext.js'
import type { Settings } from '../settings.js'
import { meshClientTls, originatedTls } from '../access/tls.js'

type ClusterInit = Init<typeof ClusterSchema>

/**
 * A sidecar closes idle connections to its workload before the workload does: servers close them after 2 to 5 seconds (gunicorn, Node, Apache, uvicorn), and a
 * request that is sent at that moment is lost. A new connection over loopback costs little.
 */
const WORKLOAD_IDLE_MS = 1_000

/** The cluster of an upstream. */
export function upstreamCluster(part: UpstreamPart, settings: Settings): Uint8Array {
  const transportSocket = transportSocketTo(part, settings)
  return encode(ClusterSchema, {
    name: part.id,
    connectTimeout: duration(part.connectTimeoutMs ?? settings.mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(part.limits),
    typedExtensionProtocolOptions: httpProtocolOptions(part.protocol, settings.mesh.httpLimits, {
      maxRequestsPerConnection: part.limits?.maxRequestsPerConnection,
      ...(part.tls.mode !== 'mesh' && { idleTimeoutMs: OUTSIDE_IDLE_MS }),
    }),
    // What is to be encrypted and can't be gets no address, never plaintext.
    ...(part.tls.mode !== 'none' && transportSocket === undefined ? staticCluster(part.id, []) : discovery(part)),
    ...balancing(part.discovery, part.loadBalancing),
    ...(transportSocket === undefined ? {} : { transportSocket }),
    transportSocketMatches: plaintextSockets(part.tls),
    ...(part.healthCheck === undefined ? {} : { healthChecks: [healthCheck(part.healthCheck, part)] }),
  })
}

/** How an upstream is spoken to; undefined: in plaintext, or not at all where it requests TLS that this driver has no certificates for. */
export function transportSocketTo({ tls }: UpstreamPart, { trust }: Settings): ClusterInit['transportSocket'] {
  switch (tls.mode) {
    case 'mesh':
      return meshClientTls(tls.serverName, tls.principals, trust)
    case 'originate':
      return originatedTls(tls, trust)
    case 'none':
      return undefined
  }
}

/** The cluster through which inbound traffic of a service port reaches the application. */
export function localCluster(id: string, local: SocketAddress, protocol: Protocol, settings: Settings): Uint8Array {
  return encode(ClusterSchema, {
    ...staticCluster(names.localCluster(id), [local]),
    connectTimeout: duration(settings.mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    typedExtensionProtocolOptions: httpProtocolOptions(protocol, settings.mesh.httpLimits, {
      ...(protocol === 'http' && { idleTimeoutMs: WORKLOAD_IDLE_MS }),
    }),
  })
}

/** A cluster whose addresses are known. */
export function staticCluster(
  name: string,
  addresses: readonly SocketAddress[],
): ClusterInit & { readonly name: string } {
  const sorted = [...addresses].sort((a, b) =>
    a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port,
  )
  return {
    name,
    clusterDiscoveryType: { case: 'type', value: DiscoveryType.STATIC },
    loadAssignment: {
      clusterName: name,
      endpoints: [
        {
          lbEndpoints: sorted.map((address) => ({
            hostIdentifier: { case: 'endpoint' as const, value: { address: socketAddress(address) } },
          })),
        },
      ],
    },
  }
}

/** A cluster of one host, by address or by name. */
export function hostCluster(name: string, host: string, port: number): ClusterInit & { readonly name: string } {
  const cluster = staticCluster(name, [{ address: host, port }])
  if (isIP(host) !== 0) return cluster
  return {
    ...cluster,
    clusterDiscoveryType: { case: 'type', value: DiscoveryType.STRICT_DNS },
    // Envoy's own choice would take an IPv6 address wherever a name has one, reachable or not.
    dnsLookupFamily: LookupFamily.V4_PREFERRED,
  }
}

/** The cluster of destinations that the mesh does not know, while global egress is on. */
export function passthroughCluster(settings: Settings): Uint8Array {
  return encode(ClusterSchema, {
    name: names.passthroughCluster,
    connectTimeout: duration(settings.mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    clusterDiscoveryType: { case: 'type', value: DiscoveryType.ORIGINAL_DST },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    typedExtensionProtocolOptions: httpProtocolOptions('http', settings.mesh.httpLimits, {
      idleTimeoutMs: OUTSIDE_IDLE_MS,
    }),
  })
}

function discovery(part: UpstreamPart): ClusterInit {
  const source = part.discovery
  switch (source.kind) {
    case 'endpoints':
      return {
        clusterDiscoveryType: { case: 'type', value: DiscoveryType.EDS },
        edsClusterConfig: { edsConfig: adsSource() },
      }
    case 'static':
      return staticCluster(part.id, source.addresses)
    case 'dns':
      return hostCluster(part.id, source.host, source.port)
    case 'originalDestination':
      return { clusterDiscoveryType: { case: 'type', value: DiscoveryType.ORIGINAL_DST } }
    case 'forwardProxy':
      return { clusterDiscoveryType: { case: 'clusterType', value: forwardProxyClusterType() } }
  }
}

function balancing(source: Discovery, { policy }: LoadBalancing): ClusterInit {
  // These clusters choose the host themselves, from the connection or the request.
  if (source.kind === 'originalDestination' || source.kind === 'forwardProxy')
    return { lbPolicy: LbPolicy.CLUSTER_PROVIDED }
  switch (policy) {
    case 'round-robin':
      return { lbPolicy: LbPolicy.ROUND_ROBIN }
    case 'least-request':
      return { lbPolicy: LbPolicy.LEAST_REQUEST }
    case 'hash':
      // Routes hash the source address for every cluster; only those with this balancer look at it.
      return { lbPolicy: LbPolicy.MAGLEV }
  }
}

function healthCheck(check: ActiveHealthCheck, { protocol, tls }: UpstreamPart): Init<typeof HealthCheckSchema> {
  return {
    timeout: duration(check.timeoutMs),
    interval: duration(check.intervalMs),
    // Envoy would probe a cluster without traffic once a minute, so that an endpoint that was not up yet stayed out for that long.
    noTrafficInterval: duration(check.intervalMs),
    unhealthyThreshold: check.unhealthyThreshold,
    healthyThreshold: check.healthyThreshold,
    healthChecker:
      check.type === 'tcp' || !isHttp(protocol)
        ? { case: 'tcpHealthCheck', value: {} }
        : {
            case: 'httpHealthCheck',
            value: {
              path: check.path ?? '/',
              // Envoy would give the name of the cluster, which is not a valid host name.
              ...(tls.mode === 'mesh' ? { host: tls.serverName } : {}),
              codecClientType: protocol === 'http' ? CodecClientType.HTTP1 : CodecClientType.HTTP2,
              requestHeadersToAdd: [{ header: { key: HEALTH_CHECK_HEADER, value: '1' } }],
            },
          },
  }
}
