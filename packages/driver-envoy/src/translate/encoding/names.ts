import type { MeshService } from '@osm-ts/driver-api'
import type {
  EgressPart,
  HostAddress,
  InboundPart,
  IngressPart,
  OutboundPart,
  ProbeBinding,
} from '@osm-ts/driver-api/policy'

import { EGRESS_ROUTES_PREFIX } from '../../resources/drain-ids.js'
import { CALLERS_SECRET_PREFIX } from '../../resources/types.js'
import type { ClusterShare } from '../routing/weights.js'

/**
 * Names of xDS resources and of what is in them. They are part of what users know: dashboards, statistics and `config_dump` show them, and they
 * are those of OSM. Names that OSM has no equal for belong to explicit mode, where each binding has its own listener.
 */
export const names = {
  inboundListener: 'inbound-listener',
  outboundListener: 'outbound-listener',
  prometheusListener: 'inbound-prometheus-listener',
  boundInboundListener: (id: string) => `inbound-listener:${id}`,
  boundIngressListener: (id: string) => `ingress-listener:${id}`,
  boundOutboundListener: (id: string) => `outbound-listener:${id}`,
  probeListener: (probe: ProbeBinding['probe']) => `${probe}_listener`,

  inboundChain: ({ service, targetPort, protocol }: InboundPart) =>
    `inbound_${serviceName(service)}_${targetPort}_${protocol}`,
  outboundChain: ({ service, port, protocol }: OutboundPart) => `outbound_${serviceName(service)}_${port}_${protocol}`,
  sharedOutboundChain: (port: number, shard: string) => `outbound_${port}_http|${shard}`,
  ingressChain: ({ id, protocol }: IngressPart) => `ingress_${id.replaceAll('|', '_')}_${protocol}`,
  egressHttpChain: (port: number) => `egress-http.${port}`,
  egressChain: ({ protocol, port, id }: EgressPart) => `egress-${protocol}.${port}|${id}`,
  passthroughChain: 'outbound-egress-filter-chain',
  forwardProxyChain: 'outbound_http-proxy',
  tunnel: (gateways: readonly ClusterShare[]) =>
    `tunnel|${gateways.map(({ name, weight }) => `${name}=${weight}`).join(',') || 'none'}`,

  inboundRoutes: (port: number) => `rds-inbound.${port}`,
  outboundRoutes: (port: number) => `rds-outbound.${port}`,
  sharedRoutes: (port: number, shard: string) => `rds-outbound.${port}|${shard}`,
  /** Short, since listeners repeat it, and unique to the content. */
  sharedManager: (port: number, shard: string, version: string) => `hcm.${port}|${shard}|${version}`,
  serviceRoutes: ({ service, port }: OutboundPart) => `rds-outbound.${port}|${serviceName(service)}`,
  ingressRoutes: 'rds-ingress',
  egressRoutes: (port: number) => `${EGRESS_ROUTES_PREFIX}${port}`,
  forwardProxyRoutes: 'rds-outbound.http-proxy',

  inboundVirtualHost: (host: string) => `inbound_virtual-host|${host}`,
  outboundVirtualHost: (host: string) => `outbound_virtual-host|${host}`,
  ingressVirtualHost: (host: string) => `ingress_virtual-host|${host}`,
  egressVirtualHost: (host: string) => `egress_virtual-host|${host}`,

  callersSecret: (id: string) => `${CALLERS_SECRET_PREFIX}${id}`,
  localCluster: (id: string) => `${id}|local`,
  /** No cluster has this name, so that its share of requests is answered by an error. */
  missingCluster: 'missing-outbound',
  passthroughCluster: 'passthrough-outbound',
  forwardProxyCluster: 'forward-proxy-outbound',
  tunnelledCluster: (upstream: string, tunnel: string) => `${upstream}|${tunnel}`,
  externalAuthorizationCluster: ({ host, port }: HostAddress) => `ext-authz|${host}:${port}`,
  rateLimitCluster: ({ host, port }: HostAddress) => `rate-limit|${host}:${port}`,
  accessLogCluster: 'sidecar-access-log-cluster',
  metricsCluster: 'sidecar-metrics-cluster',
  tracingCluster: 'sidecar-tracing-cluster',
  quitCluster: 'sidecar-quit-cluster',
  probeCluster: (probe: ProbeBinding['probe']) => `${probe}_cluster`,
} as const

/** `<namespace>/<name>`. */
function serviceName({ namespace, name }: MeshService): string {
  return `${namespace}/${name}`
}

/** The full name of a service among the names that it is known under. */
export function fullHostName(service: MeshService, hosts: readonly string[]): string {
  const prefix = `${service.name}.${service.namespace}`
  const own = hosts.filter((host) => host === prefix || host.startsWith(`${prefix}.`))
  return (own.length > 0 ? own : [prefix]).reduce((longest, host) => (host.length > longest.length ? host : longest))
}
