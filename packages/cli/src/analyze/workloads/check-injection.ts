import { allowedClasses, isMonitored, type Problem } from '@osm-ts/core'
import { type Injection, offlineInjector } from '@osm-ts/injector'

import type { MeshModel } from '../../spec/load-mesh-model.js'
import { injectionDefaults } from '../../inject/run-inject.js'
import type { AnalyzeErrorCode } from '../error-codes.js'
import { podTexts, type WrittenWorkload } from './read-workloads.js'
import { fieldOf, type PodFault, podProblem } from './workload-problems.js'

const CLASS = 'openservicemesh.io/sidecar-class'
const INJECTION = 'openservicemesh.io/sidecar-injection'
const MONITORED_BY = 'openservicemesh.io/monitored-by'

/** What the injector would say of the pods of the workloads. */
export interface CheckedInjection {
  readonly problems: readonly Problem[]
  /** Those whose pods get a sidecar. */
  readonly injected: ReadonlySet<WrittenWorkload>
}

/** Shows the pods of workloads to the injector. Those outside the mesh are no business of it. */
export async function checkInjection(
  workloads: readonly WrittenWorkload[],
  model: Pick<MeshModel, 'snapshot' | 'enrolment' | 'config' | 'osmNamespace'>,
  signal: AbortSignal,
): Promise<CheckedInjection> {
  const { snapshot, enrolment, osmNamespace, config } = model
  const meshName = enrolment.mode === 'all' ? 'osm' : enrolment.meshName
  const injector = await offlineInjector({
    meshName,
    osmNamespace,
    meshConfig: snapshot.list('MeshConfig')[0]?.spec ?? {},
    environment: injectionDefaults,
    nativeSidecars: false,
  })
  const problems: Problem[] = []
  const injected = new Set<WrittenWorkload>()
  // A MeshConfig that the injector cannot use is reported as one.
  if (injector.problems.some(({ severity }) => severity === 'error')) return { problems, injected }
  for (const workload of workloads) {
    const { namespace } = workload.object
    if (!isMonitored(snapshot, namespace, enrolment)) continue
    const { labels = {}, annotations = {} } = snapshot.get('Namespace', '', namespace)?.metadata ?? {}
    // Who wants to know whether pods fit into the mesh need not have added their namespace to it yet.
    const assumed = enrolment.mode === 'all' ? { [INJECTION]: 'enabled' } : {}
    const facts = {
      name: namespace,
      labels: { ...labels, [MONITORED_BY]: meshName },
      annotations: { ...assumed, ...annotations },
    }
    const chosen = (
      podTexts(workload, 'annotations')[CLASS] ??
      annotations[CLASS] ??
      config.sidecar.sidecarClass
    ).toLowerCase()
    // Drivers that a mesh loads itself are not here, and what their sidecars need is not known.
    if (allowedClasses(config).includes(chosen) && !injector.classes.includes(chosen)) continue
    const injection = await injector.inject(workload.template.pod, facts, signal)
    if (injection.outcome === 'injected') injected.add(workload)
    for (const fault of faultsOf(injection, workload)) problems.push(podProblem(workload, fault))
  }
  return { problems, injected }
}

function faultsOf(injection: Injection, { template: { pod } }: WrittenWorkload): readonly PodFault[] {
  switch (injection.outcome) {
    case 'refused': {
      const { code, message } = injection.error
      return [
        {
          code,
          severity: 'error',
          message: `such pods are refused at admission: ${message}`,
          field: fieldOf(message, pod),
        },
      ]
    }
    case 'skipped': {
      // Who switches injection off means it.
      if (injection.reason !== 'host-network') return []
      const code: AnalyzeErrorCode = 'OSM_ANALYZE_POD_WITHOUT_SIDECAR'
      const message = `the pods get no sidecar although their namespace is of the mesh: ${injection.message}`
      return [{ code, severity: 'warning', message, field: 'spec.hostNetwork' }]
    }
    case 'injected': {
      const code: AnalyzeErrorCode = 'OSM_ANALYZE_POD_BEHAVIOR'
      return injection.warnings.map((message) => ({ code, severity: 'warning', message, field: fieldOf(message, pod) }))
    }
  }
}
