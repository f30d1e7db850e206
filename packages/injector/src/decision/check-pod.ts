import { sidecarContainerNames } from '@osm-ts/kubernetes'
import { OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import { annotations } from '../annotations/annotation.js'
import type { InjectorErrorCode } from '../error-codes.js'
import { isList, type JsonObject, objectOf, textOf } from '../json/json.js'
import type { Pod } from '../pod/pod.js'
import { BOOTSTRAP_VOLUME, CONTAINER_LISTS, INIT_CONTAINER } from '../sidecar/sidecar-container.js'

const RESERVED_NAMES: ReadonlySet<unknown> = new Set([INIT_CONTAINER, sidecarContainerNames.reserved])

/** Containers of a pod, of all lists together. Nodes start 110 pods, and few pods have ten. */
const MAX_CONTAINERS = 256
/** Characters of labels and annotations together: as many as the API server stores of annotations. */
const MAX_METADATA = 256 * 1024

/**
 * Refuses a pod that takes long to give a sidecar, before anything is read of it. Anyone who may create pods could keep others from creating theirs.
 *
 * @throws OsmError `OSM_INJECT_POD`
 */
export function checkSize(pod: JsonObject): void {
  const spec = objectOf(pod.spec)
  const containers = CONTAINER_LISTS.reduce((sum, list) => sum + lengthOf(spec[list]), 0)
  if (containers > MAX_CONTAINERS)
    throw refused(`has ${containers} containers; at most ${MAX_CONTAINERS} are taken: divide the pod`)
  const { labels, annotations } = objectOf(pod.metadata)
  const length = textLength(objectOf(labels)) + textLength(objectOf(annotations))
  if (length > MAX_METADATA)
    throw refused(`has labels and annotations of ${length} characters together; at most ${MAX_METADATA} are taken`)
}

/** Characters of the names and texts. */
function textLength(texts: JsonObject): number {
  return Object.keys(texts).reduce((sum, name) => sum + name.length + textOf(texts[name]).length, 0)
}

function lengthOf(value: JsonValue | undefined): number {
  return isList(value) ? value.length : 0
}

/**
 * Refuses a pod that can't have a sidecar as it stands.
 *
 * @throws OsmError `OSM_INJECT_POD`
 */
export function checkPod({ spec }: Pod): void {
  for (const list of CONTAINER_LISTS) {
    for (const [index, { name, volumeMounts = [] }] of (spec[list] ?? []).entries()) {
      if (RESERVED_NAMES.has(name))
        throw refused(
          `spec.${list}[${index}].name ${name} is what the mesh calls a container of its own; choose another`,
        )
      if (volumeMounts.some((mount) => mount.name === BOOTSTRAP_VOLUME))
        throw refused(
          `spec.${list}[${index}].volumeMounts has ${BOOTSTRAP_VOLUME}, the volume with the key of the sidecar, which no other container may read; remove the mount`,
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
export function checkUsers({ spec }: Pod, proxyUid: number): void {
  const ofPod = spec.securityContext?.runAsUser
  for (const list of CONTAINER_LISTS) {
    for (const { name, securityContext } of spec[list] ?? []) {
      const own = securityContext?.runAsUser
      if ((own ?? ofPod) !== proxyUid) continue
      const at = own === undefined ? 'spec.securityContext' : `container ${name}: securityContext`
      throw refused(
        `${at}.runAsUser ${proxyUid} is the user of the sidecar, whose connections are not redirected; use another`,
      )
    }
  }
}

/**
 * Refuses containers that listen where the sidecar does: one of the two could not start, or the container would be reached past the mesh.
 *
 * @param probePorts - where the sidecar answers the probes of the pod
 * @throws OsmError `OSM_INJECT_POD`
 */
export function checkPorts(
  { spec }: Pod,
  { sidecar, interception, ready, metrics, admin }: SidecarPatch,
  probePorts: readonly number[],
): void {
  const taken = new Map<string, number>()
  const take = (port: number | undefined, protocol: string): void => {
    if (port !== undefined) taken.set(`${port}/${protocol}`, port)
  }
  for (const { port, protocol } of sidecar.ports) take(port, protocol)
  const { inboundPort, outboundPort, excludedInboundPorts = [], dnsPort } = interception ?? {}
  for (const port of [inboundPort, outboundPort, dnsPort, ready.http.port, metrics?.port, admin?.port])
    take(port, 'TCP')
  for (const port of [...excludedInboundPorts, ...probePorts]) take(port, 'TCP')
  take(dnsPort, 'UDP')
  for (const list of CONTAINER_LISTS) {
    for (const { name, ports = [] } of spec[list] ?? []) {
      for (const [index, { containerPort, protocol = '' }] of ports.entries()) {
        if (containerPort === undefined || !taken.has(`${containerPort}/${protocol || 'TCP'}`)) continue
        throw refused(
          `container ${name}: ports[${index}].containerPort ${containerPort} is a port of the sidecar, which listens on ` +
            `${listed(taken)} in every pod; have the container listen on another port, or keep the pod out of the mesh with annotation ${annotations.injection}: disabled`,
        )
      }
    }
  }
}

/** Port numbers in order, each once. */
function listed(taken: ReadonlyMap<string, number>): string {
  return [...new Set(taken.values())].sort((a, b) => a - b).join(', ')
}

function refused(message: string): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>('OSM_INJECT_POD', message)
}
