import type { InstanceProbeBinding } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { workloadApiVolume } from '@osm-ts/kubernetes'

import type { InjectorErrorCode } from '../error-codes.js'
import type { JsonObject } from '../json/json.js'
import type { Pod } from '../pod/pod.js'
import { driverInitContainers, type InitScripts, interceptionContainer } from '../sidecar/init-containers.js'
import { podDns } from '../sidecar/pod-dns.js'
import { BOOTSTRAP_VOLUME, sidecarContainer, sidecarContainerName } from '../sidecar/sidecar-container.js'
import { socketVolume } from '../sidecar/workload-api.js'
import type { SidecarPlan } from './plan-sidecar.js'
import type { InjectionSettings } from './settings.js'

const DEFAULT_SERVICE_ACCOUNT = 'default'
const DEFAULT_GRACE_SECONDS = 30

/** A pod with what was made for it, for no one here to read any more. */
export type AssembledPod = Omit<Pod, 'spec'> & { readonly spec: JsonObject }

/** What a pod is put together with. */
export interface AssemblyOptions {
  readonly scripts: InitScripts
  readonly settings: InjectionSettings
  /** Where the files of the sidecar come from, as Kubernetes has it. */
  readonly files: JsonObject
  readonly bindings: readonly InstanceProbeBinding[]
  /** True: what the pod has under the names of a driver comes from an earlier injection. */
  readonly replaceOwn: boolean
}

/** Name of the service account that a pod runs under. */
export function serviceAccountOf({ spec: { serviceAccountName = '' } }: Pod): string {
  return serviceAccountName || DEFAULT_SERVICE_ACCOUNT
}

/**
 * The pod with the sidecar's containers and volumes.
 *
 * A native sidecar and what redirects connections to it come before all other init containers, which then use the mesh as the application does. A
 * classic one starts only after all of them: there redirection comes last, so that they have a network at all.
 *
 * @throws OsmError `OSM_INJECT_POD`
 */
export function assemble(pod: Pod, plan: SidecarPlan, options: AssemblyOptions): AssembledPod {
  const { patch, context } = plan
  const { settings, files, bindings, replaceOwn } = options
  const native = context.nativeSidecar
  const sidecar = sidecarContainer({
    ...plan,
    name: sidecarContainerName(pod),
    bindings,
    pullPolicy: settings.pullPolicy,
    native,
    sleepingHooks: settings.sleepingHooks,
    graceSeconds: pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
  })
  const redirection = interceptionContainer({
    scripts: options.scripts,
    patch,
    context,
    config: settings.config,
    image: plan.initImage,
  })
  const first = [...(redirection === undefined ? [] : [redirection]), ...driverInitContainers({ patch, context })]
  const volumes = [
    { name: BOOTSTRAP_VOLUME, ...files },
    ...patch.volumes.map(({ name, sizeLimit }) => ({
      name,
      emptyDir: sizeLimit === undefined ? {} : { sizeLimit },
    })),
    ...(plan.workloadApi === undefined ? [] : [socketVolume(plan.workloadApi)]),
  ]
  // Its name says where the sidecar has its certificate from, so that no volume of the user may have it.
  const reserved = [...volumes, { name: workloadApiVolume }]
  const { spec } = pod
  const inits = free('initContainers', spec.initContainers, first, replaceOwn)
  const allInits = native ? [...first, sidecar, ...inits] : [...inits, ...first]
  return {
    ...pod,
    spec: {
      ...spec,
      ...(allInits.length > 0 && { initContainers: allInits }),
      containers: native ? spec.containers : [...spec.containers, sidecar],
      volumes: [...free('volumes', spec.volumes, reserved, replaceOwn), ...volumes],
      ...podDns(spec, { patch, context, ...settings }),
    },
  }
}

/** The items that the pod has itself, none of which may have a name that is added. */
function free<T extends { readonly name?: string }>(
  list: 'initContainers' | 'volumes',
  items: readonly T[] = [],
  added: readonly JsonObject[],
  replaceOwn: boolean,
): readonly T[] {
  const names = new Set<unknown>(added.map(({ name }) => name))
  const clash = items.findIndex(({ name }) => names.has(name))
  if (clash === -1) return items
  if (replaceOwn) return items.filter(({ name }) => !names.has(name))
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_POD',
    `spec.${list}[${clash}].name ${items[clash]?.name ?? ''} is a name that the sidecar needs; choose another`,
  )
}
