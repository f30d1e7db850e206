import type { ClientRetry } from '@osm-ts/driver-api/policy'

import type { ProxyView } from '../proxy-view.js'

/** Retries of one identity, by id of the outbound part. */
export type Retries = ReadonlyMap<string, ClientRetry['policy']>

/** What a caller retries. */
export function retriesOf({ proxy, reader }: ProxyView): Retries {
  if (proxy.clientRules === undefined) return new Map()
  const { retries } = reader.part(proxy.clientRules, 'clientRules')
  return new Map(retries.map(({ outbound, policy }) => [outbound, policy]))
}
