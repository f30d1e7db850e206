import { BlockList, isIP } from 'node:net'

/** True for an address of either family. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0
}

/** True if the address lies in a range such as 10.0.0.0/8. An invalid range contains no address. */
export function isInRange(address: string, range: string): boolean {
  const [first = '', length = ''] = range.split('/')
  const family = isIP(first)
  if (family === 0 || isIP(address) !== family || !/^\d{1,3}$/.test(length)) return false
  const bits = Number(length)
  if (bits > (family === 4 ? 32 : 128)) return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(first, bits, type)
  return list.check(address, type)
}

/** True if a range is one address. */
export function isSingle(range: string): boolean {
  return range.endsWith(range.includes(':') ? '/128' : '/32')
}
