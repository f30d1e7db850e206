import { resolveTargetPort, type KindMap, type Snapshot, type WorkloadPort } from '@osm-ts/core'

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

/** Ports that a workload declares, then those that only services know it to have. */
export function workloadPorts(snapshot: Snapshot, workload: KindMap['Workload']): readonly WorkloadPort[] {
  const declared = workload.spec.ports
  const known = new Set(declared.map(({ port }) => port))
  const targets = servedPorts(snapshot, workload, declared).map(({ targetPort }) => targetPort)
  return [...declared, ...[...new Set(targets)].filter((port) => !known.has(port)).map((port) => ({ port }))]
}
