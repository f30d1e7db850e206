import {
  backoffMs,
  type KubernetesApi,
  meshObjectLabels,
  pause,
  type ProcessLogger,
  SecretCaStore,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'

import type { ControllerFlags } from '../controller-flags.js'

/** An API server that is away for longer has the program started anew. */
const PATIENCE_MS = 60_000
const BACKOFF = { firstMs: 500, lastMs: 5000 }

/**
 * Opens the certificate authority that all programs of a mesh share.
 *
 * @throws OsmError with a code of `OSM_CERT_*`
 */
export async function openAuthority(options: {
  readonly api: KubernetesApi
  readonly flags: Pick<ControllerFlags, 'meshName' | 'osmNamespace' | 'osmVersion' | 'caBundleSecretName'>
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}): Promise<TresorProvider> {
  const { api, flags, logger, signal } = options
  const store = new SecretCaStore({
    api,
    namespace: flags.osmNamespace,
    secretName: flags.caBundleSecretName,
    labels: { ...meshObjectLabels(flags.meshName, flags.osmVersion), meshName: flags.meshName },
    signal,
  })
  const end = performance.now() + PATIENCE_MS
  for (let failures = 1; ; failures += 1) {
    try {
      return await TresorProvider.open({ store, clock: systemClock, rootKey: { algorithm: 'ECDSA' } })
    } catch (error) {
      signal.throwIfAborted()
      // Only what passes is tried again: a root that can't be used is never replaced.
      if (!isOsmError(error) || error.code !== 'OSM_CERT_STORE_IO' || performance.now() > end) throw error
      logger.warn({ code: error.code, reason: error.message }, 'the roots can not be read yet')
      await pause(systemClock, backoffMs(failures, BACKOFF, Math.random), signal)
    }
  }
}
