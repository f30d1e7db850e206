import { isIP, SocketAddress as NodeAddress } from 'node:net'
import type { HostAddress, ProxyPart, SocketAddress } from '@osm-ts/driver-api/policy'
import type { AddressSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/address_pb.js'
import type { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'

import type { Init } from './encode.js'

/** An address and port. */
export function socketAddress({ address, port }: SocketAddress): Init<typeof AddressSchema> {
  return {
    address: { case: 'socketAddress', value: { address, portSpecifier: { case: 'portValue', value: port } } },
  }
}

/** A host and port as HTTP writes them. */
export function authority({ host, port }: HostAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

/** A range of addresses, as Envoy's messages write it. */
export interface AddressRange {
  readonly addressPrefix: string
  readonly prefixLen: number
}

/** The range that holds one address. */
export function hostRange(address: string): AddressRange {
  return { addressPrefix: address, prefixLen: isIP(address) === 6 ? 128 : 32 }
}

/** An IP address in the form in which Envoy prints it. */
export function printedAddress(address: string): string {
  return isIP(address) === 6 ? new NodeAddress({ address, family: 'ipv6' }).address : address
}

/** A range in CIDR notation. */
export function cidrRange(cidr: string): AddressRange {
  const [addressPrefix = '', length = '0'] = cidr.split('/')
  return { addressPrefix, prefixLen: Number(length) }
}

/**
 * Where a listener takes connections. A wildcard becomes both wildcards for a proxy with both families, since redirected connections of either must
 * arrive: to Envoy each stands for its own family alone.
 */
export function listenAddress(listen: SocketAddress, ipFamilies: ProxyPart['ipFamilies']): Init<typeof ListenerSchema> {
  const other = otherWildcard(listen.address)
  const both = other !== undefined && ipFamilies.includes('IPv6') && ipFamilies.includes('IPv4')
  return {
    address: socketAddress(listen),
    ...(both ? { additionalAddresses: [{ address: socketAddress({ address: other, port: listen.port }) }] } : {}),
  }
}

function otherWildcard(address: string): string | undefined {
  if (address === '0.0.0.0') return '::'
  return address === '::' ? '0.0.0.0' : undefined
}
