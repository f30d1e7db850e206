import { probeBindingsAnnotation, proxyUuidLabel, type ProbeBindingsReader, uuidOfSecret } from '@osm-ts/core'

import { isObject, type JsonObject, objectOf, objectsOf, textOf, textsOf, withMembers } from '../json/json.js'
import { restoreProbes } from '../probes/restore-probes.js'
import { BOOTSTRAP_VOLUME, INIT_CONTAINER, SIDECAR_CONTAINER } from '../sidecar/names.js'

/** A pod that was injected before, as it was without that. */
export interface StrippedPod {
  readonly pod: JsonObject
  /** Uuid of the sidecar that it had. */
  readonly uuid: string | undefined
}

const OWN_CONTAINERS: ReadonlySet<string> = new Set([SIDECAR_CONTAINER, INIT_CONTAINER])

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
        ...without(inner, 'containers', ({ name }) => OWN_CONTAINERS.has(textOf(name))),
        ...without(inner, 'initContainers', ({ name }) => OWN_CONTAINERS.has(textOf(name))),
        ...without(inner, 'volumes', ({ name }) => name === BOOTSTRAP_VOLUME),
      }),
    },
  }
}

function without(
  spec: JsonObject,
  list: string,
  isOwn: (item: JsonObject) => boolean,
): { readonly [list: string]: readonly JsonObject[] } {
  return Array.isArray(spec[list]) ? { [list]: objectsOf(spec[list]).filter((item) => !isOwn(item)) } : {}
}
