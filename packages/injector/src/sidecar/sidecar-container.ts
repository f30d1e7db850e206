import type { InstanceProbeBinding } from '@osm-ts/core'
import type { Resources, SidecarPatch } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { sidecarContainerNames } from '@osm-ts/kubernetes'

import type { JsonObject } from '../json/json.js'
import type { InjectionSettings } from '../inject/settings.js'
import type { Pod } from '../pod/pod.js'
import { type EndOptions, preStop, sidecarProbes } from './lifecycle.js'
import { ContainerValues, literal } from './values.js'
import { socketMount, type WorkloadApi } from './workload-api.js'

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

/** User of sidecars on Windows, as OSM has it. */
const WINDOWS_USER = 'EnvoyUser'

/** What the sidecar container is made from. */
export interface SidecarOptions extends EndOptions {
  /** Of the container. */
  readonly name: string
  readonly patch: SidecarPatch
  readonly sidecarClass: string
  /** Present: the sidecar gets the socket of the Workload API. */
  readonly workloadApi: WorkloadApi | undefined
  readonly podOS: 'linux' | 'windows'
  readonly resources: Required<Resources>
  readonly bindings: readonly InstanceProbeBinding[]
  readonly pullPolicy: InjectionSettings['pullPolicy']
}

/** Folder in which the sidecar of a class sees its files. */
export function filesFolder(sidecarClass: string): string {
  return `/etc/${sidecarClass}`
}

/** The container of a sidecar. */
export function sidecarContainer(options: SidecarOptions): JsonObject {
  const { patch, sidecarClass, podOS, native } = options
  const { sidecar } = patch
  const values = new ContainerValues(filesFolder(sidecarClass))
  const command = [...(sidecar.initWrapper ?? []).map((word) => values.text(word)), literal(sidecar.binary)]
  const args = sidecar.args.map((arg) => values.text(arg))
  const lifecycle = podOS === 'windows' ? undefined : preStop(patch, options, values)
  const env = values.environment(sidecar.env)
  const resources = given(sidecar.resources ?? options.resources)
  return {
    name: options.name,
    image: sidecar.image,
    imagePullPolicy: options.pullPolicy,
    command,
    args,
    env,
    ports: ports(patch, options.bindings),
    ...(resources === undefined ? {} : { resources }),
    securityContext: securityContext(patch, podOS),
    volumeMounts: [
      { name: BOOTSTRAP_VOLUME, mountPath: filesFolder(sidecarClass), readOnly: true },
      ...patch.volumes.map(({ name, mountPath }) => ({ name, mountPath })),
      ...(options.workloadApi === undefined ? [] : [socketMount()]),
    ],
    ...sidecarProbes(patch, native),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    ...(native ? { restartPolicy: 'Always' } : {}),
  }
}

/** Amounts, without sides that name none. */
function given({ limits = {}, requests = {} }: Resources): JsonObject | undefined {
  const sides = Object.entries({ limits, requests }).filter(([, amounts]) => Object.keys(amounts).length > 0)
  return sides.length === 0 ? undefined : Object.fromEntries(sides)
}

function ports(patch: SidecarPatch, bindings: readonly InstanceProbeBinding[]): readonly JsonValue[] {
  const probed = new Map(bindings.map(({ probe, port }) => [port, `${probe}-port`]))
  const ofProbes = [...probed].sort(([a], [b]) => a - b).map(([port, name]) => ({ name, containerPort: port }))
  const names = new Set<string>()
  return [
    ...patch.sidecar.ports.map(({ name, port, protocol }) => ({ name, containerPort: port, protocol })),
    ...ofProbes.flatMap(({ name, containerPort }) => {
      if (names.has(name)) return []
      names.add(name)
      return [{ name, containerPort, protocol: 'TCP' }]
    }),
  ]
}

/** The least that a container can do with; Windows knows none of it but the user. */
function securityContext({ sidecar: { security } }: SidecarPatch, podOS: 'linux' | 'windows'): JsonObject {
  if (podOS === 'windows') return { windowsOptions: { runAsUserName: WINDOWS_USER } }
  return {
    runAsUser: security.runAsUser,
    runAsGroup: security.runAsUser,
    runAsNonRoot: true,
    privileged: false,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: security.readOnlyRootFilesystem,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }
}
