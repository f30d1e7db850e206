import type { KindMap, Problem } from '@osm-ts/core'
import { portProtocol, type WorkloadPort } from '@osm-ts/core'
import type { MeshService } from '@osm-ts/driver-api'
import type { Protocol } from '@osm-ts/driver-api/policy'

import type { StandaloneErrorCode } from '../errors.js'

/** One port of a service that workloads reach through a local port of their sidecar. */
export interface TcpServicePort {
  readonly service: MeshService
  readonly port: number
  /** Variable by which workloads are told. */
  readonly variable: string
}

/** Protocols that go through the forward proxy: their requests say where they want to. */
const PROXIED: ReadonlySet<Protocol> = new Set<Protocol>(['http', 'http2', 'grpc'])

const NOT_INHERITED = /^((http|https|ftp|all|no)_proxy|host|port(_.*)?|osm_tcp_.*)$/i

/** `OSM_TCP_<SERVICE>_<NAMESPACE>_<PORT>` in upper case, with everything that is no letter or digit as an underscore. */
export function tcpVariable({ namespace, name }: MeshService, port: number): string {
  return variableName(`OSM_TCP_${name}_${namespace}_${port}`)
}

/** `PORT_<NAME>` for a port with a name, else `PORT_<port>`. */
function portVariable({ name, port }: Pick<WorkloadPort, 'name' | 'port'>): string {
  return variableName(`PORT_${name ?? port}`)
}

function variableName(text: string): string {
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

/** Ports without those whose variable another one has already, which are problems. */
export function withoutClashes(ports: readonly TcpServicePort[]): {
  readonly ports: readonly TcpServicePort[]
  readonly problems: readonly Problem[]
} {
  const byVariable = new Map<string, TcpServicePort>()
  const problems: Problem[] = []
  const code: StandaloneErrorCode = 'OSM_STANDALONE_VARIABLE_CLASH'
  for (const port of ports) {
    const holder = byVariable.get(port.variable)
    if (holder === undefined) byVariable.set(port.variable, port)
    else
      problems.push({
        code,
        severity: 'warning',
        message: `workloads are not told of port ${port.port}: ${port.variable} stands for Service ${holder.service.namespace}/${holder.service.name} already; rename one of the two`,
        object: { kind: 'Service', ...port.service },
        field: 'metadata.name',
      })
  }
  return { ports: [...byVariable.values()], problems }
}

/** The environment of the caller that children inherit: without settings for proxies, which would lead past the sidecar, and without what the mesh tells. */
export function inheritedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const kept = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !NOT_INHERITED.test(entry[0]),
  )
  return Object.fromEntries(kept)
}

/** What tells a workload where to listen. */
export function portVariables(ports: readonly WorkloadPort[]): Readonly<Record<string, string>> {
  const listening = ({ port, localPort }: WorkloadPort): string => String(localPort ?? port)
  const [first] = ports
  return {
    ...(first !== undefined && { PORT: listening(first) }),
    ...Object.fromEntries(ports.map((port) => [portVariable(port), listening(port)])),
  }
}
