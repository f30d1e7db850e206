import { allowedClasses, sidecarClassAnnotation, type DriverRegistry, type MeshConfig } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'

import { shown } from '../annotations/annotation-error.js'
import type { InjectorErrorCode } from '../error-codes.js'

/** The sidecar class of a pod and who has chosen it. */
export interface ClassChoice {
  readonly sidecarClass: string
  readonly chosenBy: string
}

/**
 * The class that pod, namespace or MeshConfig name, in this order.
 *
 * @throws OsmError `OSM_INJECT_CLASS`, listing the classes that may be chosen
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
  const why = allowed.includes(sidecarClass)
    ? 'for which no driver is loaded'
    : 'which MeshConfig allows nobody to choose (spec.sidecar.sidecarDrivers does)'
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_CLASS',
    `${chosenBy} names sidecar class ${shown(written)}, ${why}; may be chosen: ${choices.join(', ') || 'none'}`,
    { details: { choices } },
  )
}
