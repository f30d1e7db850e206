import type { MeshService } from '@osm-ts/driver-api'
import type { Protocol } from '@osm-ts/driver-api/policy'

import { type KindMap, portProtocol } from '../spec/index.js'

/** One port of a service that workloads reach through a local port of their sidecar. */
export interface TcpServicePort {
  readonly service: MeshService
  readonly port: number
  /** Variable by which workloads are told. */
  readonly variable: string
}

/** Protocols that go through the forward proxy: their requests say where they want to. */
const PROXIED: ReadonlySet<Protocol> = new Set<Protocol>(['http', 'http2', 'grpc'])

/** `OSM_TCP_<SERVICE>_<NAMESPACE>_<PORT>` in upper case, with everything that is not a letter or digit as an underscore. */
export function tcpVariable({ namespace, name }: MeshService, port: number): string {
  return environmentName(`OSM_TCP_${name}_${namespace}_${port}`)
}

/** A name of an environment variable: upper case, with everything that is not a letter or digit as an underscore. */
export function environmentName(text: string): string {
  return text.toUpperCase().replace(/[^A-Z0-9]/g, '_')
}

/** Service ports that workloads can't reach by a forward proxy for HTTP. */
export function tcpServicePorts(services: readonly KindMap['Service'][]): readonly TcpServicePort[] {
  return services.flatMap(({ metadata: { namespace, name }, spec }) => {
    if (spec.type === 'ExternalName') return []
    const ports = spec.ports.filter((port) => port.protocol === 'TCP' && !PROXIED.has(portProtocol(port).protocol))
    return [...new Set(ports.map(({ port }) => port))].map((port) => ({
      service: { namespace, name },
      port,
      variable: tcpVariable({ namespace, name }, port),
    }))
  })
}

/** A port that has no variable, because another one has the same. */
export interface VariableClash {
  readonly port: TcpServicePort
  /** The port that has the variable; absent where none has. */
  readonly holder?: TcpServicePort
}

/**
 * The port of each variable, and those without one. Names of different Services can become the same variable, and a tenant chooses the names of its Services. So a port of
 * the workload's own namespace has it before others, then the only one that is in use. Of others none has it: no Service can receive what is meant for another.
 *
 * @param own - namespace of the workload
 * @param isInUse - whether the workload has a listener for the port already
 */
export function portsOfVariables(
  ports: readonly TcpServicePort[],
  own?: string,
  isInUse: (port: TcpServicePort) => boolean = () => false,
): { readonly ports: readonly TcpServicePort[]; readonly clashes: readonly VariableClash[] } {
  const groups = new Map<string, TcpServicePort[]>()
  for (const port of ports) groups.set(port.variable, [...(groups.get(port.variable) ?? []), port])
  const holders: TcpServicePort[] = []
  const clashes: VariableClash[] = []
  for (const group of groups.values()) {
    const choices = [group, group.filter(({ service }) => service.namespace === own), group.filter(isInUse)]
    const [holder] = choices.find(({ length }) => length === 1) ?? []
    if (holder !== undefined) holders.push(holder)
    for (const port of group) if (port !== holder) clashes.push({ port, ...(holder && { holder }) })
  }
  const isOwn = ({ service }: TcpServicePort): boolean => service.namespace === own
  return { ports: [...holders.filter(isOwn), ...holders.filter((port) => !isOwn(port))], clashes }
}

/**
 * Ports in the order in which they get a listener: those of the own namespace, then the first of every other namespace before the second of any. Of one
 * namespace those come first that have a listener.
 */
export function inListenerOrder(
  ports: readonly TcpServicePort[],
  own: string,
  hasListener: (port: TcpServicePort) => boolean,
): readonly TcpServicePort[] {
  const counts = new Map<string, number>()
  const ranked = [...ports.filter(hasListener), ...ports.filter((port) => !hasListener(port))].map((port) => {
    const { namespace } = port.service
    const rank = counts.get(namespace) ?? 0
    counts.set(namespace, rank + 1)
    return { port, rank: namespace === own ? -1 : rank }
  })
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ port }) => port)
}
