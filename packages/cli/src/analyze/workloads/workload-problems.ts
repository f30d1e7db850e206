import { formatFieldPath, type Problem } from '@osm-ts/core'

import type { WrittenWorkload } from './read-workloads.js'

/** What is wrong with the pods of a workload, before it has a place. */
export interface PodFault {
  readonly code: string
  readonly severity: Problem['severity']
  readonly message: string
  /** Path in the pod, such as `spec.containers[0].ports`; empty for the pod as a whole. */
  readonly field: string
}

/** The problem of a workload, at the line in which its template says so. */
export function podProblem(workload: WrittenWorkload, { field: inPod, ...fault }: PodFault): Problem {
  const field = [workload.at, inPod].filter((part) => part !== '').join('.')
  return {
    ...fault,
    object: workload.object,
    origin: workload.locate(field),
    ...(field !== '' && { field }),
  }
}

const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const

/**
 * The field of a pod that a message of the injector speaks of, as far as it names one: a path, an annotation, or a container with a path in it. Else that of the
 * template.
 */
export function fieldOf(message: string, pod: WrittenWorkload['template']['pod']): string {
  const annotation = /openservicemesh\.io\/[a-z-]+/.exec(message)?.[0]
  const [, path] = /^((?:spec|metadata)(?:\.\w+|\[\d+\])+)/.exec(message) ?? []
  if (path !== undefined) return path
  const [, probe, probed] = /\b(liveness|readiness|startup) probe of container ([a-z0-9-]+)/.exec(message) ?? []
  if (probed !== undefined) return containerField(pod, probed, `${probe ?? ''}Probe`)
  const [, container, inside = ''] = /\bcontainer ([a-z0-9-]+)(?:: (\w+(?:\.\w+|\[\d+\])+))?/.exec(message) ?? []
  if (container !== undefined) return containerField(pod, container, inside)
  return annotation === undefined ? '' : formatFieldPath(['metadata', 'annotations', annotation])
}

function containerField(pod: WrittenWorkload['template']['pod'], name: string, inside: string): string {
  const spec = (pod['spec'] ?? {}) as Readonly<Record<string, unknown>>
  for (const list of CONTAINER_LISTS) {
    const containers = spec[list]
    const index = Array.isArray(containers)
      ? containers.findIndex((each: { readonly name?: unknown } | null) => each?.name === name)
      : -1
    if (index >= 0) return [`spec.${list}[${index}]`, inside].filter((part) => part !== '').join('.')
  }
  return ''
}
