import { isIP, isIPv4 } from 'node:net'

/** True for an IPv4 or IPv6 address, without brackets, port or zone. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}

/** True for a range in CIDR form, such as `10.0.0.0/8` or `fd00::/8`. */
export function isCidr(text: string): boolean {
  const [, address, bits] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  if (address === undefined || bits === undefined || !isAddress(address)) return false
  return Number(bits) <= (isIPv4(address) ? 32 : 128)
}
