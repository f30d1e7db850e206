import { LOCAL_NAMESERVER, type MeshConfig, type MeshDomains } from '@osm-ts/core'
import type { InjectorContext, SidecarPatch } from '@osm-ts/driver-api'

import type { PodSpec } from '../pod/pod.js'

/** As many as Kubernetes allows. */
const MOST_NAMESERVERS = 3

/** What a pod's DNS is made from. */
export interface PodDnsOptions {
  readonly patch: SidecarPatch
  readonly context: Pick<InjectorContext, 'interceptionMode' | 'podNamespace' | 'podOS'>
  readonly config: MeshConfig
  readonly domains: MeshDomains
  /** Nameservers of the cluster. */
  readonly nameservers: readonly string[]
}

/**
 * Members of a pod's `spec` that have it ask its sidecar. Empty where the sidecar does not answer, and where the pod has a DNS of its own.
 *
 * The servers that the sidecar passes other names on to be after it: it learns of them from there, and they answer before it runs. Without any the pod
 * keeps the DNS that it has.
 */
export function podDns(
  spec: Pick<PodSpec, 'dnsPolicy' | 'dnsConfig' | 'hostNetwork'>,
  { patch, context, config, domains, nameservers }: PodDnsOptions,
): Pick<PodSpec, 'dnsPolicy' | 'dnsConfig'> {
  const { enable, upstreams } = config.sidecar.localDNSProxy
  const answers = enable && patch.interception?.dnsPort !== undefined
  if (!answers || context.interceptionMode !== 'iptables' || context.podOS !== 'linux') return {}
  const isUsual = ['', 'ClusterFirst'].includes(spec.dnsPolicy ?? '') && spec.hostNetwork !== true
  const servers = upstreams.length > 0 ? upstreams : nameservers
  if (!isUsual || servers.length === 0) return {}
  const { nameservers: ownServers = [], searches: ownSearches = [], options = [] } = spec.dnsConfig ?? {}
  const { clusterDomain } = domains
  const searches = [`${context.podNamespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain]
  return {
    dnsPolicy: 'None',
    dnsConfig: {
      nameservers: unique([LOCAL_NAMESERVER, ...servers, ...ownServers]).slice(0, MOST_NAMESERVERS),
      searches: unique([...searches, ...ownSearches]),
      // As the DNS of a cluster has it.
      options: options.some(({ name }) => name === 'ndots') ? options : [{ name: 'ndots', value: '5' }, ...options],
    },
  }
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}
