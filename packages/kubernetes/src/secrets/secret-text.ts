import type { KubernetesApi, ObjectName } from '../api.js'
import { resourceTypes } from '../resource-types.js'

/**
 * Reads a key of a Secret as text; undefined if there is no such Secret or key. Secret.
 *
 * @throws KubernetesError as the API does
 */
export async function readSecretText(
  api: KubernetesApi,
  { key, ...name }: ObjectName & { readonly key: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const secret = await api.get(resourceTypes.Secret, name, signal)
  const data = (secret?.data ?? {}) as Readonly<Record<string, unknown>> // the value is checked below
  const value = Object.hasOwn(data, key) ? data[key] : undefined
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined
}
