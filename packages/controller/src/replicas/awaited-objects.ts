import type { MeshCatalog, DriverHost, ObjectKey } from '@osm-ts/core'

/** Stands for all objects, where there are too many to tell one by one. */
export const ALL_OBJECTS = '*'
/** Objects that a replica tells the leader. */
const MAX_TOLD = 1_000

/** Keys of objects of which a sidecar that is connected to this replica has not acknowledged something. */
export function awaitedObjects(
  host: Pick<DriverHost, 'unacknowledgedParts'>,
  catalog: Pick<MeshCatalog, 'objectsOf'>,
): ReadonlySet<ObjectKey> {
  return catalog.objectsOf(host.unacknowledgedParts())
}

/** The same for a report to the leader. */
export function toldObjects(keys: ReadonlySet<ObjectKey>): readonly string[] {
  return keys.size > MAX_TOLD ? [ALL_OBJECTS] : [...keys].sort()
}
