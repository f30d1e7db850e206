import {
  isKubernetesError,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  type ObjectName,
  type ResourceType,
} from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import type { BootstrapErrorCode } from './error-codes.js'

/** What to bring into a wanted form. */
export interface WantedObject {
  readonly type: ResourceType
  readonly name: ObjectName
  /**
   * The object as it should be, given what there is; undefined if there is nothing to write. Called again whenever
   * somebody else was faster.
   */
  readonly wanted: (live: KubernetesObject | undefined) => KubernetesManifest | undefined
}

/** Others may write at the same moment: another replica, a person. More often than this it is a fight. */
const ATTEMPTS = 8

/**
 * Brings one object into its wanted form, and gives it as it stands afterwards; undefined if there is none and none was wanted.
 *
 * One write decides it, and that write is refused if the object is no longer what it was computed from. So it does not matter
 * where the process is killed, nor how many do this at one time.
 */
export async function writeObject(
  api: KubernetesApi,
  { type, name, wanted }: WantedObject,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const live = await api.get(type, name, signal)
    const manifest = wanted(live)
    if (manifest === undefined) return live
    if (live?.metadata.deletionTimestamp !== undefined) throw terminating(type, name)
    try {
      if (live === undefined) return await api.create(type, manifest, { signal })
      const resourceVersion = live.metadata.resourceVersion
      const metadata = { ...manifest.metadata, ...(resourceVersion !== undefined && { resourceVersion }) }
      return await api.replace(type, { ...manifest, metadata }, { signal })
    } catch (error) {
      // Somebody has made it, written it or deleted it since it was read.
      const overtaken = isKubernetesError(error) && (error.conflict || (error.notFound && live !== undefined))
      if (!overtaken) throw error
    }
  }
  throw new OsmError<BootstrapErrorCode>(
    'OSM_BOOTSTRAP_CONTESTED',
    `${type.kind} ${name.name}: others have written it ${ATTEMPTS} times while it was to be brought in order; find out who does`,
  )
}

function terminating(type: ResourceType, name: ObjectName): OsmError {
  return new OsmError<BootstrapErrorCode>(
    'OSM_BOOTSTRAP_TERMINATING',
    `${type.kind} ${name.name} is being deleted; it is created again after that. If the deletion hangs, check its finalizers`,
  )
}
