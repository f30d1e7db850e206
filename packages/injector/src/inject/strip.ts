import {
  findMounting,
  type MountingContainer,
  probeBindingsAnnotation,
  type ProbeBindingsReader,
  proxyUuidLabel,
  uuidOfSecret,
} from '@osm-ts/kubernetes'

import { isObject, type JsonObject, objectOf, objectsOf, textOf, textsOf, withMembers } from '../json/json.js'
import { restoreProbes } from '../probes/restore-probes.js'
import { BOOTSTRAP_VOLUME, INIT_CONTAINER } from '../sidecar/names.js'

/** A pod that was injected before, as it was without that. */
export interface StrippedPod {
  readonly pod: JsonObject
  /** Uuid of the sidecar that it had. */
  readonly uuid: string | undefined
}

/**
 * Takes away what an earlier injection has added, of which the bootstrap volume is the sign. Undefined if there was none.
 *
 * Pods come injected when they are copied (`kubectl debug --copy-to`) and when the API server shows a pod again after another webhook. Both are
 * then injected like any other, so that there is one way only in which a pod gets its sidecar.
 */
export function strip(pod: JsonObject, reader: ProbeBindingsReader): StrippedPod | undefined {
  const spec = objectOf(pod.spec)
  const volume = objectsOf(spec.volumes).find(({ name }) => name === BOOTSTRAP_VOLUME)
  if (volume === undefined) return undefined
  const metadata = objectOf(pod.metadata)
  const bindings = textsOf(metadata.annotations)[probeBindingsAnnotation]
  const restored = bindings === undefined ? pod : restoreProbes(pod, reader.read(bindings).bindings)
  const inner = objectOf(restored.spec)
  const all = [...objectsOf(inner.initContainers), ...objectsOf(inner.containers)]
  // What a user has called like the sidecar mounts nothing of it, and stays.
  const sidecar = findMounting(all as readonly (JsonObject & MountingContainer)[], BOOTSTRAP_VOLUME)
  const isOwn = (container: JsonObject): boolean => container === sidecar || container.name === INIT_CONTAINER
  return {
    uuid: uuidOfSecret(textOf(objectOf(volume.secret).secretName)),
    pod: {
      ...restored,
      metadata: withMembers(metadata, {
        ...(isObject(metadata.labels) ? { labels: withMembers(metadata.labels, { [proxyUuidLabel]: undefined }) } : {}),
        ...(isObject(metadata.annotations)
          ? { annotations: withMembers(metadata.annotations, { [probeBindingsAnnotation]: undefined }) }
          : {}),
      }),
      spec: withMembers(inner, {
        ...without(inner, 'containers', isOwn),
        ...without(inner, 'initContainers', isOwn),
        ...without(inner, 'volumes', ({ name }) => name === BOOTSTRAP_VOLUME),
      }),
    },
  }
}

function without(
  spec: JsonObject,
  list: string,
  isAdded: (item: JsonObject) => boolean,
): { readonly [list: string]: readonly JsonObject[] } {
  return Array.isArray(spec[list]) ? { [list]: objectsOf(spec[list]).filter((item) => !isAdded(item)) } : {}
}
