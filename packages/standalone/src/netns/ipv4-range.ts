import { isIPv4 } from 'node:net'

/** An IPv4 range with its host bits cleared, as numbers. */
export interface Ipv4Range {
  readonly network: number
  readonly prefix: number
}

/** Reads `address/prefix`; a bare address is a range of one, as `ip` prints it. Gives undefined for anything else. */
export function parseIpv4Range(text: string): Ipv4Range | undefined {
  const [address = '', prefixText = '32', ...rest] = text.split('/')
  if (!isIPv4(address) || !/^(\d|[12]\d|3[0-2])$/.test(prefixText) || rest.length > 0) return undefined
  const prefix = Number(prefixText)
  const value = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0)
  return { network: value - (value % rangeSize(prefix)), prefix }
}

function rangeSize(prefix: number): number {
  return 2 ** (32 - prefix)
}

/** The number of addresses in a range. */
export function sizeOf(range: Ipv4Range): number {
  return rangeSize(range.prefix)
}

/** True when two ranges share an address. */
export function overlap(a: Ipv4Range, b: Ipv4Range): boolean {
  return a.network < b.network + sizeOf(b) && b.network < a.network + sizeOf(a)
}

/** The address at a position of a range. */
export function addressAt(range: Ipv4Range, index: number): string {
  const value = range.network + index
  return [24, 16, 8, 0].map((shift) => String((value >>> shift) & 255)).join('.')
}

/** `address/prefix` */
export function formatIpv4Range(range: Ipv4Range): string {
  return `${addressAt(range, 0)}/${String(range.prefix)}`
}
