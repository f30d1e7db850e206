import { pause, type ProxyStatus, systemClock } from '@osm-ts/core'
import { isKubernetesError, type KubernetesError, resourceTypes, sidecarClassAnnotation } from '@osm-ts/kubernetes'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { Cluster } from '../kubernetes/open-cluster.js'
import { patch } from '../namespaces/mesh-namespaces.js'
import { formatSeconds } from '../output/format.js'
import { tryPod } from './admission.js'
import { classBeforeAnnotation, type MigrationPlan, type PlannedWorkload } from './plan-migration.js'
import { byUuid, eachOf } from './read-facts.js'
import { rolloutStateOf, type RolloutState } from './rollout-state.js'
import { readWorkloads, templateAnnotations, workloadId, type RestartableWorkload } from './workloads.js'

/** The annotation of a pod template by which kubectl restarts what is made from it. */
const restartedAt = 'kubectl.kubernetes.io/restartedAt'
/** Between two looks at a workload. */
const roundMs = 1_000
/** How long putting back may take, also after the user has ended the command. */
const putBackMs = 20_000

/** How to migrate. */
export interface MigrationRun {
  readonly cluster: Cluster
  readonly plan: MigrationPlan
  /** As they were read for the plan. */
  readonly workloads: readonly RestartableWorkload[]
  readonly statuses: () => Promise<readonly ProxyStatus[]>
  /** Told what happens. */
  readonly tell: (line: string) => void
  /** For each workload. */
  readonly timeoutMs: number
  /** Workloads at a time. */
  readonly parallel: number
  /** True: a stop leaves everything where it is. */
  readonly keep: boolean
}

/**
 * What became of a workload. `unchanged`: there was nothing to do. `put-back`: it was under way, and has its former template again. `under-way`: its new template
 * stays. `not-begun`: its pods are what they were.
 */
export interface MigratedWorkload extends Pick<PlannedWorkload, 'kind' | 'name'> {
  readonly state: 'migrated' | 'unchanged' | 'put-back' | 'under-way' | 'not-begun'
}

/** Where a migration has ended. */
export interface MigrationResult {
  readonly outcome: 'migrated' | 'stopped'
  /** Why it stopped. */
  readonly reason?: string
  /** What could not be written in the end. */
  readonly faults: readonly string[]
  /** What the annotation of the namespace says now; null if there is none. */
  readonly annotation: string | null
  readonly workloads: readonly MigratedWorkload[]
}

type State = MigratedWorkload['state']

/** Carries out a plan that has no obstacles. Whatever goes wrong once something was changed is part of the result. */
export async function runMigration(run: MigrationRun): Promise<MigrationResult> {
  return new Migration(run).run()
}

class Migration {
  readonly #run: MigrationRun
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  readonly #states: Map<string, State>
  /** What the annotation of restarted templates said before. */
  readonly #restarted = new Map<string, string | null>()
  #reason: string | undefined

  constructor(run: MigrationRun) {
    this.#run = run
    this.#signal = AbortSignal.any([run.cluster.signal, this.#stop.signal])
    this.#states = new Map(
      run.plan.workloads.map((workload) => [
        workloadId(workload),
        workload.step === 'none' ? 'unchanged' : 'not-begun',
      ]),
    )
  }

  async run(): Promise<MigrationResult> {
    const { cluster, plan, workloads, parallel } = this.#run
    const { to, namespace, annotation } = plan
    const steps = new Map(plan.workloads.map((workload) => [workloadId(workload), workload.step]))
    const queue = workloads.filter((workload) => steps.get(workloadId(workload)) !== 'none')
    await this.#annotate(
      { [sidecarClassAnnotation]: to, [classBeforeAnnotation]: annotation.before ?? '' },
      this.#signal,
    )
    this.#run.tell(`Namespace/${namespace}: new pods get class ${to}`)
    try {
      const restarts = queue.filter((workload) => steps.get(workloadId(workload)) === 'restart')
      await this.#untilInjectorKnows(restarts[0])
      await eachOf(queue, parallel, async (workload) => {
        if (!this.#signal.aborted) await this.#migrate(workload, restarts.includes(workload))
      })
      cluster.signal.throwIfAborted()
    } catch (error) {
      this.#end(cluster.signal.aborted ? cluster.signal.reason : error)
    }
    return this.#reason === undefined ? this.#finish() : this.#halt(this.#reason)
  }

  async #migrate(workload: RestartableWorkload, restarts: boolean): Promise<void> {
    const { tell } = this.#run
    const id = workloadId(workload)
    const started = performance.now()
    try {
      this.#states.set(id, 'under-way')
      if (restarts) await this.#restart(workload)
      await this.#untilDone(workload)
      this.#states.set(id, 'migrated')
      tell(`${id}: migrated in ${formatSeconds(performance.now() - started)}`)
    } catch (error) {
      // The others are ended by the first that fails.
      if (!this.#stop.signal.aborted) this.#end(new Error(`${id}: ${errorMessage(error)}`, { cause: error }))
    }
  }

  async #restart(workload: RestartableWorkload): Promise<void> {
    this.#restarted.set(workloadId(workload), templateAnnotations(workload)[restartedAt] ?? null)
    await this.#writeRestartedAt(workload, new Date().toISOString().replace(/\.\d+Z$/, 'Z'), this.#signal)
    this.#run.tell(`${workloadId(workload)}: restarted`)
  }

  async #untilDone(workload: RestartableWorkload): Promise<void> {
    const { timeoutMs, tell } = this.#run
    const id = workloadId(workload)
    const deadline = performance.now() + timeoutMs
    for (let told = ''; ;) {
      const state = await this.#look(id)
      if (state.kind === 'done') return
      if (state.kind === 'failed') throw new Error(state.message)
      if (performance.now() >= deadline)
        throw new Error(`not complete within ${formatSeconds(timeoutMs)}: ${state.message}`)
      if (state.message !== told) tell(`${id}: ${state.message}`)
      told = state.message
      await pause(systemClock, roundMs, this.#signal)
      this.#signal.throwIfAborted()
    }
  }

  async #look(id: string): Promise<RolloutState> {
    const { cluster, plan } = this.#run
    try {
      const { restartable } = await readWorkloads(cluster, plan.namespace, this.#signal)
      const found = restartable.find((workload) => workloadId(workload) === id)
      if (found === undefined) return { kind: 'failed', message: 'it was deleted' }
      const tolerated = new Set(plan.missing.flatMap(({ parts }) => parts))
      return rolloutStateOf(found, { to: plan.to, statuses: await this.#statuses(), tolerated })
    } catch (error) {
      if (isPassing(error)) return { kind: 'waiting', message: error.message }
      throw error
    }
  }

  /** A controller may be replaced meanwhile: one that does not answer is queried again in the next round. */
  async #statuses(): Promise<ReturnType<typeof byUuid> | undefined> {
    try {
      return byUuid(await this.#run.statuses(), this.#run.plan.namespace)
    } catch {
      this.#signal.throwIfAborted()
      return undefined
    }
  }

  /** Injectors hear of the annotation a moment after it was written; a pod that is made before that gets the old class. */
  async #untilInjectorKnows(workload: RestartableWorkload | undefined): Promise<void> {
    if (workload === undefined) return
    const { cluster, plan, timeoutMs } = this.#run
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const admission = await tryPod(cluster, workload, undefined, this.#signal)
      if (admission.kind === 'refused') throw new Error(`a new pod of ${workloadId(workload)}: ${admission.message}`)
      // Without permission for dry runs, the class of the pods is checked at the end.
      if (admission.kind === 'unknown' || admission.sidecarClass === plan.to) return
      if (performance.now() >= deadline)
        throw new Error(
          `new pods get class ${admission.sidecarClass}, which differs from the annotation of namespace ${plan.namespace}`,
        )
      await pause(systemClock, roundMs / 4, this.#signal)
      this.#signal.throwIfAborted()
    }
  }

  async #finish(): Promise<MigrationResult> {
    const { to, namespace } = this.#run.plan
    try {
      await this.#annotate({ [classBeforeAnnotation]: null }, this.#signal)
      return this.#result('migrated', to, [])
    } catch (error) {
      return this.#result('migrated', to, [`Namespace/${namespace}: ${errorMessage(error)}`])
    }
  }

  /** Puts back what can be: first what new pods get, then what makes new pods. */
  async #halt(reason: string): Promise<MigrationResult> {
    const { plan, keep, tell, workloads } = this.#run
    tell(`stopped: ${reason}`)
    if (keep) return this.#result('stopped', plan.to, [])
    const signal = AbortSignal.timeout(putBackMs)
    const faults: string[] = []
    const { before } = plan.annotation
    let annotation: string | null = plan.to
    try {
      await this.#annotate({ [sidecarClassAnnotation]: before, [classBeforeAnnotation]: null }, signal)
      annotation = before
      tell(
        `Namespace/${plan.namespace}: new pods get ${before === null ? 'the default class' : `class ${before}`} again`,
      )
    } catch (error) {
      return this.#result('stopped', annotation, [`Namespace/${plan.namespace}: ${errorMessage(error)}`])
    }
    for (const workload of workloads) {
      const id = workloadId(workload)
      const former = this.#restarted.get(id)
      if (former === undefined || this.#states.get(id) !== 'under-way') continue
      try {
        await this.#writeRestartedAt(workload, former, signal)
        this.#states.set(id, 'put-back')
        tell(`${id}: template restored`)
      } catch (error) {
        faults.push(`${id}: ${errorMessage(error)}`)
      }
    }
    return this.#result('stopped', annotation, faults)
  }

  #result(outcome: MigrationResult['outcome'], annotation: string | null, faults: readonly string[]): MigrationResult {
    return {
      outcome,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      faults,
      annotation,
      workloads: this.#run.plan.workloads.map(({ kind, name }) => ({
        kind,
        name,
        state: this.#states.get(workloadId({ kind, name })) ?? 'unchanged',
      })),
    }
  }

  #end(error: unknown): void {
    this.#reason ??= errorMessage(error)
    this.#stop.abort(error)
  }

  #annotate(annotations: Readonly<Record<string, string | null>>, signal: AbortSignal): Promise<void> {
    return patch({ api: this.#run.cluster.api, signal }, this.#run.plan.namespace, { annotations })
  }

  async #writeRestartedAt(
    { kind, object }: RestartableWorkload,
    value: string | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace = '' } = object.metadata
    const template = { metadata: { annotations: { [restartedAt]: value } } }
    const options = { signal, answer: 'metadata' } as const
    await this.#run.cluster.api.mergePatch(resourceTypes[kind], { namespace, name }, { spec: { template } }, options)
  }
}

/** Something that the next try may not meet again: an API server that does not answer, or asks to retry later. */
function isPassing(error: unknown): error is KubernetesError {
  if (!isKubernetesError(error)) return false
  const { status } = error
  return status === undefined || status === 429 || status >= 500
}
