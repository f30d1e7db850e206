import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import {
  ClusterSchema,
  Cluster_CustomClusterTypeSchema as CustomClusterTypeSchema,
  type Cluster_CustomClusterType as CustomClusterType,
  Cluster_DnsLookupFamily as LookupFamily,
  Cluster_LbPolicy as LbPolicy,
} from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ClusterConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster_pb.js'
import { type DnsCacheConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache_pb.js'
import { FilterConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/dynamic_forward_proxy/v3/dynamic_forward_proxy_pb.js'
import { FilterConfigSchema as SniFilterConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/sni_dynamic_forward_proxy/v3/sni_dynamic_forward_proxy_pb.js'
import { GetAddrInfoDnsResolverConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/network/dns_resolver/getaddrinfo/v3/getaddrinfo_dns_resolver_pb.js'

import { circuitBreakers } from '../upstreams/circuit-breakers.js'
import { duration, encode, type Init, pack } from '../encoding/encode.js'
import { httpProtocolOptions, OUTSIDE_IDLE_MS } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import type { Settings } from '../settings.js'

/** Names the cache; filter and cluster find each other by it and must describe it alike. */
function dnsCache(): Init<typeof DnsCacheConfigSchema> {
  return {
    name: 'forward-proxy',
    dnsLookupFamily: LookupFamily.V4_PREFERRED,
    // The system's own resolver, so that names mean the same as to the workload beside the proxy.
    typedDnsResolverConfig: {
      name: 'envoy.network.dns_resolver.getaddrinfo',
      typedConfig: pack(GetAddrInfoDnsResolverConfigSchema, {}),
    },
  }
}

/** The filter that resolves the host of a request. */
export function forwardProxyFilter(): Any {
  return pack(FilterConfigSchema, { implementationSpecifier: { case: 'dnsCacheConfig', value: dnsCache() } })
}

/** The filter that resolves the server name of a TLS connection. */
export function sniForwardProxyFilter(port: number): Any {
  return pack(SniFilterConfigSchema, {
    dnsCacheConfig: dnsCache(),
    portSpecifier: { case: 'portValue', value: port },
  })
}

/** A cluster whose hosts are what requests name. */
export function forwardProxyClusterType(): CustomClusterType {
  return create(CustomClusterTypeSchema, {
    name: 'envoy.clusters.dynamic_forward_proxy',
    typedConfig: pack(ClusterConfigSchema, {
      clusterImplementationSpecifier: { case: 'dnsCacheConfig', value: dnsCache() },
      // Envoy means checks of server names by TLS. This is plaintext: workloads that want TLS speak it themselves.
      allowInsecureClusterOptions: true,
    }),
  })
}

/** Explicit mode: where HTTP requests for hosts unknown to the mesh go, while global egress is on. */
export function forwardProxyCluster(settings: Settings): Uint8Array {
  return encode(ClusterSchema, {
    name: names.forwardProxyCluster,
    connectTimeout: duration(settings.mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    clusterDiscoveryType: { case: 'clusterType', value: forwardProxyClusterType() },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    typedExtensionProtocolOptions: httpProtocolOptions('http', settings.mesh.httpLimits, {
      idleTimeoutMs: OUTSIDE_IDLE_MS,
    }),
  })
}
