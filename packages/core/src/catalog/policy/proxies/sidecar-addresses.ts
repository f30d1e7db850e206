import type { ListenAddresses, ProbeBinding } from '@osm-ts/driver-api/policy'

/** Ports on which sidecars listen where the kernel redirects traffic to them. Fixed: firewall rules and probes of running pods name them. */
export const sidecarPorts = Object.freeze({
  admin: 15000,
  outbound: 15001,
  inbound: 15003,
  metrics: 15010,
  liveness: 15901,
  readiness: 15902,
  startup: 15903,
  dns: 5300,
})

/** Ports on which a sidecar may answer probes, those of its own readiness among them. */
export const probePorts = Object.freeze({ first: 15901, last: 15999 })

const ownPorts: ReadonlySet<number> = new Set(Object.values(sidecarPorts))

/** True for ports of the sidecar itself, at which no probe of a workload may be aimed. */
export function isSidecarPort(port: number): boolean {
  return ownPorts.has(port) || (port >= probePorts.first && port <= probePorts.last)
}

/** The one path of the gRPC health protocol: probes of two ports by it need two ports. */
export const GRPC_HEALTH_PATH = '/grpc.health.v1.Health/Check'

/** The nameserver of workloads whose sidecar answers DNS. Interception leads questions for it to the port of the sidecar. */
export const LOCAL_NAMESERVER = '127.0.0.153'

/** IP families of a workload. */
export type IpFamilies = readonly ('IPv4' | 'IPv6')[]

/** Every address of the machine; with IPv6 a listener takes IPv4 connections as well. */
export function anyAddress(families: IpFamilies): string {
  return families.includes('IPv6') ? '::' : '0.0.0.0'
}

/**
 * Where a sidecar listens in transparent mode. Injector and policy must agree on it.
 *
 * @param answersDns - true if it is to answer DNS
 */
export function transparentListenAddresses(families: IpFamilies, answersDns: boolean): ListenAddresses {
  const address = anyAddress(families)
  return {
    inbound: { address, port: sidecarPorts.inbound },
    outbound: { address, port: sidecarPorts.outbound },
    metrics: { address, port: sidecarPorts.metrics },
    admin: { address: '127.0.0.1', port: sidecarPorts.admin },
    ...(answersDns ? { dns: { address: LOCAL_NAMESERVER, port: sidecarPorts.dns } } : {}),
  }
}

/** Path under which a sidecar answers an HTTP probe, as OSM has it. */
export function probePath(probe: ProbeBinding['probe']): string {
  return `/osm-${probe}-probe`
}
