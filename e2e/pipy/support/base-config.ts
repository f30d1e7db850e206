import type { PipyConfig } from '@osm-ts/driver-pipy'

/** Name of the control plane. */
export const CONTROL_PLANE = 'repo.osm-system.cluster.local'
/** SNI name of the service behind the server's sidecar. */
export const SERVICE = 'server.demo.svc.cluster.local'

/** Service accounts of the tests. */
export type Account = 'client' | 'server' | 'other'

export function principalOf(account: Account): string {
  return `${account}.demo.cluster.local`
}

/** Common name of the certificate that a sidecar shows to the control plane. */
export function sidecarName(name: string): string {
  return `${name}-0.sidecar.${name}.demo`
}

/** A sidecar that does nothing but what is said, with the trust in one root. */
export function baseConfig(root: string, name: string, config: Partial<PipyConfig>): PipyConfig {
  return {
    format: 1,
    mode: 'explicit',
    trust: { roots: [root], versions: { min: 'TLS1.2', max: 'TLS1.3' }, ciphers: '', alpn: 'osm' },
    workload: { identity: `${name}.demo`, namespace: 'demo', kind: 'Workload', name, instance: `${name}-0` },
    listen: {},
    idleMs: 60_000,
    withdrawalMs: 30_000,
    accessLog: false,
    requestMetrics: true,
    egress: false,
    callers: { client: { names: [principalOf('client')] }, nobody: { names: [] } },
    served: [],
    ingress: [],
    called: [],
    outside: [],
    upstreams: {},
    probes: [],
    plugins: [],
    ...config,
  }
}
