import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Listeners by `namespace/service|port`. */
export type Listeners = Readonly<Record<string, Listener>>

/** Where a sidecar listens. */
export interface Listener {
  readonly address: string
  readonly port: number
}

/** What the supervisor of a mesh has written down of an instance, as far as scenarios read it. */
export interface LocalInstance {
  /** Its own, in the namespace of its workload. */
  readonly name: string
  readonly uuid: string
  readonly workload: string
  readonly addresses: readonly string[]
  /** In explicit mode. */
  readonly allocations?: {
    readonly inbound?: Listeners
    /** What is open to the outside has its own listener. */
    readonly ingress?: Listeners
    readonly outboundHttp?: Listener
    readonly outboundTcp?: Listeners
    readonly admin?: Listener
  }
}

interface InstanceFile {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly spec: Omit<LocalInstance, 'name'>
}

/**
 * An instance of a workload, or the one of that name, as the supervisor has it now: what the workload was told when it started may be less.
 *
 * @param stateFolder - of the mesh
 * @throws if none runs
 */
export function localInstance(stateFolder: string, workload: string): LocalInstance {
  const folder = join(stateFolder, 'instances')
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .flatMap((file) => readIfThere(join(folder, file)))
  const found =
    files.find(({ metadata, spec }) => `${metadata.namespace}/${spec.workload}` === workload) ??
    files.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === workload)
  if (found === undefined) throw new Error(`no instance of ${workload} runs`)
  return { ...found.spec, name: found.metadata.name }
}

/** An instance may end while its file is about to be read. */
function readIfThere(path: string): readonly InstanceFile[] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8')) as InstanceFile]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
