import { isIPv6 } from 'node:net'

import type { SocketAddress } from '@osm-ts/driver-api/policy'

import type { SocketText } from '../config/upstream-types.js'

/** An address as Pipy reads it. */
export function socketText({ address, port }: SocketAddress): SocketText {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}

/** A host as it is in front of the port. */
export function hostText(host: string, port: number): SocketText {
  return socketText({ address: host, port })
}
