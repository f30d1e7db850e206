import { type Clock, pause } from '@osm-ts/core'
import type { KubernetesApi } from '@osm-ts/kubernetes'

import type { Attachment } from '../options.js'

/** SMI kinds and the versions that are read: what `/smi/version` answers. */
export const smiVersions = Object.freeze({
  HTTPRouteGroup: 'specs.smi-spec.io/v1alpha4',
  TCPRoute: 'specs.smi-spec.io/v1alpha4',
  TrafficTarget: 'access.smi-spec.io/v1alpha3',
  TrafficSplit: 'split.smi-spec.io/v1alpha4',
})

const PERIOD_MS = 2000

/** What the API server is asked with. */
export interface SmiDiscoveryOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
}

/** Has a controller become ready only when the API server serves SMI. Once it did, that is not asked again: an API server that is away changes nothing. */
export function smiDiscovery({ api, clock }: SmiDiscoveryOptions): Attachment {
  return async ({ signal, logger }) => {
    let found = false
    const look = async (): Promise<void> => {
      let told = ''
      while (!found && !signal.aborted) {
        const missing = await missingKinds(api, signal).catch((error: unknown) => [String(error)])
        found = missing.length === 0
        const text = missing.join(', ')
        if (text !== '' && text !== told) logger.warn({ missing }, 'not ready: the API server does not serve SMI')
        told = text
        if (!found) await pause(clock, PERIOD_MS, signal)
      }
    }
    return { ready: async () => found, stopped: look() }
  }
}

async function missingKinds(api: KubernetesApi, signal: AbortSignal): Promise<readonly string[]> {
  const versions = [...new Set(Object.values(smiVersions))]
  const served = await Promise.all(
    versions.map(async (version) => {
      const list = (await api.read(`/apis/${version}`, signal)) as
        { readonly resources?: readonly { readonly kind?: string }[] } | undefined
      return [version, (list?.resources ?? []).map(({ kind }) => kind)] as const
    }),
  )
  const kinds = new Map(served)
  return Object.entries(smiVersions)
    .filter(([kind, version]) => kinds.get(version)?.includes(kind) !== true)
    .map(([kind, version]) => `${kind} (${version})`)
}
