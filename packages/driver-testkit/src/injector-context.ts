import type { InjectorContext, MeshConfigView, Value } from '@osm-ts/driver-api'
import { hostContracts } from '@osm-ts/driver-api/host'

/** The configuration of a mesh whose administrator has changed nothing. */
export const meshConfig: MeshConfigView = {
  meshName: 'osm',
  trustDomain: 'cluster.local',
  clusterDomain: 'cluster.local',
  sidecar: {
    logLevel: 'error',
    maxDataPlaneConnections: 0,
    configResyncIntervalMs: 0,
    tlsMinProtocolVersion: 'TLSv1_2',
    tlsMaxProtocolVersion: 'TLSv1_3',
    cipherSuites: ['ECDHE-ECDSA-AES128-GCM-SHA256'],
    ecdhCurves: ['P-256'],
    localProxyMode: 'Localhost',
    localDNSProxy: false,
  },
  policyWithdrawalTimeoutMs: 30_000,
  observability: { osmLogLevel: 'info', enableDebugServer: false },
  featureFlags: {},
}

/** What a host says of a workload of service account `books.v2` in namespace `shop`, whose traffic is redirected. */
export function injectorContext(changes: Partial<InjectorContext> = {}): InjectorContext {
  return {
    contract: hostContracts.max,
    meshName: 'osm',
    osmNamespace: 'osm-system',
    podNamespace: 'shop',
    pod: {},
    podOS: 'linux',
    // Branded strings of the host; any will do here.
    proxyUUID: 'c0ffee00-0000-4000-8000-000000000001' as InjectorContext['proxyUUID'],
    proxyCommonName:
      'c0ffee00-0000-4000-8000-000000000001.sidecar.books.v2.shop.cluster.local' as InjectorContext['proxyCommonName'],
    bootstrapCertificate: { chain: '', expiry: '2030-01-01T00:00:00Z', serialNumber: '1' },
    configurator: meshConfig,
    driverConfig: null,
    sidecarImage: 'registry.example/sidecar:1',
    pullPolicy: 'IfNotPresent',
    resources: { limits: { memory: '128Mi' } },
    logLevel: 'error',
    inboundPortExclusionList: [],
    outboundPortExclusionList: [],
    outboundIPRangeInclusionList: [],
    outboundIPRangeExclusionList: [],
    networkInterfaceExclusionList: [],
    interceptionMode: 'iptables',
    listen: {
      inbound: { address: '0.0.0.0', port: 15003 },
      outbound: { address: '0.0.0.0', port: 15001 },
      metrics: { address: '0.0.0.0', port: 15010 },
      admin: { address: '127.0.0.1', port: 15000 },
    },
    locality: { region: 'eu', zone: 'eu-1', subZone: '' },
    nativeSidecar: false,
    originalHealthProbes: [],
    controlPlane: {
      address: 'osm-controller.osm-system.svc.cluster.local',
      port: 15128,
      serverName: 'ads.osm-system.cluster.local',
    },
    trustBundle: [],
    dryRun: false,
    signal: new AbortController().signal,
    ...changes,
  }
}

/** Text with references, as a host would resolve it. */
export function resolveValue(value: Value): string {
  const part = (item: Exclude<Value, string>[number]): string =>
    typeof item === 'string' ? item : item.ref === 'file' ? `/etc/sidecar/${item.path}` : `<${item.field}>`
  return typeof value === 'string' ? value : value.map(part).join('')
}
