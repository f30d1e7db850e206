import type { ConnectedSidecars, DriverHost, MeshCatalog } from '@osm-ts/core'

/** The sidecars of this replica, and those that have not confirmed their configuration: all of them while policies are being computed. */
export function connectedSidecars(
  host: Pick<DriverHost, 'report'>,
  { settled }: Pick<MeshCatalog, 'settled'>,
): ConnectedSidecars {
  const connected = host.report().proxies.filter((proxy) => proxy.connected)
  return {
    count: connected.length,
    unconfirmed: connected.filter(({ state }) => !settled || state !== 'applied').map(({ name }) => name),
  }
}
