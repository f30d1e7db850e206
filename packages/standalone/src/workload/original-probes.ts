import type { KindMap, Probe, WorkloadPort } from '@osm-ts/core'
import type { OriginalHealthProbe } from '@osm-ts/driver-api'

const KINDS = ['liveness', 'readiness', 'startup'] as const
const DEFAULT_TIMEOUT_S = 1

/** Health probes of a workload as drivers see them. Commands are run beside the workload and don't concern a sidecar. */
export function originalProbes({ metadata, spec }: KindMap['Workload']): readonly OriginalHealthProbe[] {
  return KINDS.flatMap((kind) => {
    const probe = spec.probes?.[kind]
    const question = probe && probeQuestion(probe, spec.ports)
    if (question === undefined) return []
    return [
      { container: metadata.name, kind, ...question, timeoutMs: (probe?.timeoutSeconds ?? DEFAULT_TIMEOUT_S) * 1000 },
    ]
  })
}

type Question = Omit<OriginalHealthProbe, 'container' | 'kind' | 'timeoutMs'>

function probeQuestion({ httpGet, tcpSocket, grpc }: Probe, ports: readonly WorkloadPort[]): Question | undefined {
  if (httpGet !== undefined) {
    const port = portNumber(httpGet.port, ports)
    if (port === undefined) return undefined
    const headers = httpGet.httpHeaders ?? []
    return { type: httpGet.scheme === 'HTTPS' ? 'https' : 'http', port, path: httpGet.path ?? '/', headers }
  }
  if (grpc !== undefined)
    return { type: 'grpc', port: grpc.port, ...(grpc.service !== undefined && { service: grpc.service }) }
  const port = tcpSocket && portNumber(tcpSocket.port, ports)
  return port === undefined ? undefined : { type: 'tcp', port }
}

function portNumber(port: number | string, ports: readonly WorkloadPort[]): number | undefined {
  return typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.port
}
