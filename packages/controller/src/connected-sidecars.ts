import type { ConnectedSidecars, DriverHost } from '@osm-ts/core'

/** The sidecars of this replica, and those that have not confirmed their configuration. */
export function connectedSidecars(host: Pick<DriverHost, 'report'>): ConnectedSidecars {
  const connected = host.report().proxies.filter((proxy) => proxy.connected)
  return {
    count: connected.length,
    unconfirmed: connected.filter(({ state }) => state !== 'applied').map(({ name }) => name),
  }
}
