import type { InstanceProbeBinding } from '@osm-ts/core'
import { bootstrapSecretName } from '@osm-ts/kubernetes'
import { OsmError, type ProxyUUID } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import { type JsonObject, objectOf, objectsOf, textOf, withMembers } from '../json/json.js'
import { driverInitContainers, type InitScripts, interceptionContainer } from '../sidecar/init-containers.js'
import { BOOTSTRAP_VOLUME, sidecarContainerName } from '../sidecar/names.js'
import { podDns } from '../sidecar/pod-dns.js'
import { sidecarContainer } from '../sidecar/sidecar-container.js'
import type { SidecarPlan } from './plan-sidecar.js'
import type { InjectionSettings } from './settings.js'

const DEFAULT_SERVICE_ACCOUNT = 'default'
const DEFAULT_GRACE_SECONDS = 30

/** What a pod is put together with. */
export interface AssemblyOptions {
  readonly scripts: InitScripts
  readonly settings: InjectionSettings
  readonly uuid: ProxyUUID
  readonly bindings: readonly InstanceProbeBinding[]
  /** True: what the pod has under the names of a driver comes from an earlier injection. */
  readonly replaceOwn: boolean
}

/** Name of the service account that a pod runs under. */
export function serviceAccountOf(pod: JsonObject): string {
  return textOf(objectOf(pod.spec).serviceAccountName) || DEFAULT_SERVICE_ACCOUNT
}

/**
 * The pod with the sidecar's containers and volumes.
 *
 * A native sidecar and what redirects connections to it come before all other init containers, which then use the mesh as the application does. A
 * classic one starts only after all of them: there redirection comes last, so that they have a network at all.
 *
 * @throws OsmError `OSM_INJECT_POD`
 */
export function assemble(pod: JsonObject, plan: SidecarPlan, options: AssemblyOptions): JsonObject {
  const { patch, context } = plan
  const { settings, uuid, bindings, replaceOwn } = options
  const native = context.nativeSidecar
  const sidecar = sidecarContainer({
    ...plan,
    name: sidecarContainerName(pod),
    bindings,
    pullPolicy: settings.pullPolicy,
    native,
    sleepingHooks: settings.sleepingHooks,
    graceSeconds: graceOf(pod),
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
    { name: BOOTSTRAP_VOLUME, secret: { secretName: bootstrapSecretName(uuid) } },
    ...patch.volumes.map(({ name, sizeLimit }) => ({
      name,
      emptyDir: sizeLimit === undefined ? {} : { sizeLimit },
    })),
  ]
  const spec = objectOf(pod.spec)
  const inits = free(spec, 'initContainers', first, replaceOwn)
  const containers = objectsOf(spec.containers)
  const allInits = native ? [...first, sidecar, ...inits] : [...inits, ...first]
  return {
    ...pod,
    spec: withMembers(spec, {
      ...(allInits.length === 0 ? {} : { initContainers: allInits }),
      containers: native ? containers : [...containers, sidecar],
      volumes: [...free(spec, 'volumes', volumes, replaceOwn), ...volumes],
      ...podDns(spec, { patch, context, ...settings }),
    }),
  }
}

function graceOf(pod: JsonObject): number {
  const { terminationGracePeriodSeconds: seconds } = objectOf(pod.spec)
  return typeof seconds === 'number' ? seconds : DEFAULT_GRACE_SECONDS
}

/** The items that the pod has itself, none of which may have a name that is added. */
function free(
  spec: JsonObject,
  list: 'initContainers' | 'volumes',
  added: readonly JsonObject[],
  replaceOwn: boolean,
): readonly JsonObject[] {
  const names = new Set(added.map(({ name }) => textOf(name)))
  const items = objectsOf(spec[list])
  const clash = items.findIndex(({ name }) => names.has(textOf(name)))
  if (clash === -1) return items
  if (replaceOwn) return items.filter(({ name }) => !names.has(textOf(name)))
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_POD',
    `spec.${list}[${clash}].name ${textOf(items[clash]?.name)} is a name that the sidecar needs; choose another`,
  )
}
