import type { EgressPart, OutboundPart } from '@osm-ts/driver-api/policy'
import { coversRange, type IpRange, parseIpRange } from '@osm-ts/core'

import type { Manifest } from './manifest.js'
import type { Change, Facts } from './observe.js'
import type { Scenario } from './scenario.js'

/** What an exception is judged by. */
export interface Judged {
  readonly change: Change
  readonly scenario: Scenario
  readonly before: Facts
  readonly after: Facts
}

/** Something that may change for others, by design. */
export interface Exception {
  readonly name: string
  readonly reason: string
  readonly allows: (judged: Judged) => boolean
}

/**
 * Everything that objects of one namespace may change for others without their consent. Review each new one against docs/design/threat-model.md: it must
 * only ever add, and only what is the attacker's own.
 */
export const exceptions: readonly Exception[] = [
  {
    name: 'a new service becomes known to those who may call it',
    reason:
      'In permissive mode everybody may call everything. Else a TrafficTarget names whom it lets in, and their sidecars learn where the service is. ' +
      'Knowing it opens nothing of theirs. No name and no address that led somewhere before may lead to it.',
    allows: ({ change, scenario, before, after }) => {
      const { proxy, kind, id } = parse(change.key)
      if (proxy === undefined || change.before !== undefined || !mayCall(scenario, proxy, before)) return false
      switch (kind) {
        case 'outbound':
          return isOwn(scenario, id) && takesNothing(change.after, proxy, before, scenario)
        case 'upstream':
        case 'endpoints':
          return isOwn(scenario, id)
        case 'rules':
          return id.startsWith('retries ') && isOwn(scenario, id.slice('retries '.length))
        case 'dns':
          return namesService(scenario, id.slice('records '.length), proxy, after)
        default:
          return false
      }
    },
  },
  {
    name: 'an AccessCert is refused for a name that somebody trusts',
    reason:
      'Only the namespaces that allow callers by a name know the intended caller, so a certificate for it needs their consent. What is trusted by several ' +
      'namespaces is issued to none of them alone.',
    allows: ({ change: { key, before = '', after = '' }, scenario: { attacker } }) => {
      if (!key.startsWith('specification of AccessCert ')) return false
      const earlier = before.split('\n')
      const added = after.split('\n').filter((line) => !earlier.includes(line))
      const isKept = earlier.every((line) => line === '' || after.includes(line))
      return isKept && added.every((line) => new RegExp(`(IngressBackend|AccessControl) ${attacker}/`).test(line))
    },
  },
  {
    name: 'a wildcard of a Retry means a service that came',
    reason:
      'The Retry itself names services of all namespaces by `*`. It is warned while there are none; with the first one the warning goes. What is repeated ' +
      'does not change, but for calls to that service.',
    allows: ({ change: { key, before = '', after = '' } }) => {
      if (!key.startsWith('specification of Retry ')) return false
      const later = after.split('\n')
      const gone = before.split('\n').filter((line) => !later.includes(line))
      const isOnlyLess = later.every((line) => before.includes(line))
      return isOnlyLess && gone.every((line) => /(\*\/\S+|\S+\/\*) does not name a Service/.test(line))
    },
  },
]

/** The exception that allows a change; undefined if none does. */
export function exceptionFor(judged: Judged): Exception | undefined {
  return exceptions.find(({ allows }) => allows(judged))
}

/** `proxy <namespace>/<name> > <kind> <id>`. */
function parse(key: string): { readonly proxy: string | undefined; readonly kind: string; readonly id: string } {
  const [, proxy, kind = '', id = ''] = /^proxy (\S+) > (\S+) ?(.*)$/.exec(key) ?? []
  return { proxy, kind, id }
}

function isOwn({ attacker }: Scenario, id: string): boolean {
  return id.startsWith(`${attacker}/`)
}

/** True if a proxy may call services of the attacker after the attack. */
function mayCall({ attack, attacker, mesh }: Scenario, proxy: string, before: Facts): boolean {
  const config = mesh.find(({ kind }) => kind === 'MeshConfig')?.spec as
    { readonly traffic: { readonly enablePermissiveTrafficPolicyMode: boolean } } | undefined
  if (config?.traffic.enablePermissiveTrafficPolicyMode === true) return true
  const { identity } = JSON.parse(before.get(`proxy ${proxy} > itself`) ?? '{}') as { readonly identity?: string }
  return attack.some(({ kind, spec }) => {
    if (kind !== 'TrafficTarget') return false
    const { destination, sources } = spec as TargetSpec
    return (
      destination.namespace === attacker && sources.some(({ name, namespace }) => `${name}.${namespace}` === identity)
    )
  })
}

interface TargetSpec {
  readonly destination: { readonly namespace: string }
  readonly sources: readonly { readonly name: string; readonly namespace: string }[]
}

/** True if a service has no host name and no address that another service, or a destination outside, had for the proxy before. */
function takesNothing(text: string | undefined, proxy: string, before: Facts, { attack }: Scenario): boolean {
  const { port, hosts, addresses } = JSON.parse(bare(text)) as OutboundPart
  for (const [key, value] of before) {
    const { proxy: reader, kind } = parse(key)
    if (reader !== proxy) continue
    if (kind === 'outbound') {
      const held = JSON.parse(bare(value)) as OutboundPart
      const names = value.endsWith(SHORT) ? [...held.hosts, held.shortHost] : held.hosts
      if (held.port !== port) continue
      if (hosts.some((host) => names.includes(host))) return false
      if (addresses.some((address) => held.addresses.includes(address))) return false
    }
    if (kind === 'egress') {
      const held = JSON.parse(bare(value)) as EgressPart
      if (held.port !== port) continue
      if (hosts.some((host) => held.hosts.includes(host) || held.serverNames.includes(host))) return false
      if (addresses.some((address) => !isGivenOut(address, attack) && reaches(held, address))) return false
    }
  }
  return true
}

/**
 * True for addresses that the cluster gives out to pods and services, and for those of Workloads, which only the one owner of a folder writes down. Others
 * are perhaps outside the mesh.
 */
function isGivenOut(address: string, attack: readonly Manifest[]): boolean {
  const isOfWorkload = ({ kind, spec }: Manifest): boolean =>
    kind === 'Workload' && (spec as { readonly address?: string }).address === address
  return address.startsWith('10.') || attack.some(isOfWorkload)
}

/** True if a destination of addresses outside the mesh takes in an address. */
function reaches({ protocol, cidrs }: EgressPart, address: string): boolean {
  if (protocol === 'http' || protocol === 'https') return false
  const asked = parseIpRange(address)
  return cidrs.length === 0 || cidrs.some((cidr) => isHeldBy(asked, parseIpRange(cidr)))
}

function isHeldBy(inner: IpRange | undefined, outer: IpRange | undefined): boolean {
  return inner !== undefined && outer !== undefined && coversRange(outer, inner)
}

/** What is written behind a part that holds by its short name too: see `observe.ts`. */
const SHORT = ' by its short name too'

function bare(text = '{}'): string {
  return text.endsWith(SHORT) ? text.slice(0, -SHORT.length) : text
}

/** True if a DNS name is that of a service of the attacker that the proxy has come to know. */
function namesService({ attacker }: Scenario, name: string, proxy: string, after: Facts): boolean {
  for (const [key, value] of after) {
    const { proxy: reader, kind, id } = parse(key)
    if (reader !== proxy || kind !== 'outbound' || !id.startsWith(`${attacker}/`)) continue
    if ((JSON.parse(bare(value)) as OutboundPart).hosts.includes(name)) return true
  }
  return false
}
