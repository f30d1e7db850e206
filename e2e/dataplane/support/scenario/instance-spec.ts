import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { TestMesh } from '../mesh.js'

/** Listeners by `namespace/service|port`. */
export type Listeners = Readonly<Record<string, { readonly address: string; readonly port: number }>>

/** What the supervisor has written down of an instance, as far as scenarios read it. */
export interface InstanceSpec {
  readonly uuid: string
  readonly addresses: readonly string[]
  /** In explicit mode. */
  readonly allocations?: {
    readonly inbound?: Listeners
    /** What is open to the outside has a listener of its own. */
    readonly ingress?: Listeners
    readonly outboundTcp?: Listeners
  }
}

/** The instance of a workload as the supervisor has it now: what the workload was told when it started may be less. */
export async function instanceSpec(mesh: TestMesh, workload: string): Promise<InstanceSpec> {
  const { uuid } = mesh.instance(workload)
  const folder = join(mesh.stateFolder, 'instances')
  for (const file of await readdir(folder)) {
    const { spec } = JSON.parse(await readFile(join(folder, file), 'utf8')) as { readonly spec: InstanceSpec }
    if (spec.uuid === uuid) return spec
  }
  throw new Error(`nothing is written down of ${workload}`)
}
