import { pause, systemClock } from '@osm-ts/core'
import { isKubernetesError, type KubernetesObject, listAll, resourceTypes } from '@osm-ts/kubernetes'

import type { Cluster } from '../kubernetes/open-cluster.js'
import { podReport, podSummary } from './pod-report.js'

const roundMs = 1000

/** How the pods of a control plane get on while it is installed: each change is reported, and the last report is kept. */
export class PodProgress {
  readonly #cluster: Pick<Cluster, 'api'>
  readonly #selection: { readonly namespace: string; readonly labelSelector: string }
  readonly #tell: (line: string) => void
  readonly #told = new Map<string, string>()
  /** As they were before they were removed, if they were: why a pod did not run is what it said until then. */
  readonly #pods = new Map<string, KubernetesObject>()

  constructor(
    cluster: Pick<Cluster, 'api'>,
    selection: { readonly namespace: string; readonly labelSelector: string },
    tell: (line: string) => void,
  ) {
    this.#cluster = cluster
    this.#selection = selection
    this.#tell = tell
  }

  /** Looks again and again until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(signal)
      await pause(systemClock, roundMs, signal)
    }
  }

  /** What every pod said last, also of those that were removed since, as an installation that failed may do. */
  report(): readonly string[] {
    return [...this.#pods.values()].flatMap(podReport)
  }

  /** Looks once, and tells what has changed. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      for (const pod of await listAll(this.#cluster.api, resourceTypes.Pod, this.#selection, signal)) {
        const { uid = pod.metadata.name, name } = pod.metadata
        const summary = podSummary(pod)
        if (this.#told.get(uid) !== summary) this.#tell(`pod ${name}: ${summary}`)
        this.#told.set(uid, summary)
        if (pod.metadata.deletionTimestamp === undefined || !this.#pods.has(uid)) this.#pods.set(uid, pod)
      }
    } catch (error) {
      // Helm reports its own errors; the watcher does not repeat them.
      if (!signal.aborted && !isKubernetesError(error)) throw error
    }
  }
}
