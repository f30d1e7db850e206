/** Label that names what wrote an object of the mesh, and its value. */
export const nameLabel = 'app.kubernetes.io/name'
export const nameValue = 'openservicemesh.io'
/** Label that names the mesh of an object. */
export const instanceLabel = 'app.kubernetes.io/instance'

/**
 * Labels of an object that belongs to one mesh.
 *
 * @param version - of the control plane; empty if unset, or where it says nothing of the object
 */
export function meshObjectLabels(meshName: string, version = ''): Readonly<Record<string, string>> {
  return {
    [nameLabel]: nameValue,
    [instanceLabel]: meshName,
    ...(version !== '' && { 'app.kubernetes.io/version': version }),
  }
}
