import type { InstanceProbeBinding } from '@osm-ts/core'

import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json/json.js'

/** Which probe of a container. */
export type ProbeKind = InstanceProbeBinding['probe']

/** A probe in a pod. */
export interface PlacedProbe {
  readonly container: JsonObject
  readonly kind: ProbeKind
  readonly probe: JsonObject
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
export function placedProbes(pod: JsonObject): readonly PlacedProbe[] {
  const spec = objectOf(pod.spec)
  return PROBED_LISTS.flatMap((list) => objectsOf(spec[list])).flatMap((container) =>
    kinds().flatMap((kind): readonly PlacedProbe[] => {
      const probe = container[probeMembers[kind]]
      return isObject(probe) ? [{ container, kind, probe }] : []
    }),
  )
}

/** The pod with other probes, by {@link probeKey}; whatever has none of them stays the same value. */
export function withProbes(pod: JsonObject, probes: ReadonlyMap<string, JsonObject>): JsonObject {
  if (probes.size === 0) return pod
  const spec = objectOf(pod.spec)
  const lists = PROBED_LISTS.flatMap((list): [string, readonly JsonObject[]][] =>
    Array.isArray(spec[list])
      ? [[list, objectsOf(spec[list]).map((container) => withProbesOf(container, probes))]]
      : [],
  )
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } }
}

function withProbesOf(container: JsonObject, probes: ReadonlyMap<string, JsonObject>): JsonObject {
  const changed = kinds().flatMap((kind): [string, JsonObject][] => {
    const probe = probes.get(probeKey(textOf(container.name), kind))
    return probe === undefined ? [] : [[probeMembers[kind], probe]]
  })
  return changed.length === 0 ? container : { ...container, ...Object.fromEntries(changed) }
}

function kinds(): readonly ProbeKind[] {
  return ['liveness', 'readiness', 'startup']
}
