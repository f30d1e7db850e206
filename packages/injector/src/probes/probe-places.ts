import type { InstanceProbeBinding } from '@osm-ts/core'

import type { Container, Pod, Probe } from '../pod/pod.js'

/** Which probe of a container. */
export type ProbeKind = InstanceProbeBinding['probe']

/** A probe in a pod. */
export interface PlacedProbe {
  readonly container: Container
  readonly kind: ProbeKind
  readonly probe: Probe
}

/** Members of containers that are probes. */
const probeMembers = {
  liveness: 'livenessProbe',
  readiness: 'readinessProbe',
  startup: 'startupProbe',
} as const satisfies Readonly<Record<ProbeKind, string>>

/** Lists of containers that may have probes: init containers have them if they continue running. */
const PROBED_LISTS = ['initContainers', 'containers'] as const

/** Names one probe of a pod. */
export function probeKey(container: string, kind: ProbeKind): string {
  return `${container}/${kind}`
}

/** All probes of a pod, in the order of its containers. */
export function placedProbes({ spec }: Pod): readonly PlacedProbe[] {
  return PROBED_LISTS.flatMap((list) => spec[list] ?? []).flatMap((container) =>
    kinds().flatMap((kind): readonly PlacedProbe[] => {
      const probe = container[probeMembers[kind]]
      return probe === undefined ? [] : [{ container, kind, probe }]
    }),
  )
}

/** The pod with other probes, by {@link probeKey}; whatever has none of them stays the same value. */
export function withProbes(pod: Pod, probes: ReadonlyMap<string, Probe>): Pod {
  if (probes.size === 0) return pod
  const { containers, initContainers } = pod.spec
  const changed = (list: readonly Container[]) => list.map((container) => withProbesOf(container, probes))
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers !== undefined && { initContainers: changed(initContainers) }),
      containers: changed(containers),
    },
  }
}

function withProbesOf(container: Container, probes: ReadonlyMap<string, Probe>): Container {
  const changed = kinds().flatMap((kind): [string, Probe][] => {
    const probe = probes.get(probeKey(container.name, kind))
    return probe === undefined ? [] : [[probeMembers[kind], probe]]
  })
  return changed.length === 0 ? container : { ...container, ...Object.fromEntries(changed) }
}

function kinds(): readonly ProbeKind[] {
  return ['liveness', 'readiness', 'startup']
}
