import { type SidecarVolume, uuidOfVolume } from './sidecar-volume.js'

/** Names of the container of a sidecar: the usual one, and the one that it has where the pod has a container of the usual name. */
export const sidecarContainerNames = Object.freeze({ usual: 'sidecar', reserved: 'osm-sidecar' })

/** What is read of a container to find that of the mesh. */
export interface MountingContainer {
  readonly name?: string
  readonly volumeMounts?: readonly { readonly name?: string }[]
}

/** What is read of the spec of a pod to find the container of the mesh. */
export interface MountingPod<C extends MountingContainer> {
  readonly containers?: readonly C[]
  readonly initContainers?: readonly C[]
  readonly volumes?: readonly SidecarVolume[]
}

/**
 * The container of the mesh in a pod. A name alone says nothing, because a container of a user may have it: that of the mesh mounts the volume with the key of
 * the proxy, and osm-injector refuses pods in which another one would.
 *
 * @param uuid - of the proxy
 */
export function findSidecarContainer<C extends MountingContainer>(
  { containers = [], initContainers = [], volumes = [] }: MountingPod<C>,
  uuid: string,
): C | undefined {
  const volume = volumes.find((each) => uuidOfVolume(each) === uuid)?.name
  if (volume === undefined) return undefined
  return findMounting([...initContainers, ...containers], volume)
}

/** The container with a name of the mesh's that mounts a volume. */
export function findMounting<C extends MountingContainer>(containers: readonly C[], volume: string): C | undefined {
  const { usual, reserved } = sidecarContainerNames
  const mounting = containers.filter(
    ({ name, volumeMounts = [] }) =>
      (name === usual || name === reserved) && volumeMounts.some((mount) => mount.name === volume),
  )
  return mounting.find(({ name }) => name === reserved) ?? mounting[0]
}
