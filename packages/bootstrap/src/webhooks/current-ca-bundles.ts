import type { KubernetesApi } from '@osm-ts/kubernetes'
import { isOsmError } from '@osm-ts/driver-api'

import type { KeptObject } from '../reconcile/kept-object.js'
import { parseRoots } from './parse-roots.js'
import { TRUSTED_SINCE_ANNOTATION } from './webhook-configurations.js'
import { webhooksOf } from './write-webhook-configuration.js'

/** What the API server has verified webhooks by until now. */
export interface TrustedSoFar {
  /** PEM, the one that was current first. */
  readonly roots: readonly string[]
  /** When that was taken up, in milliseconds since 1970. */
  readonly since?: number
}

/** Reads the trust of the configurations as they are. */
export async function currentCaBundles(
  api: KubernetesApi,
  webhooks: readonly KeptObject[],
  signal: AbortSignal,
): Promise<TrustedSoFar> {
  const roots: string[] = []
  let since = Number.NaN
  for (const { type, name } of webhooks) {
    const live = await api.get(type, { namespace: '', name }, signal)
    if (live === undefined) continue
    if (Number.isNaN(since)) since = Date.parse(live.metadata.annotations?.[TRUSTED_SINCE_ANNOTATION] ?? '')
    for (const { clientConfig } of webhooksOf(live)) roots.push(...rootsOf(clientConfig.caBundle, name))
  }
  return { roots: [...new Set(roots)], ...(!Number.isNaN(since) && { since }) }
}

function rootsOf(caBundle: string | undefined, origin: string): readonly string[] {
  if (caBundle === undefined) return []
  try {
    return parseRoots(Buffer.from(caBundle, 'base64').toString('utf8'), origin)
  } catch (error) {
    // No one can have trusted what is not a certificate.
    if (!isOsmError(error)) throw error
    return []
  }
}
