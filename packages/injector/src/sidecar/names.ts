import { sidecarContainerNames } from '@osm-ts/kubernetes'

import type { Pod } from '../pod/pod.js'

/** Lists of containers of a pod, whose names are unique in all of them together. */
export const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const

/** Init container that has connections redirected. */
export const INIT_CONTAINER = 'osm-init'
/** Volume of the bootstrap Secret: a pod that has it has been injected. */
export const BOOTSTRAP_VOLUME = 'sidecar-bootstrap-config-volume'

/** Name of the sidecar's container: as osm-edge calls it, or one that is kept free for that where a container of the user is called so. */
export function sidecarContainerName({ spec }: Pod): string {
  const { usual, reserved } = sidecarContainerNames
  return CONTAINER_LISTS.some((list) => spec[list]?.some(({ name }) => name === usual)) ? reserved : usual
}
