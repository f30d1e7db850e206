import { OsmError } from '../errors.js'
import type { InjectorContext } from '../injector-context.js'
import type { ListenAddresses, SocketAddress } from '../policy/parts.js'
import type { EnvironmentVariable, InterceptionNeeds, SidecarPort } from '../sidecar-patch.js'

/** The user that sidecars run as, whose traffic interception leaves alone. */
export const PROXY_UID = 1500

/** Ports of probe listeners and of the agent, which a kubelet reaches without TLS. */
const PROBE_PORTS = [15901, 15902, 15903, 15904]

/**
 * `<service account>.<namespace>` of a sidecar, from the common name `<uuid>.sidecar.<service account>.<namespace>.<trust domain>` of its certificate.
 *
 * @throws OsmError with code `OSM_DRIVER_PATCH` if the name is another one
 */
export function sidecarIdentity({ proxyUUID, proxyCommonName, configurator }: InjectorContext): string {
  const prefix = `${proxyUUID}.sidecar.`
  const suffix = `.${configurator.trustDomain}`
  if (!proxyCommonName.startsWith(prefix) || !proxyCommonName.endsWith(suffix)) {
    throw new OsmError('OSM_DRIVER_PATCH', `the proxy's name ${proxyCommonName} is not ${prefix}<identity>${suffix}`)
  }
  return proxyCommonName.slice(prefix.length, -suffix.length)
}

/** What sidecars know of their workload, under the names that OSM gives it. */
export function workloadEnvironment(): readonly EnvironmentVariable[] {
  return [
    { name: 'POD_UID', value: [{ ref: 'workload', field: 'uid' }] },
    { name: 'POD_NAME', value: [{ ref: 'workload', field: 'instance' }] },
    { name: 'POD_NAMESPACE', value: [{ ref: 'workload', field: 'namespace' }] },
    { name: 'POD_IP', value: [{ ref: 'workload', field: 'address' }] },
    { name: 'SERVICE_ACCOUNT', value: [{ ref: 'workload', field: 'serviceAccount' }] },
  ]
}

/** Ports of a sidecar that others may know of, under the names that OSM gives them. */
export function sidecarPorts({ admin, inbound, metrics }: ListenAddresses): readonly SidecarPort[] {
  const port = (name: string, listen: SocketAddress | undefined): readonly SidecarPort[] =>
    listen === undefined ? [] : [{ name, port: listen.port, protocol: 'TCP' }]
  return [...port('proxy-admin', admin), ...port('proxy-inbound', inbound), ...port('proxy-metrics', metrics)]
}

/**
 * What a sidecar that runs as {@link PROXY_UID} needs of interception; undefined if there is none.
 *
 * @param ipv6 - false if the sidecar handles IPv4 only
 * @throws OsmError with code `OSM_DRIVER_PATCH` if the host gave no addresses for redirected connections
 */
export function interceptionNeeds(
  { interceptionMode, listen }: InjectorContext,
  ipv6: boolean,
): InterceptionNeeds | undefined {
  if (interceptionMode === 'none') return undefined
  const { inbound, outbound, metrics } = listen
  if (inbound === undefined || outbound === undefined) {
    throw new OsmError('OSM_DRIVER_PATCH', 'the host gave the proxy no addresses for redirected connections')
  }
  return {
    inboundPort: inbound.port,
    outboundPort: outbound.port,
    proxyUid: PROXY_UID,
    excludedInboundPorts: [...(metrics === undefined ? [] : [metrics.port]), ...PROBE_PORTS].sort((a, b) => a - b),
    ipv6,
  }
}
