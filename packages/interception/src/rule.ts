import type { IpFamily } from './ip-range.js'

/** One condition of a rule; all conditions of a rule must hold. */
export type Match =
  | { readonly kind: 'destination'; readonly range: string; readonly except?: boolean }
  /** Any nameserver of the pod: a rule for each of them. They are known only inside the pod. */
  | { readonly kind: 'nameserver' }
  | { readonly kind: 'inInterface' | 'outInterface'; readonly name: string }
  | { readonly kind: 'destinationPort'; readonly port: number }
  /** At most {@link maxPortsPerRule} ports. */
  | { readonly kind: 'destinationPorts'; readonly ports: readonly number[] }
  | { readonly kind: 'owner'; readonly uid: number; readonly except?: boolean }
  | { readonly kind: 'ownerGroup'; readonly gid: number }
  /** To an address of this machine itself, not on to another one such as a container. */
  | { readonly kind: 'toThisMachine' }
  /** Packets of connections that the kernel already tracks. */
  | { readonly kind: 'established' }

/** Where a DNAT rule sends a connection. `podAddress` is known only inside the pod. */
export type DnatDestination =
  { readonly kind: 'address'; readonly address: string; readonly port?: number } | { readonly kind: 'podAddress' }

/** What a rule does with a connection that it matches. */
export type Target =
  | { readonly kind: 'jump'; readonly chain: string }
  | { readonly kind: 'return' }
  | { readonly kind: 'redirect'; readonly port: number }
  | { readonly kind: 'dnat'; readonly to: DnatDestination }
  | { readonly kind: 'reject' }

/** One rule at the end of `chain`. */
export interface Rule {
  readonly chain: string
  readonly protocol: 'tcp' | 'udp'
  readonly matches: readonly Match[]
  readonly target: Target
}

/** The part of a ruleset that lies in one kernel table. */
export interface RuleTable {
  readonly name: 'nat' | 'filter'
  /** Our own chains. They hold our rules only, so they may be emptied at any time. */
  readonly chains: readonly string[]
  readonly rules: readonly Rule[]
  /** The jumps from the kernel's chains, which others use as well, into ours; first wins. */
  readonly hooks: readonly Rule[]
}

/** The rules of one address family: what one restore call brings in. */
export interface FamilyRules {
  readonly family: IpFamily
  readonly tables: readonly RuleTable[]
}

/** The rules of both families. */
export interface InterceptionRules {
  readonly ipv4: FamilyRules
  readonly ipv6: FamilyRules
}

/** All chains of ours begin with this; whatever does is ours to replace. */
export const ownChainPrefix = 'OSM_PROXY_'

/** What the kernel's multiport match holds. */
export const maxPortsPerRule = 15

/** Stands for the address of the pod in the text of a rule; never a valid address, so it can't slip through to the kernel. */
export const podAddressPlaceholder = '@POD_ADDRESS@'

/** Stands for the address of a nameserver of the pod in the text of a rule; never a valid address. */
export const nameserverPlaceholder = '@NAMESERVER@'

/**
 * The specification of a rule, without the command and chain before it.
 *
 * Words come in the order in which `iptables-save` prints them: what the kernel lists can be compared with what we requested as text.
 */
export function formatRuleSpec(rule: Rule): string {
  const words = [
    ...matchWords(rule, 'destination'),
    ...matchWords(rule, 'nameserver'),
    ...matchWords(rule, 'inInterface'),
    ...matchWords(rule, 'outInterface'),
    `-p ${rule.protocol}`,
    ...matchWords(rule, 'established'),
    ...matchWords(rule, 'destinationPort'),
    ...matchWords(rule, 'destinationPorts'),
    ...matchWords(rule, 'owner'),
    ...matchWords(rule, 'ownerGroup'),
    ...matchWords(rule, 'toThisMachine'),
    formatTarget(rule.target),
  ]
  return words.join(' ')
}

function matchWords(rule: Rule, kind: Match['kind']): readonly string[] {
  return rule.matches.filter((match) => match.kind === kind).map((match) => formatMatch(match, rule.protocol))
}

function formatMatch(match: Match, protocol: Rule['protocol']): string {
  switch (match.kind) {
    case 'destination':
      return `${match.except === true ? '! ' : ''}-d ${match.range}`
    case 'nameserver':
      return `-d ${nameserverPlaceholder}`
    case 'inInterface':
      return `-i ${match.name}`
    case 'outInterface':
      return `-o ${match.name}`
    case 'destinationPort':
      return `-m ${protocol} --dport ${String(match.port)}`
    case 'destinationPorts':
      return `-m multiport --dports ${match.ports.join(',')}`
    case 'owner':
      return `-m owner ${match.except === true ? '! ' : ''}--uid-owner ${String(match.uid)}`
    case 'ownerGroup':
      return `-m owner --gid-owner ${String(match.gid)}`
    case 'toThisMachine':
      return '-m addrtype --dst-type LOCAL'
    case 'established':
      return '-m conntrack --ctstate RELATED,ESTABLISHED'
  }
}

function formatTarget(target: Target): string {
  switch (target.kind) {
    case 'jump':
      return `-j ${target.chain}`
    case 'return':
      return '-j RETURN'
    case 'redirect':
      return `-j REDIRECT --to-ports ${String(target.port)}`
    case 'dnat':
      return `-j DNAT --to-destination ${formatDestination(target.to)}`
    case 'reject':
      return '-j REJECT --reject-with tcp-reset'
  }
}

function formatDestination(to: DnatDestination): string {
  if (to.kind === 'podAddress') return podAddressPlaceholder
  if (to.port === undefined) return to.address
  return to.address.includes(':') ? `[${to.address}]:${String(to.port)}` : `${to.address}:${String(to.port)}`
}
