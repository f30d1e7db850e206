import { isDnsSubdomain } from '../identity/index.js'
import { canonicalAddress, isAddress } from './addresses.js'

/** Stands for every host. */
export const ANY_HOST = '*'

/** Begins a host that stands for every name below a domain. */
const WILDCARD = '*.'

/** A host outside the mesh as an Egress may name it. */
export interface EgressHost {
  /** `named`: one host. `domain`: every name below one, not the domain itself. `any`: every host. */
  readonly kind: 'named' | 'domain' | 'any'
  /** Lower case, without a final dot: the name or the address, in its canonical form, `*.<domain>`, or `*`. */
  readonly text: string
  /** The name or the address, or the domain; empty for `any`. */
  readonly name: string
}

/** Reads a host of an Egress; undefined if it is none. */
export function parseEgressHost(host: string): EgressHost | undefined {
  const text = host.toLowerCase().replace(/([^*])\.$/, '$1')
  if (text === ANY_HOST) return { kind: 'any', text, name: '' }
  const kind = text.startsWith(WILDCARD) ? 'domain' : 'named'
  const name = kind === 'domain' ? text.slice(WILDCARD.length) : text
  if (kind === 'named' && isAddress(name)) {
    const address = canonicalAddress(name)
    return { kind, text: address, name: address }
  }
  // What reads like an IPv4 address is one to resolvers, whole or not.
  return isDnsSubdomain(name) && !/(?:^|\.)\d+$/.test(name) ? { kind, text, name } : undefined
}

/** True for an Egress whose `https` is TLS to addresses: it names ranges and no host, so that there is no server name to tell it by. */
export function opensHttpsByAddress({
  hosts = [],
  ipAddresses = [],
}: {
  readonly hosts?: readonly string[] | undefined
  readonly ipAddresses?: readonly string[] | undefined
}): boolean {
  return hosts.length === 0 && ipAddresses.length > 0
}
