import { allocationKey, resolveTargetPort } from '../endpoints/index.js'
import type { Snapshot } from '../snapshot/index.js'
import type { KindMap, WorkloadPort } from '../spec/index.js'

/** A port of a service, and the port of the workload that it leads to. */
export interface ServedPort {
  readonly service: { readonly namespace: string; readonly name: string }
  readonly port: number
  readonly targetPort: number
}

/** Ports of services that select the workload and lead to a port of it. */
export function servedPorts(
  snapshot: Snapshot,
  { metadata }: { readonly metadata: Pick<KindMap['Workload']['metadata'], 'namespace' | 'labels'> },
  ports: readonly WorkloadPort[],
): readonly ServedPort[] {
  return snapshot
    .servicesSelecting(metadata.namespace, metadata.labels)
    .flatMap(({ metadata: { namespace, name }, spec }) =>
      spec.ports.flatMap((port) => {
        const targetPort = resolveTargetPort(port, ports)
        if (targetPort === undefined || port.protocol !== 'TCP') return []
        return [{ service: { namespace, name }, port: port.port, targetPort }]
      }),
    )
}

/**
 * Keys of served ports, each with the key whose listener it has: ports of one service that lead to one port of the workload share that of the
 * lowest, since policies have one binding for all of them.
 */
export function inboundKeys(served: readonly ServedPort[]): ReadonlyMap<string, string> {
  const firstByTarget = new Map<string, string>()
  const sorted = [...served].sort((a, b) => a.port - b.port)
  return new Map(
    sorted.map(({ service, port, targetPort }) => {
      const key = allocationKey(service, port)
      const target = allocationKey(service, targetPort)
      const first = firstByTarget.get(target) ?? key
      firstByTarget.set(target, first)
      return [key, first]
    }),
  )
}

/**
 * Ports of the workload that some object opens to callers outside the mesh, by service and port of the workload. Each has one listener, whatever the
 * number of objects.
 */
export function openedKeys(snapshot: Snapshot, served: readonly ServedPort[]): readonly string[] {
  const opened = new Set(
    [...snapshot.list('IngressBackend'), ...snapshot.list('AccessControl')].flatMap(({ metadata, spec }) =>
      spec.backends.map(({ name, port }) => allocationKey({ namespace: metadata.namespace, name }, port.number)),
    ),
  )
  const keys = served.map(({ service, targetPort }) => allocationKey(service, targetPort))
  return [...new Set(keys)].filter((key) => opened.has(key)).sort()
}
