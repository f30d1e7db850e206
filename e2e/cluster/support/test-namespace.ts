import { Caller } from './caller.js'
import type { SharedCluster } from './shared-cluster.js'

const rolloutTimeout = '240s'
const commandTimeoutMs = 260_000

/** A namespace of one test, with what runs in it. */
export class TestNamespace {
  readonly name: string
  /** Reference of the image `test-app`. */
  readonly image: string
  readonly #cluster: SharedCluster
  readonly #callers: Caller[] = []

  private constructor(cluster: SharedCluster, name: string) {
    this.name = name
    this.image = cluster.image('test-app')
    this.#cluster = cluster
  }

  static async create(cluster: SharedCluster, name: string): Promise<TestNamespace> {
    await cluster.kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    return new TestNamespace(cluster, name)
  }

  /** Applies objects, and waits until the pods of what runs pods are up. */
  async run(...objects: readonly (object | readonly object[])[]): Promise<void> {
    await this.apply(...objects)
    for (const object of objects.flat()) {
      const { kind = '', metadata } = object as {
        readonly kind?: string
        readonly metadata: { readonly name: string }
      }
      if (kind === 'Deployment' || kind === 'StatefulSet') await this.rollout(kind, metadata.name)
    }
  }

  async apply(...objects: readonly (object | readonly object[])[]): Promise<void> {
    await this.#cluster.kubectl.apply({ apiVersion: 'v1', kind: 'List', items: objects.flat() })
  }

  async remove(...objects: readonly (object | readonly object[])[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects.flat() })
    await this.#cluster.kubectl.run(['delete', '-f', '-'], { input })
  }

  async rollout(kind: 'Deployment' | 'StatefulSet', name: string): Promise<void> {
    const args = ['rollout', 'status', `${kind.toLowerCase()}/${name}`, '-n', this.name, `--timeout=${rolloutTimeout}`]
    await this.#cluster.kubectl.run(args, { timeoutMs: commandTimeoutMs })
  }

  /** One that calls from a pod, named as kubectl does: `deploy/client`, `pod/db-0`. */
  caller(target: string): Caller {
    const caller = new Caller(this.#cluster, this.name, target)
    this.#callers.push(caller)
    return caller
  }

  /** The pods of a workload. */
  async pods(app: string): Promise<readonly RunningPod[]> {
    const args = ['pods', '-n', this.name, '-l', `app=${app}`]
    const { items } = await this.#cluster.kubectl.get<{ readonly items: readonly RunningPod[] }>(args)
    return items
  }

  /** Takes everything away, and does not wait until it is gone when that is of no interest. */
  async delete({ wait = true }: { readonly wait?: boolean } = {}): Promise<void> {
    for (const caller of this.#callers) caller.close()
    const args = ['delete', 'namespace', this.name, '--ignore-not-found', `--wait=${wait}`]
    await this.#cluster.kubectl.run(args, { timeoutMs: commandTimeoutMs })
  }
}

/** What tests read of a container. */
export interface PodContainer {
  readonly name: string
  readonly resources?: Readonly<Record<string, unknown>>
}

/** What tests read of a pod. */
export interface RunningPod {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
    /** Present: it has been told to end. */
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName: string
    readonly containers: readonly PodContainer[]
    readonly initContainers?: readonly PodContainer[]
  }
  readonly status: {
    readonly podIP: string
    readonly phase: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** The sidecar of a pod, wherever it stands among the containers. */
export function sidecarOf({ spec: { containers, initContainers = [] } }: RunningPod): PodContainer | undefined {
  return [...initContainers, ...containers].find(({ name }) => name === 'sidecar')
}
