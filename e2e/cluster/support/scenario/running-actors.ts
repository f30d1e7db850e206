import { type ScenarioWorkload, splitName } from '@osm-ts/driver-testkit'
import { LocalPort } from '../local-port.js'
import type { SharedCluster } from '../shared-cluster.js'
import { actorLabel } from './pod-objects.js'

/** A pod that stands for a workload, or for one instance of it. */
export interface Actor {
  readonly namespace: string
  readonly name: string
  readonly address: string
  /** The workload. */
  readonly workload: string
  /** Of its sidecar, if it has one. */
  readonly uuid?: string
}

interface ActorPod {
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly status: {
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

interface ActorSet {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly generation: number }
  readonly status: {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly currentRevision?: string
    readonly updateRevision?: string
  }
}

/** The pods of workloads as the cluster had them when it was asked last. */
export class RunningActors {
  readonly #api: LocalPort
  #actors = new Map<string, Actor>()

  private constructor(api: LocalPort) {
    this.#api = api
  }

  static async open(cluster: SharedCluster): Promise<RunningActors> {
    return new RunningActors(await LocalPort.toApiServer(cluster))
  }

  close(): void {
    this.#api.close()
  }

  /** Workloads that do not run as they should; asks the cluster. */
  async missing(workloads: readonly ScenarioWorkload[]): Promise<readonly string[]> {
    const [sets, pods] = await Promise.all([
      this.#list<ActorSet>('/apis/apps/v1/statefulsets'),
      this.#list<ActorPod>('/api/v1/pods'),
    ])
    this.#actors = new Map(pods.filter(isUp).map((pod) => [nameOf(pod), actorOf(pod)]))
    const setsByName = new Map(sets.map((set) => [nameOf(set), set]))
    return workloads.filter((workload) => !isComplete(workload, setsByName)).map((workload) => workload.name)
  }

  /** The first instance of a workload, or the instance of that name. */
  of(workload: string): Actor {
    const found = this.#actors.get(`${workload}-0`) ?? this.#actors.get(workload)
    if (found === undefined) throw new Error(`${workload} does not run`)
    return found
  }

  /** The sidecars of workloads. */
  proxies(workloads: readonly ScenarioWorkload[]): readonly string[] {
    const names = new Set(workloads.map(({ name }) => name))
    return [...this.#actors.values()].flatMap(({ workload, uuid }) =>
      uuid === undefined || !names.has(workload) ? [] : [uuid],
    )
  }

  async #list<T>(path: string): Promise<readonly T[]> {
    return (await this.#api.get<{ readonly items: readonly T[] }>(`${path}?labelSelector=${actorLabel}`)).items
  }
}

function nameOf({ metadata: { namespace, name } }: ActorPod | ActorSet): string {
  return `${namespace}/${name}`
}

function isUp({ metadata, status }: ActorPod): boolean {
  const ready = status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  return ready === true && status.podIP !== undefined && metadata.deletionTimestamp === undefined
}

function actorOf({ metadata: { namespace, name, labels }, status: { podIP = '' } }: ActorPod): Actor {
  const uuid = labels['osm-proxy-uuid']
  const workload = `${namespace}/${labels[actorLabel] ?? ''}`
  return { namespace, name, workload, address: podIP, ...(uuid !== undefined && { uuid }) }
}

function isComplete(workload: ScenarioWorkload, sets: ReadonlyMap<string, ActorSet>): boolean {
  const { namespace, name } = splitName(workload)
  const set = sets.get(`${namespace}/${name}`)
  if (set === undefined) return false
  const { observedGeneration, replicas, readyReplicas = 0, currentRevision, updateRevision } = set.status
  const wanted = workload.replicas ?? 1
  return (
    observedGeneration === set.metadata.generation &&
    replicas === wanted &&
    readyReplicas === wanted &&
    currentRevision === updateRevision
  )
}
