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

/** The range that a CIDR stands for, in one form of many: without host bits, and with IPv6 addresses as RFC 5952 writes them. */
export function canonicalCidr(range: string): string {
  const [address = '', length = ''] = range.split('/')
  const width = isIPv4(address) ? 8 : 16
  const groups = isIPv4(address) ? address.split('.').map(Number) : ipv6Groups(address)
  const masked = groups.map((group, index) => {
    const kept = Math.min(Math.max(Number(length) - index * width, 0), width)
    return group & ~((1 << (width - kept)) - 1)
  })
  const text = isIPv4(address) ? masked.join('.') : canonicalIPv6(masked.map((group) => group.toString(16)).join(':'))
  return `${text}/${length}`
}

/** An address in one form of many: IPv6 addresses as RFC 5952 writes them. */
export function canonicalAddress(address: string): string {
  return isIPv4(address) ? address : canonicalIPv6(address)
}

function ipv6Groups(address: string): readonly number[] {
  const [head = '', tail] = canonicalIPv6(address).split('::')
  const groups = (text: string): readonly number[] =>
    text === '' ? [] : text.split(':').map((it) => Number.parseInt(it, 16))
  const after = tail === undefined ? [] : groups(tail)
  const before = groups(head)
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

/** The parser of URLs writes every form, the one with an IPv4 address at the end included, in groups of hexadecimal digits. */
function canonicalIPv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}
