/** Which mesh a program works for. */
export interface MeshIdentity {
  readonly meshName: string
  readonly osmNamespace: string
  /** Version of the control plane; empty where nobody said. */
  readonly osmVersion: string
}

/** Label that names what wrote an object of the mesh, and its value. */
export const NAME_LABEL = 'app.kubernetes.io/name'
export const NAME_VALUE = 'openservicemesh.io'
/** Label that names the mesh of an object. */
const INSTANCE_LABEL = 'app.kubernetes.io/instance'
/** Label of objects that the reconciler restores. */
export const RECONCILE_LABEL = 'openservicemesh.io/reconcile'

/** Labels of an object that belongs to one mesh. */
export function meshLabels(mesh: MeshIdentity, app: string): Readonly<Record<string, string>> {
  return {
    [NAME_LABEL]: NAME_VALUE,
    [INSTANCE_LABEL]: mesh.meshName,
    ...(mesh.osmVersion !== '' && { 'app.kubernetes.io/version': mesh.osmVersion }),
    app,
  }
}

/** `key=value,...` of the objects of a mesh. */
export function meshSelector(meshName: string): string {
  return `${NAME_LABEL}=${NAME_VALUE},${INSTANCE_LABEL}=${meshName}`
}
