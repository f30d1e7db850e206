import {
  type CustomResourceDefinition,
  type KubernetesManifest,
  type KubernetesObject,
  nameLabel,
  nameValue,
} from '@osm-ts/kubernetes'

import { RECONCILE_LABEL } from '../mesh-identity.js'
import { asDefinition, type StoredVersion } from './stored-definition.js'

/** Groups of this name and below are ours alone; the others are shared with other tools. */
const OWN_GROUP = 'openservicemesh.io'

/** True if another tool has brought the definition, so that changing it would be changing that tool. */
export function isForeign(live: KubernetesObject): boolean {
  const { group } = asDefinition(live).spec
  if (group === OWN_GROUP || group.endsWith(`.${OWN_GROUP}`)) return false
  const labels = live.metadata.labels ?? {}
  return labels[nameLabel] !== nameValue && labels[RECONCILE_LABEL] === undefined
}

/** Versions that the mesh reads and that the definition of another tool does not serve. */
export function missingVersions(ours: CustomResourceDefinition, live: KubernetesObject): readonly string[] {
  const served = new Set(asDefinition(live).spec.versions.flatMap((version) => (version.served ? [version.name] : [])))
  return ours.spec.versions.flatMap(({ name, storage }) => (storage && !served.has(name) ? [name] : []))
}

/**
 * Our definition, widened by whatever the cluster has in use: versions that we do not know, and versions that are served
 * although we would not. An object may be stored by any of them, and a client may request it by any of them.
 */
export function mergeDefinition(
  ours: CustomResourceDefinition,
  live: KubernetesObject | undefined,
  reconcile: boolean,
): KubernetesManifest {
  const { [RECONCILE_LABEL]: _reconcile, ...liveLabels } = live?.metadata.labels ?? {}
  const labels = { ...liveLabels, ...ours.metadata.labels, ...(reconcile && { [RECONCILE_LABEL]: 'true' }) }
  return {
    ...ours,
    metadata: { ...(live?.metadata ?? { name: ours.metadata.name }), labels },
    spec: { ...ours.spec, versions: mergeVersions(ours, live) },
  }
}

function mergeVersions(ours: CustomResourceDefinition, live: KubernetesObject | undefined): readonly StoredVersion[] {
  const liveVersions = live === undefined ? [] : asDefinition(live).spec.versions
  const byName = new Map(liveVersions.map((version) => [version.name, version]))
  const known = ours.spec.versions.map((version): StoredVersion => {
    const inUse = byName.get(version.name)
    // What we list without serving it has no schema of ours; the one by which it is served now is right.
    return inUse?.served === true && !version.served ? { ...inUse, storage: false } : { ...version }
  })
  const names = new Set(known.map(({ name }) => name))
  const unknown = liveVersions.filter(({ name }) => !names.has(name)).map((version) => ({ ...version, storage: false }))
  return [...known, ...unknown]
}
