import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

import { markerVariable } from '../local/names.js'
import { readEnvironment } from '../local/machine-process.js'
import type { SharedCluster } from './shared-cluster.js'
import type { RunningPod } from './test-namespace.js'

const etcdFolder = 'run/etcd/member'

/** A file, and what is in it. */
export interface Place {
  readonly name: string
  readonly content: Buffer
}

/** The machines of a local cluster, from inside: their processes are processes of this machine. */
export class ClusterMachines {
  readonly #name: string

  /** @throws Error for a cluster that is elsewhere */
  constructor({ name, provider }: Pick<SharedCluster, 'name' | 'provider'>) {
    if (provider !== 'local') throw new Error('machines can be looked into in a local cluster only')
    this.#name = name
  }

  /** All that etcd has stored and not overwritten yet, what was deleted included. */
  etcd(): readonly Place[] {
    const folder = join(
      this.#rootOf('etcd', () => true),
      etcdFolder,
    )
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => ({ name: `etcd ${name}`, content: readFileSync(join(folder, name)) }))
  }

  /** A file in a volume of a pod, as its kubelet has mounted it. */
  volumeFile({ metadata, spec }: RunningPod, volume: string, file: string): string {
    const root = this.#rootOf('kubelet', (argv) => argv.includes(`--hostname-override=${spec.nodeName}`))
    const volumes = join(root, 'var/lib/kubelet/pods', metadata.uid, 'volumes')
    return readFileSync(join(volumes, 'kubernetes.io~projected', volume, file), 'utf8')
  }

  /** Its root folder, as a process of the cluster sees it. */
  #rootOf(program: string, isOne: (argv: readonly string[]) => boolean): string {
    const found = readdirSync('/proc').find((pid) => {
      if (!/^\d+$/.test(pid)) return false
      const argv = argvOf(pid)
      if (basename(argv[0] ?? '') !== program || !isOne(argv)) return false
      return readEnvironment(Number(pid)).includes(`${markerVariable}=${this.#name}`)
    })
    if (found === undefined) throw new Error(`no ${program} of cluster ${this.#name} runs`)
    return `/proc/${found}/root`
  }
}

/** Empty for a process that has ended. */
function argvOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
