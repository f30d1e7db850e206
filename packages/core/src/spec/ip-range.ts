import { SocketAddress } from 'node:net'

import { ipOctets } from '@osm-ts/driver-api/toolkit'

import { isCidr } from './addresses.js'

/** A range of IP addresses. IPv4 and IPv6 have nothing in common, as sidecars see it. */
export interface IpRange {
  /** Canonical CIDR form: no bits behind the prefix, IPv6 in its shortest spelling. */
  readonly text: string
  /** Of the first address. */
  readonly octets: readonly number[]
  readonly bits: number
}

/** Every address there is. */
export const EVERY_ADDRESS: readonly string[] = ['0.0.0.0/0', '::/0']

/** Reads a range in CIDR form, or an address, which is a range of one; undefined for any other text. */
export function parseIpRange(text: string): IpRange | undefined {
  if (text.includes('/') && !isCidr(text)) return undefined
  const [address = '', length] = text.split('/')
  const octets = ipOctets(address)
  if (octets === undefined) return undefined
  const bits = length === undefined ? octets.length * 8 : Number(length)
  const first = [...octets].map((octet, index) => octet & mask(bits - index * 8))
  return { text: `${format(first)}/${bits}`, octets: first, bits }
}

/** True if every address of the second range is in the first. */
export function coversRange(outer: IpRange, inner: IpRange): boolean {
  if (outer.octets.length !== inner.octets.length || outer.bits > inner.bits) return false
  return outer.octets.every((octet, index) => octet === ((inner.octets[index] ?? 0) & mask(outer.bits - index * 8)))
}

/** First 96 bits of IPv6 addresses that stand for an IPv4 address: mapped, compatible, and translated ones of two kinds. */
const EMBEDDING: readonly string[] = [
  '0.0.0.0.0.0.0.0.0.0.255.255',
  '0.0.0.0.0.0.0.0.255.255.0.0',
  '0.0.0.0.0.0.0.0.0.0.0.0',
  '0.100.255.155.0.0.0.0.0.0.0.0',
]

/** First 16 bits of addresses of 6to4, which the IPv4 address follows. */
const SIX_TO_FOUR = '32.2'

/** The IPv4 address that an IPv6 address stands for; undefined if it stands for none, as `::` and `::1` do. */
export function embeddedIpv4({ octets, bits, text }: IpRange): string | undefined {
  if (octets.length !== 16 || bits !== 128 || text === '::/128' || text === '::1/128') return undefined
  if (octets.slice(0, 2).join('.') === SIX_TO_FOUR) return octets.slice(2, 6).join('.')
  return EMBEDDING.includes(octets.slice(0, 12).join('.')) ? octets.slice(12).join('.') : undefined
}

/** A set of ranges. A lookup costs one step for each distinct prefix length, however many ranges there are. */
export class IpRangeSet {
  readonly ranges: readonly IpRange[]
  readonly #texts: ReadonlySet<string>
  readonly #lengths: readonly number[]

  constructor(ranges: readonly IpRange[]) {
    this.ranges = ranges
    this.#texts = new Set(ranges.map(keyOf))
    this.#lengths = [...new Set(ranges.map(({ bits }) => bits))]
  }

  /** True if one of the ranges holds every address of this one. */
  covers(range: IpRange): boolean {
    return this.#lengths.some((bits) => bits <= range.bits && this.#texts.has(keyOf(shortened(range, bits))))
  }

  /** True if some address is in a range of both. */
  meets(other: IpRangeSet): boolean {
    return this.ranges.some((range) => other.covers(range)) || other.ranges.some((range) => this.covers(range))
  }
}

function keyOf({ octets, bits }: Pick<IpRange, 'octets' | 'bits'>): string {
  return `${octets.join('.')}/${bits}`
}

/** The range with a shorter prefix that holds this one. */
function shortened({ octets }: IpRange, bits: number): Pick<IpRange, 'octets' | 'bits'> {
  return { octets: octets.map((octet, index) => octet & mask(bits - index * 8)), bits }
}

/** The byte whose first so many bits are set. */
function mask(bits: number): number {
  return (0xff00 >> Math.min(8, Math.max(0, bits))) & 0xff
}

function format(octets: readonly number[]): string {
  if (octets.length === 4) return octets.join('.')
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((octets[index * 2] ?? 0) << 8) | (octets[index * 2 + 1] ?? 0)).toString(16),
  )
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address
}
