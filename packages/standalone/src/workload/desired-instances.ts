import { dirname, isAbsolute, resolve } from 'node:path'

import { isMonitored, type KindMap, type Snapshot } from '@osm-ts/core'

/** The program of a workload. */
export interface WorkloadProgram {
  readonly command: readonly string[]
  readonly cwd: string
}

/** One replica that should run. */
export interface DesiredInstance {
  /** `<namespace>/<name>` */
  readonly key: string
  readonly namespace: string
  /** `<workload>-<index>`: the last part distinguishes replicas, so that no two names meet. */
  readonly name: string
  readonly workload: KindMap['Workload']
  readonly program: WorkloadProgram
  /** Sidecar class in lower case; undefined for a workload without a sidecar. */
  readonly sidecarClass: string | undefined
  /** Equal texts: what runs can continue as it is. */
  readonly fingerprint: string
}

/** Every replica of every workload that is started here. Workloads with an address run elsewhere. */
export function desiredInstances(snapshot: Snapshot, defaultClass: string): readonly DesiredInstance[] {
  return snapshot.list('Workload').flatMap((workload) => {
    const { command, address, replicas } = workload.spec
    if (command === undefined || address !== undefined) return []
    // Namespaces that the mesh is to leave alone have programs, but no sidecars.
    const isMeshed = workload.spec.sidecar && isMonitored(snapshot, workload.metadata.namespace, { mode: 'all' })
    const sidecarClass = isMeshed ? (workload.spec.sidecarClass ?? defaultClass).toLowerCase() : undefined
    return Array.from({ length: replicas }, (_, index) => desiredInstance(workload, command, index, sidecarClass))
  })
}

function desiredInstance(
  workload: KindMap['Workload'],
  command: readonly string[],
  index: number,
  sidecarClass: string | undefined,
): DesiredInstance {
  const { metadata, spec } = workload
  const name = `${metadata.name}-${index}`
  const program = { command: [...command, ...(spec.args ?? [])], cwd: workingDirectory(workload) }
  const fingerprint = JSON.stringify([program, spec.env, spec.ports, spec.serviceAccountName, sidecarClass])
  return {
    key: `${metadata.namespace}/${name}`,
    namespace: metadata.namespace,
    name,
    workload,
    program,
    sidecarClass,
    fingerprint,
  }
}

/** Relative to the file that the workload is written down in. */
function workingDirectory({ origin, spec }: KindMap['Workload']): string {
  const base = origin.kind === 'file' ? dirname(resolve(origin.file)) : '/'
  const { workingDir = '.' } = spec
  return isAbsolute(workingDir) ? workingDir : resolve(base, workingDir)
}
