import {
  apiVersionOf,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  resourceTypes,
} from '@osm-ts/kubernetes'
import type { Logger } from '@osm-ts/driver-api'

import { meshLabels, type MeshIdentity } from '../mesh-identity.js'
import { writeObject } from '../write-object.js'
import { addDefaults } from './add-defaults.js'
import { isJsonObject, type JsonObject } from './keyed-lists.js'
import { fieldsOf, parseFields, type PresetFields, unionOf } from './preset-fields.js'
import { readPreset } from './read-preset.js'

/** Remembers which fields the presets had that were added, so that a later one does not bring back what was removed. */
const PRESET_FIELDS_ANNOTATION = 'openservicemesh.io/preset-fields'
/** ConfigMap of the chart. */
const PRESET = 'preset-mesh-config'

const type = resourceTypes.MeshConfig

/** What {@link ensureMeshConfig} works on. */
export interface MeshConfigTask {
  readonly api: KubernetesApi
  readonly mesh: MeshIdentity
  /** Name of the MeshConfig. */
  readonly configName: string
  readonly logger: Logger
}

/**
 * Makes the MeshConfig from the preset if there is none; adds to the one of the user what the preset has for the first time.
 *
 * @throws KubernetesError, or OsmError with a code of `OSM_BOOTSTRAP_*`
 */
export async function ensureMeshConfig(task: MeshConfigTask, signal: AbortSignal): Promise<void> {
  const { api, mesh, configName, logger } = task
  const preset = await readPreset(api, mesh.osmNamespace, PRESET, signal)
  let outcome: 'made' | 'changed' | 'left alone' = 'left alone'
  await writeObject(
    api,
    {
      type,
      name: { namespace: mesh.osmNamespace, name: configName },
      wanted: (live) => {
        if (live === undefined) {
          outcome = 'made'
          return newConfig(task, preset)
        }
        const wanted = withDefaults(live, preset, logger)
        outcome = wanted === undefined ? 'left alone' : 'changed'
        return wanted
      },
    },
    signal,
  )
  logger.info({ name: configName, outcome }, 'the MeshConfig is there')
}

function newConfig({ mesh, configName }: MeshConfigTask, preset: JsonObject): KubernetesManifest {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name: configName,
      namespace: mesh.osmNamespace,
      labels: meshLabels(mesh, 'osm-bootstrap'),
      annotations: { [PRESET_FIELDS_ANNOTATION]: JSON.stringify(fieldsOf(preset)) },
    },
    spec: preset,
  }
}

/** The object with what is new in the preset; undefined if nothing is. */
function withDefaults(live: KubernetesObject, preset: JsonObject, logger: Logger): KubernetesManifest | undefined {
  const earlier = earlierFields(live, logger)
  const fields = unionOf(earlier ?? {}, fieldsOf(preset))
  const spec = isJsonObject(live.spec) ? live.spec : {}
  const text = JSON.stringify(fields)
  // Nothing in it is new, so nothing is added; the comparison also spares a write at every start.
  if (live.metadata.annotations?.[PRESET_FIELDS_ANNOTATION] === text) return undefined
  return {
    ...live,
    metadata: { ...live.metadata, annotations: { ...live.metadata.annotations, [PRESET_FIELDS_ANNOTATION]: text } },
    spec: addDefaults(spec, preset, earlier ?? {}),
  }
}

function earlierFields(live: KubernetesObject, logger: Logger): PresetFields | undefined {
  const text = live.metadata.annotations?.[PRESET_FIELDS_ANNOTATION]
  if (text === undefined) return undefined
  const fields = parseFields(text)
  if (fields === undefined) {
    logger.warn(
      { name: live.metadata.name, annotation: PRESET_FIELDS_ANNOTATION },
      'an annotation is not what was written; fields that were removed may come back',
    )
  }
  return fields
}
