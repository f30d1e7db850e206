import { environmentName, portsOfVariables, type Problem, type TcpServicePort, type WorkloadPort } from '@osm-ts/core'

import type { StandaloneErrorCode } from '../errors.js'

const NOT_INHERITED = /^((http|https|ftp|all|no)_proxy|host|port(_.*)?|osm_tcp_.*)$/i

/** `PORT_<NAME>` for a port with a name, else `PORT_<port>`. */
function portVariable({ name, port }: Pick<WorkloadPort, 'name' | 'port'>): string {
  return environmentName(`PORT_${name ?? port}`)
}

/**
 * Ports without those whose variable is that of another one as well, which are problems.
 *
 * @param own - namespace of the workload, whose services come first
 */
export function withoutClashes(
  ports: readonly TcpServicePort[],
  own?: string,
): {
  readonly ports: readonly TcpServicePort[]
  readonly problems: readonly Problem[]
} {
  const { ports: kept, clashes } = portsOfVariables(ports, own)
  const code: StandaloneErrorCode = 'OSM_STANDALONE_VARIABLE_CLASH'
  const problems = clashes.map(({ port: { service, port, variable }, holder }): Problem => ({
    code,
    severity: 'warning',
    message:
      holder === undefined
        ? `only workloads of namespace ${service.namespace} are told of port ${port}: ${variable} would stand for another Service as well; rename one of them`
        : `workloads are not told of port ${port}: ${variable} stands for Service ${holder.service.namespace}/${holder.service.name} already; rename one of the two`,
    object: { kind: 'Service', ...service },
    field: 'metadata.name',
  }))
  return { ports: kept, problems }
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
