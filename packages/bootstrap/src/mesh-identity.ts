import { instanceLabel, meshObjectLabels, nameLabel, nameValue } from '@osm-ts/kubernetes'

/** Which mesh a program works for. */
export interface MeshIdentity {
  readonly meshName: string
  readonly osmNamespace: string
  /** Version of the control plane; empty if unset. */
  readonly osmVersion: string
}

/** Label of objects that the reconciler restores. */
export const RECONCILE_LABEL = 'openservicemesh.io/reconcile'

/** Labels of an object that one program makes for its mesh. */
export function meshLabels({ meshName, osmVersion }: MeshIdentity, app: string): Readonly<Record<string, string>> {
  return { ...meshObjectLabels(meshName, osmVersion), app }
}

/** `key=value,...` of the objects of a mesh. */
export function meshSelector(meshName: string): string {
  return `${nameLabel}=${nameValue},${instanceLabel}=${meshName}`
}
