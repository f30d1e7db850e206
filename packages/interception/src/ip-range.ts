import { isIPv4, isIPv6 } from 'node:net'

/** Address families, each with its own kernel tables and its own restore program. */
export type IpFamily = 'ipv4' | 'ipv6'

/** An address with a prefix length, its host bits cleared. */
export interface IpRange {
  readonly family: IpFamily
  readonly prefix: number
  /** The network as a number; ranges of one family sort by it. */
  readonly network: bigint
  /** Canonical text, as the kernel's own listing prints it. */
  readonly text: string
}

const addressBits = { ipv4: 32, ipv6: 128 } as const
const rangeGrammar = /^([0-9A-Fa-f.:]{2,45})\/(0|[1-9][0-9]{0,2})$/

/** Family of a plain address, or undefined when it is none. Zone suffixes (`fe80::1%eth0`) are refused: they name an interface, not a peer. */
export function addressFamily(text: string): IpFamily | undefined {
  if (isIPv4(text)) return 'ipv4'
  return !text.includes('%') && isIPv6(text) ? 'ipv6' : undefined
}

/** Reads `address/prefix`. Gives undefined for everything else, a bare address included. */
export function parseIpRange(text: string): IpRange | undefined {
  const [, address, prefixText] = rangeGrammar.exec(text) ?? []
  if (address === undefined || prefixText === undefined) return undefined
  const family = addressFamily(address)
  const prefix = Number(prefixText)
  if (family === undefined || prefix > addressBits[family]) return undefined
  const hostBits = BigInt(addressBits[family] - prefix)
  const network = (addressValue(address, family) >> hostBits) << hostBits
  return { family, prefix, network, text: `${formatAddress(network, family)}/${String(prefix)}` }
}

function addressValue(address: string, family: IpFamily): bigint {
  if (family === 'ipv4') return address.split('.').reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
  const [head = '', tail] = expandDottedTail(address).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}

/** `::ffff:192.0.2.1` writes the last 32 bits as IPv4; the groups around it then stay hexadecimal. */
function expandDottedTail(address: string): string {
  const at = address.lastIndexOf(':') + 1
  const dotted = address.slice(at)
  if (!dotted.includes('.')) return address
  const value = addressValue(dotted, 'ipv4')
  return `${address.slice(0, at)}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
}

function formatAddress(value: bigint, family: IpFamily): string {
  if (family === 'ipv4') return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn))
  const run = longestZeroRun(groups)
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':')
  return run.length < 2
    ? hex(groups)
    : `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.start + run.length))}`
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 }
  let length = 0
  groups.forEach((group, index) => {
    length = group === 0 ? length + 1 : 0
    if (length > best.length) best = { start: index - length + 1, length }
  })
  return best
}
