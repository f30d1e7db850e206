import { embeddedIpv4, IpRangeSet, parseIpRange } from '../../spec/ip-range.js'

/** Ranges that no provider may announce, each with the reason. */
const REFUSED: readonly (readonly [reason: string, ranges: readonly string[]])[] = [
  ['is unspecified', ['0.0.0.0/8', '::/128']],
  ['is a multicast address', ['224.0.0.0/4', 'ff00::/8']],
  ['is reserved', ['240.0.0.0/4']],
  ['is link-local, where clouds serve metadata', ['169.254.0.0/16', 'fe80::/10']],
  // Beside 169.254.169.254.
  [
    'is the metadata address of a cloud',
    [
      ...['168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'], // Azure, Alibaba Cloud, Oracle Cloud Classic
      'fd00:ec2::/32', // AWS
      'fd20:ce::254/128', // Google Cloud
      'fd00:c1::a9fe:a9fe/128', // Oracle Cloud
      'fd00:42::42/128', // Scaleway
      'fd00:a9fe:a9fe::1/128', // Akamai
      'fd00:100::100:200/128', // Alibaba Cloud
    ],
  ],
]
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** Which addresses a provider may announce. */
export interface AddressRuleOptions {
  /** True where the whole mesh is on one machine. */
  readonly allowLoopback: boolean
  /** Further CIDRs that are refused, such as the service range of the cluster and addresses of the control plane. */
  readonly refused: readonly string[]
}

/**
 * Refuses addresses that would aim the mesh at the caller itself, at metadata of a cloud, or at the control plane. Instances are announced by what
 * tenants and DNS servers say, so that their addresses are never taken on trust.
 */
export class AddressRules {
  readonly #refused: readonly (readonly [string, IpRangeSet])[]

  /** @throws RangeError if a refused CIDR is invalid */
  constructor({ allowLoopback, refused }: AddressRuleOptions) {
    this.#refused = [
      ...(allowLoopback ? [] : [['is a loopback address', rangeSet(LOOPBACK)] as const]),
      ...REFUSED.map(([reason, ranges]) => [reason, rangeSet(ranges)] as const),
      ['belongs to the cluster or the control plane', rangeSet(refused)] as const,
    ]
  }

  /** Reason for which the address is refused, to follow the address in a sentence; undefined for a permitted one. */
  refusal(address: string): string | undefined {
    const range = address.includes('/') ? undefined : parseIpRange(address)
    if (range === undefined) return 'is not an IP address'
    const found = this.#refused.find(([, ranges]) => ranges.covers(range))
    if (found !== undefined) return found[0]
    const embedded = embeddedIpv4(range)
    return embedded === undefined ? undefined : this.refusal(embedded)
  }
}

function rangeSet(texts: readonly string[]): IpRangeSet {
  return new IpRangeSet(
    texts.map((text) => {
      const range = parseIpRange(text)
      if (range === undefined) throw new RangeError(`${text} is not an IP address or CIDR`)
      return range
    }),
  )
}
