import { type KubernetesMetadata, sidecarClassAnnotation } from '@osm-ts/kubernetes'

import type { ControllerDrivers } from '../kubernetes/cluster-debug.js'
import type { Admission } from './admission.js'
import { capabilityLosses, type CapabilityLoss, type ObeyedPolicy } from './capability-losses.js'
import { interruptsService, unfitForRestart } from './rollout.js'
import {
  templateAnnotations,
  workloadId,
  type NamespaceWorkloads,
  type RestartableKind,
  type RestartableWorkload,
} from './workloads.js'

/** While a namespace is under way: the class that it named before, or nothing if it named none. */
export const classBeforeAnnotation = 'openservicemesh.io/sidecar-class-before-migration'

/** What is to become of a workload. `check`: its pods are new already, and have to have applied what they are told. */
export type WorkloadStep = 'restart' | 'check' | 'none'

/** A workload in a plan. */
export interface PlannedWorkload {
  readonly kind: RestartableKind
  readonly name: string
  readonly step: WorkloadStep
  /** Classes of its pods now, with how many are of each. */
  readonly pods: Readonly<Record<string, number>>
  /** What else is to be known. */
  readonly remark?: string
}

/** Something that keeps a migration from being begun. */
export interface Obstacle {
  readonly what: string
  readonly advice: string
}

/** A feature that the new class lacks. */
export interface MissingFeature extends CapabilityLoss {
  /** True: the migration may be begun nevertheless. */
  readonly accepted: boolean
}

/** How a namespace gets from its sidecar classes to another one. */
export interface MigrationPlan {
  readonly namespace: string
  readonly mesh: string
  readonly to: string
  /** Other classes that its pods are of now. */
  readonly from: readonly string[]
  /** The annotation of the namespace: what it says now, and what it is put back to if the migration stops; null for none. */
  readonly annotation: { readonly now: string | null; readonly before: string | null }
  readonly workloads: readonly PlannedWorkload[]
  /** Pods of other classes that nothing recreates. */
  readonly left: readonly { readonly pod: string; readonly sidecarClass: string; readonly owner: string | null }[]
  readonly missing: readonly MissingFeature[]
  readonly obstacles: readonly Obstacle[]
}

/** What a plan is made from. */
export interface MigrationFacts {
  readonly namespace: KubernetesMetadata
  readonly mesh: string
  readonly to: string
  readonly controllers: readonly ControllerDrivers[]
  readonly workloads: NamespaceWorkloads
  /** Of the proxies of the namespace, with their uuids. */
  readonly policies: readonly (ObeyedPolicy & { readonly uuid: string })[]
  /** What the API server says to new pods of workloads that are to be restarted, by their ids. */
  readonly admissions: ReadonlyMap<string, Admission>
  /** Features that may be missing. */
  readonly allowMissing: readonly string[]
}

/** Plans a migration. Nothing is asked or changed here. */
export function planMigration(facts: MigrationFacts): MigrationPlan {
  const { namespace, mesh, to, workloads } = facts
  const missing = missingFeatures(facts)
  const left = workloads.left.filter(({ sidecarClass }) => sidecarClass !== to)
  const pods = [...workloads.restartable.flatMap((workload) => workload.pods), ...left]
  const { [sidecarClassAnnotation]: now, [classBeforeAnnotation]: recorded } = namespace.annotations ?? {}
  // One that was ended by force has left what the namespace said before it.
  const before = now === to && recorded !== undefined ? recorded : now
  return {
    namespace: namespace.name,
    mesh,
    to,
    from: [...new Set(pods.flatMap(({ sidecarClass = to }) => sidecarClass))].filter((name) => name !== to).sort(),
    annotation: { now: now ?? null, before: before || null },
    workloads: workloads.restartable.map((workload) => planWorkload(workload, to)),
    left: left.map(({ name, sidecarClass = '', owner = null }) => ({ pod: name, sidecarClass, owner })),
    missing,
    obstacles: [
      ...driverObstacles(facts),
      ...missing.filter(({ accepted }) => !accepted).map(missingObstacle),
      ...workloads.restartable.flatMap((workload) => workloadObstacles(workload, facts)),
    ],
  }
}

/** What is to become of a workload. */
export function stepOf({ pods }: Pick<RestartableWorkload, 'pods'>, to: string): WorkloadStep {
  const meshed = pods.filter(({ uuid }) => uuid !== undefined)
  if (meshed.length === 0) return 'none'
  return meshed.every(({ sidecarClass }) => sidecarClass === to) ? 'check' : 'restart'
}

/** The class that a pod template asks for, in place of that of the namespace. */
export function classOfTemplate(workload: Pick<RestartableWorkload, 'object'>): string | undefined {
  return templateAnnotations(workload)[sidecarClassAnnotation]?.toLowerCase()
}

function planWorkload(workload: RestartableWorkload, to: string): PlannedWorkload {
  const { kind, name, pods } = workload
  const counts = new Map<string, number>()
  for (const { sidecarClass = '' } of pods) counts.set(sidecarClass, (counts.get(sidecarClass) ?? 0) + 1)
  const step = stepOf(workload, to)
  const remark = remarkOn(workload, step)
  return {
    kind,
    name,
    step,
    pods: Object.fromEntries([...counts].sort()),
    ...(remark !== undefined && { remark }),
  }
}

function remarkOn(workload: RestartableWorkload, step: WorkloadStep): string | undefined {
  if (step === 'none') return workload.pods.length === 0 ? 'has no pods' : 'its pods have no sidecar'
  return step === 'restart' && interruptsService(workload) ? 'is unavailable while its pods are replaced' : undefined
}

function driverObstacles({ controllers, to }: MigrationFacts): readonly Obstacle[] {
  return controllers.flatMap(({ controller, drivers }): readonly Obstacle[] => {
    const driver = drivers.find(({ name }) => name === to)
    if (driver?.state === 'ready') return []
    const ready = drivers.flatMap(({ name, state }) => (state === 'ready' ? [name] : []))
    if (driver === undefined)
      return [
        {
          what: `controller ${controller} has no driver of class ${to}`,
          advice: `ready are ${ready.join(', ') || 'none'}; add others with spec.sidecar.sidecarDrivers of the MeshConfig and osm.driverPackages of the chart`,
        },
      ]
    const { state, reason } = driver
    const why = reason === undefined ? '' : `: ${reason.message} [${reason.code}]`
    return [
      {
        what: `the driver of class ${to} is ${state} in controller ${controller}${why}`,
        advice: 'see osm driver list',
      },
    ]
  })
}

/** Controllers may have other versions of a driver, while they are replaced: what one of them lacks counts. */
function missingFeatures({ controllers, to, policies, allowMissing }: MigrationFacts): readonly MissingFeature[] {
  const missing = new Map<string, MissingFeature>()
  for (const { drivers } of controllers) {
    const capabilitiesOf = (name: string) => drivers.find((driver) => driver.name === name)?.capabilities
    const capabilities = capabilitiesOf(to)
    // Without a driver there is nothing to compare with; that is an obstacle by itself.
    if (capabilities === undefined) continue
    for (const loss of capabilityLosses(policies, { name: to, capabilities }, capabilitiesOf)) {
      const accepted = !loss.hadBefore || (!loss.security && allowMissing.includes(loss.feature))
      if (missing.get(loss.feature)?.accepted !== false) missing.set(loss.feature, { ...loss, accepted })
    }
  }
  return [...missing.values()].sort((a, b) => (a.feature < b.feature ? -1 : 1))
}

function missingObstacle({ feature, security, objects }: CapabilityLoss): Obstacle {
  const asked = objects.length === 0 ? 'policies' : objects.join(', ')
  return {
    what: `the class does not support ${feature}, which ${asked} ${objects.length === 1 ? 'needs' : 'need'}`,
    advice: security
      ? `${feature} is a security feature that no option gives up: change the objects that need it, or keep the present class`
      : `use --allow-missing ${feature} to continue without it`,
  }
}

/** Pods of a workload are subject to the same policies: that of one tells, for one that has just been made there may be none yet. */
function isCompared({ pods }: RestartableWorkload, { policies, to }: MigrationFacts): boolean {
  const known = new Set(policies.map(({ uuid }) => uuid))
  return pods.some(({ uuid = '', sidecarClass }) => sidecarClass !== to && known.has(uuid))
}

function workloadObstacles(workload: RestartableWorkload, facts: MigrationFacts): readonly Obstacle[] {
  const { to, admissions } = facts
  const id = workloadId(workload)
  const ofTemplate = classOfTemplate(workload)
  if (workload.pods.some(({ uuid }) => uuid !== undefined) && ofTemplate !== undefined && ofTemplate !== to)
    return [
      {
        what: `the pod template of ${id} selects class ${ofTemplate} by its annotation, which overrides that of the namespace`,
        advice: `remove annotation ${sidecarClassAnnotation} from the template`,
      },
    ]
  if (stepOf(workload, to) !== 'restart') return []
  if (!isCompared(workload, facts))
    return [
      {
        what: `no controller has a policy for the pods of ${id}: it is unknown whether class ${to} supports its policies`,
        advice: 'try again when osm proxy status shows them',
      },
    ]
  const unfit = unfitForRestart(workload)
  if (unfit !== undefined) return [{ what: `${id} ${unfit}`, advice: 'a rolling restart has to reach all its pods' }]
  const admission = admissions.get(id)
  return admission?.kind === 'refused'
    ? [
        {
          what: `a pod of ${id} would not get a sidecar of class ${to}: ${admission.message}`,
          advice: admission.advice,
        },
      ]
    : []
}
