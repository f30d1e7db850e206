import { OsmError } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import { isList, isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json/json.js'
import { INIT_CONTAINER, SIDECAR_CONTAINER } from '../sidecar/names.js'

const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const

/**
 * Refuses a pod that can't have a sidecar as it stands. What the API server has decoded always has the shape; files of users may not.
 *
 * @throws OsmError `OSM_INJECT_POD`
 */
export function checkPod(pod: JsonObject): void {
  const { spec } = pod
  if (!isObject(spec) || !isList(spec.containers) || spec.containers.length === 0)
    throw refused('spec.containers is no list of containers')
  for (const list of CONTAINER_LISTS) {
    const containers = spec[list]
    if (containers === undefined || containers === null) continue
    if (!isList(containers)) throw refused(`spec.${list} is no list of containers`)
    for (const [index, container] of containers.entries()) {
      if (!isObject(container) || textOf(container.name) === '')
        throw refused(`spec.${list}[${index}] is no container with a name`)
      if (container.name === SIDECAR_CONTAINER || container.name === INIT_CONTAINER)
        throw refused(
          `spec.${list}[${index}].name ${container.name} is what the mesh calls a container of its own; choose another`,
        )
    }
  }
}

/**
 * Refuses containers that run as the user of the sidecar: the kernel could not tell their connections from those of the sidecar, and would let
 * them out of the mesh.
 *
 * @throws OsmError `OSM_INJECT_POD`
 */
export function checkUsers(pod: JsonObject, proxyUid: number): void {
  const spec = objectOf(pod.spec)
  const ofPod = objectOf(spec.securityContext).runAsUser
  for (const list of CONTAINER_LISTS) {
    for (const container of objectsOf(spec[list])) {
      const own = objectOf(container.securityContext).runAsUser
      if ((own ?? ofPod) !== proxyUid) continue
      const at = own === undefined ? 'spec.securityContext' : `container ${textOf(container.name)}: securityContext`
      throw refused(
        `${at}.runAsUser ${proxyUid} is the user of the sidecar, whose connections are not redirected; use another`,
      )
    }
  }
}

function refused(message: string): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>('OSM_INJECT_POD', message)
}
