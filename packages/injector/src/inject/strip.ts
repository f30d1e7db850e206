import {
  findMounting,
  isSidecarFileAnnotation,
  probeBindingsAnnotation,
  type ProbeBindingsReader,
  proxyUuidLabel,
  uuidOfVolume,
  workloadApiVolume,
} from '@osm-ts/kubernetes'

import type { Container, Pod } from '../pod/pod.js'
import { restoreProbes } from '../probes/restore-probes.js'
import { BOOTSTRAP_VOLUME, INIT_CONTAINER } from '../sidecar/sidecar-container.js'

/** A pod that was injected before, as it was without that. */
export interface StrippedPod {
  readonly pod: Pod
  /** Uuid of the sidecar that it had. */
  readonly uuid: string | undefined
}

/**
 * Takes away what an earlier injection has added, of which the bootstrap volume is the sign. Undefined if there was none.
 *
 * Pods come injected when they are copied (`kubectl debug --copy-to`) and when the API server shows a pod again after another webhook. Both are
 * then injected like any other, so that there is one way only in which a pod gets its sidecar.
 */
export function strip(pod: Pod, reader: ProbeBindingsReader): StrippedPod | undefined {
  const volume = pod.spec.volumes?.find(({ name }) => name === BOOTSTRAP_VOLUME)
  if (volume === undefined) return undefined
  const { labels, annotations } = pod.metadata ?? {}
  const bindings = annotations?.[probeBindingsAnnotation]
  const restored = bindings === undefined ? pod : restoreProbes(pod, reader.read(bindings).bindings)
  const { spec } = restored
  const { containers, initContainers, volumes } = spec
  // What a user has called like the sidecar mounts nothing of it, and stays.
  const sidecar = findMounting([...(initContainers ?? []), ...containers], BOOTSTRAP_VOLUME)
  const isForeign = (container: Container): boolean => container !== sidecar && container.name !== INIT_CONTAINER
  return {
    uuid: uuidOfVolume(volume),
    pod: {
      ...restored,
      metadata: {
        ...pod.metadata,
        ...(labels !== undefined && { labels: without(labels, (name) => name === proxyUuidLabel) }),
        ...(annotations !== undefined && {
          annotations: without(
            annotations,
            (name) => name === probeBindingsAnnotation || isSidecarFileAnnotation(name),
          ),
        }),
      },
      spec: {
        ...spec,
        containers: containers.filter(isForeign),
        ...(initContainers !== undefined && { initContainers: initContainers.filter(isForeign) }),
        ...(volumes !== undefined && {
          volumes: volumes.filter(({ name }) => name !== BOOTSTRAP_VOLUME && name !== workloadApiVolume),
        }),
      },
    },
  }
}

function without(
  texts: Readonly<Record<string, string>>,
  isLeftOut: (name: string) => boolean,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).filter(([name]) => !isLeftOut(name)))
}
