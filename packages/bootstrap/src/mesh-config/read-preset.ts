import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import type { BootstrapErrorCode } from '../error-codes.js'
import { isJsonObject, type JsonObject } from './keyed-lists.js'

/**
 * The spec that ConfigMap `name` holds under the key `<name>.json`.
 *
 * @throws KubernetesError, or OsmError with code `OSM_BOOTSTRAP_PRESET_MISSING` or `OSM_BOOTSTRAP_PRESET_INVALID`
 */
export async function readPreset(
  api: KubernetesApi,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<JsonObject> {
  const key = `${name}.json`
  const configMap = await api.get(resourceTypes.ConfigMap, { namespace, name }, signal)
  const data = configMap?.data as Readonly<Record<string, string>> | undefined // what a ConfigMap's data is
  const text = data?.[key]
  if (text === undefined) {
    const what = configMap === undefined ? 'does not exist' : `has no key ${key}`
    throw new OsmError<BootstrapErrorCode>(
      'OSM_BOOTSTRAP_PRESET_MISSING',
      `ConfigMap ${namespace}/${name} ${what}; the chart brings it: install or upgrade the release again`,
    )
  }
  const value = parse(text)
  if (!isJsonObject(value)) {
    throw new OsmError<BootstrapErrorCode>(
      'OSM_BOOTSTRAP_PRESET_INVALID',
      `ConfigMap ${namespace}/${name}: key ${key} must hold a JSON object, the spec of the object to make`,
    )
  }
  return value
}

/** The parser's own message would quote the preset, which may hold an authorization header. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
