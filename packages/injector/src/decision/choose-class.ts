import { allowedClasses, type DriverRegistry, type MeshConfig } from '@osm-ts/core'
import { sidecarClassAnnotation } from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import { shown } from '../annotations/annotation.js'
import type { InjectorErrorCode } from '../error-codes.js'
import { DriverFault } from './driver-fault.js'

/** The sidecar class of a pod and who has chosen it. */
export interface ClassChoice {
  readonly sidecarClass: string
  readonly chosenBy: string
}

/**
 * The class that pod, namespace or MeshConfig name, in this order.
 *
 * @throws OsmError `OSM_INJECT_CLASS`, listing the classes that may be chosen, or a fault of the driver that is not there yet
 */
export function chooseClass(
  pod: Readonly<Record<string, string>>,
  namespace: { readonly name: string; readonly annotations: Readonly<Record<string, string>> },
  config: MeshConfig,
  registry: DriverRegistry,
): ClassChoice {
  const ofPod = pod[sidecarClassAnnotation]
  const ofNamespace = namespace.annotations[sidecarClassAnnotation]
  const [written, chosenBy] =
    ofPod !== undefined
      ? [ofPod, `annotation ${sidecarClassAnnotation} of the pod`]
      : ofNamespace !== undefined
        ? [ofNamespace, `annotation ${sidecarClassAnnotation} of namespace ${namespace.name}`]
        : [config.sidecar.sidecarClass, 'MeshConfig']
  const sidecarClass = written.toLowerCase()
  const allowed = allowedClasses(config)
  const served = new Set(registry.names())
  const choices = allowed.filter((name) => served.has(name))
  if (choices.includes(sidecarClass)) return { sidecarClass, chosenBy }
  if (!allowed.includes(sidecarClass))
    throw refused('which MeshConfig does not allow (add it to spec.sidecar.sidecarDrivers)', written, choices, chosenBy)
  const refusal = registry.refusal(sidecarClass)
  if (refusal === undefined) throw refused('for which no driver is loaded', written, choices, chosenBy)
  // One that may still come is no fault of anyone who has chosen it.
  if (!refusal.final) {
    const message = `the driver of sidecar class ${sidecarClass} is not there yet: ${refusal.message}`
    throw new DriverFault(sidecarClass, refusal.code, message)
  }
  throw refused(`whose driver is refused (${refusal.message} [${refusal.code}])`, written, choices, chosenBy)
}

function refused(why: string, written: string, choices: readonly string[], chosenBy: string): OsmError {
  return new OsmError<InjectorErrorCode>(
    'OSM_INJECT_CLASS',
    `${chosenBy} names sidecar class ${shown(written)}, ${why}; may be chosen: ${choices.join(', ') || 'none'}`,
    { details: { choices } },
  )
}
