import { type KindMap, servedPorts, type Snapshot, type WorkloadPort } from '@osm-ts/core'

/** Ports that a workload declares, then those that only services know it to have. */
export function workloadPorts(snapshot: Snapshot, workload: KindMap['Workload']): readonly WorkloadPort[] {
  const declared = workload.spec.ports
  const known = new Set(declared.map(({ port }) => port))
  const targets = servedPorts(snapshot, workload, declared).map(({ targetPort }) => targetPort)
  return [...declared, ...[...new Set(targets)].filter((port) => !known.has(port)).map((port) => ({ port }))]
}
