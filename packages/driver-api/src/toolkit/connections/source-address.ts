import { ipOctets } from '../ip-octets.js'

/** Bytes of an IPv6 address that name a subnet: one machine has all addresses of a /64. */
const SUBNET_BYTES = 8
const MAPPED_IPV4 = '::ffff:'

/**
 * Names the peer that an address belongs to: an IPv4 address itself, also one that is mapped into IPv6, and the /64 of an IPv6 address.
 *
 * @param address - as Node.js writes the remote address of a socket
 */
export function sourceOf(address: string): string {
  if (address.toLowerCase().startsWith(MAPPED_IPV4) && address.includes('.')) return address.slice(MAPPED_IPV4.length)
  if (!address.includes(':')) return address
  const [withoutZone = address] = address.split('%')
  const bytes = ipOctets(withoutZone)
  return bytes === undefined ? address : `${bytes.subarray(0, SUBNET_BYTES).toString('hex')}/64`
}
