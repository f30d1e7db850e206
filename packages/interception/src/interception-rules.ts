import { InterceptionError } from './errors.js'
import { addressFamily, type IpFamily, type IpRange } from './ip-range.js'
import { checkInterception } from './check-interception.js'
import type { InterceptionOptions, InterceptionSettings } from './options.js'
import { maxPortsPerRule, type InterceptionRules, type Match, type Rule, type RuleTable, type Target } from './rule.js'

const chain = {
  inbound: 'OSM_PROXY_INBOUND',
  inboundRedirect: 'OSM_PROXY_IN_REDIRECT',
  outbound: 'OSM_PROXY_OUTBOUND',
  outboundRedirect: 'OSM_PROXY_OUT_REDIRECT',
  dns: 'OSM_PROXY_DNS',
  refuse: 'OSM_PROXY_REFUSE',
} as const

const loopbackRange = { ipv4: '127.0.0.1/32', ipv6: '::1/128' } as const
const outLoopback: Match = { kind: 'outInterface', name: 'lo' }
const returns: Target = { kind: 'return' }

/**
 * The rules that send the connections of a workload through its sidecar.
 *
 * @throws InterceptionError with every problem of the options
 */
export function interceptionRules(options: InterceptionOptions = {}): InterceptionRules {
  const checked = checkInterception(options)
  if (!checked.ok) throw new InterceptionError(...checked.problems)
  const { settings } = checked
  return {
    ipv4: { family: 'ipv4', tables: [natTable(settings, 'ipv4')] },
    ipv6: {
      family: 'ipv6',
      tables: [settings.ipv6 === 'refuse' ? refusalTable(settings, 'ipv6') : natTable(settings, 'ipv6')],
    },
  }
}

function natTable(settings: InterceptionSettings, family: IpFamily): RuleTable {
  const dns = family === 'ipv4' ? dnsRules(settings) : { chains: [], rules: [], hooks: [] }
  return {
    name: 'nat',
    chains: [chain.inbound, chain.inboundRedirect, chain.outbound, chain.outboundRedirect, ...dns.chains],
    rules: [
      ...inboundExclusions(settings),
      ...portRules(chain.inbound, settings.proxyServicePorts, returns),
      ...inboundCapture(settings, chain.inboundRedirect),
      tcp(chain.inboundRedirect, [], { kind: 'redirect', port: settings.inboundListenerPort }),
      ...loopbackRules(settings, family),
      ...outboundExclusions(settings, family),
      ...outboundCapture(settings, family, chain.outboundRedirect),
      tcp(chain.outboundRedirect, [], { kind: 'redirect', port: settings.outboundListenerPort }),
      ...dns.rules,
    ],
    hooks: [tcp('PREROUTING', [], jump(chain.inbound)), tcp('OUTPUT', [], jump(chain.outbound)), ...dns.hooks],
  }
}

/** What leaves by loopback or comes from the sidecar. The order matters: each rule relies on what those before it took out. */
function loopbackRules(settings: InterceptionSettings, family: IpFamily): readonly Rule[] {
  const proxy: Match = { kind: 'owner', uid: settings.proxyUid }
  const notProxy: Match = { kind: 'owner', uid: settings.proxyUid, except: true }
  const toSelf: Match = { kind: 'destination', range: loopbackRange[family] }
  const notToSelf: Match = { kind: 'destination', range: loopbackRange[family], except: true }
  return [
    // First, so that no later rule diverts the administration port, the DNAT of PodIP mode least of all: it listens on loopback only.
    // Bound to loopback: a workload must not bypass the sidecar through port 15000 of some other host.
    tcp(chain.outbound, [outLoopback, { kind: 'destinationPort', port: settings.adminPort }], returns),
    ...podAddressRules(settings, family, [outLoopback, toSelf, proxy]),
    // The workload called its own service: the sidecar chose this very pod, and its inbound side must see the call.
    tcp(chain.outbound, [outLoopback, notToSelf, proxy], jump(chain.inboundRedirect)),
    tcp(chain.outbound, [outLoopback, notProxy], returns),
    tcp(chain.outbound, [proxy], returns),
    tcp(chain.outbound, [toSelf], returns),
  ]
}

function podAddressRules(settings: InterceptionSettings, family: IpFamily, matches: readonly Match[]): readonly Rule[] {
  const { podAddress } = settings
  if (podAddress === undefined) return []
  if (podAddress === 'waiting') return [tcp(chain.outbound, matches, { kind: 'dnat', to: { kind: 'podAddress' } })]
  const address = podAddress[family]
  return address === undefined ? [] : [tcp(chain.outbound, matches, { kind: 'dnat', to: { kind: 'address', address } })]
}

function dnsRules({ dnsCapture }: InterceptionSettings): Pick<RuleTable, 'chains' | 'rules' | 'hooks'> {
  if (dnsCapture === undefined) return { chains: [], rules: [], hooks: [] }
  const { nameserver: address, port } = dnsCapture
  const query: readonly Match[] = [
    { kind: 'destination', range: `${address}/32` },
    { kind: 'destinationPort', port: 53 },
  ]
  return {
    chains: [chain.dns],
    rules: [
      {
        chain: chain.dns,
        protocol: 'udp',
        matches: [],
        target: { kind: 'dnat', to: { kind: 'address', address, port } },
      },
    ],
    hooks: [{ chain: 'OUTPUT', protocol: 'udp', matches: query, target: jump(chain.dns) }],
  }
}

/**
 * The same decisions with a reset at the end instead of a redirect.
 *
 * The filter table sees every packet where nat sees the first of a connection, hence the rules for packets of known connections.
 */
function refusalTable(settings: InterceptionSettings, family: IpFamily): RuleTable {
  const established: Match = { kind: 'established' }
  return {
    name: 'filter',
    chains: [chain.inbound, chain.outbound, chain.refuse],
    rules: [
      tcp(chain.inbound, [established], returns),
      tcp(chain.inbound, [{ kind: 'inInterface', name: 'lo' }], returns),
      ...inboundExclusions(settings),
      ...inboundCapture(settings, chain.refuse),
      tcp(chain.outbound, [established], returns),
      tcp(chain.outbound, [outLoopback], returns),
      ...outboundExclusions(settings, family),
      ...outboundCapture(settings, family, chain.refuse),
      tcp(chain.refuse, [], { kind: 'reject' }),
    ],
    hooks: [tcp('INPUT', [], jump(chain.inbound)), tcp('OUTPUT', [], jump(chain.outbound))],
  }
}

function inboundExclusions(settings: InterceptionSettings): readonly Rule[] {
  return [
    ...settings.interfaceExclusions.map((name) => tcp(chain.inbound, [{ kind: 'inInterface', name }], returns)),
    ...portRules(chain.inbound, settings.inboundPortExclusions, returns),
  ]
}

function inboundCapture({ inboundPortInclusions }: InterceptionSettings, captureChain: string): readonly Rule[] {
  const target = jump(captureChain)
  if (inboundPortInclusions === undefined) return [tcp(chain.inbound, [], target)]
  const matches: readonly Match[] = [{ kind: 'toThisMachine' }]
  return portRules(chain.inbound, inboundPortInclusions, target, matches)
}

function outboundExclusions(settings: InterceptionSettings, family: IpFamily): readonly Rule[] {
  const { bypassGid: gid } = settings
  return [
    ...(gid === undefined ? [] : [tcp(chain.outbound, [{ kind: 'ownerGroup', gid }], returns)]),
    ...settings.interfaceExclusions.map((name) => tcp(chain.outbound, [{ kind: 'outInterface', name }], returns)),
    ...rangeRules(settings.outboundIpRangeExclusions, family, returns),
    ...portRules(chain.outbound, settings.outboundPortExclusions, returns),
    ...nameserverRules(settings, family),
  ]
}

/** Resolvers ask over TCP what has no room in a datagram; what passes over UDP must pass over TCP, or names that have long answers cannot be resolved. */
function nameserverRules({ nameservers }: InterceptionSettings, family: IpFamily): readonly Rule[] {
  const port: Match = { kind: 'destinationPort', port: 53 }
  if (nameservers === 'waiting') return [tcp(chain.outbound, [{ kind: 'nameserver' }, port], returns)]
  return nameservers
    .filter((address) => addressFamily(address) === family)
    .map((address) => {
      const range = `${address}/${family === 'ipv4' ? '32' : '128'}`
      return tcp(chain.outbound, [{ kind: 'destination', range }, port], returns)
    })
}

/**
 * The list of included ranges is one list for both families: once it names anything, a family of which it names nothing is not captured.
 */
function outboundCapture(settings: InterceptionSettings, family: IpFamily, captureChain: string): readonly Rule[] {
  const included = settings.outboundIpRangeInclusions
  if (included.length === 0) return [tcp(chain.outbound, [], jump(captureChain))]
  return [...rangeRules(included, family, jump(captureChain)), tcp(chain.outbound, [], returns)]
}

function rangeRules(ranges: readonly IpRange[], family: IpFamily, target: Target): readonly Rule[] {
  return ranges
    .filter((range) => range.family === family)
    .map((range) => tcp(chain.outbound, range.prefix === 0 ? [] : [{ kind: 'destination', range: range.text }], target))
}

function portRules(
  name: string,
  ports: readonly number[],
  target: Target,
  matches: readonly Match[] = [],
): readonly Rule[] {
  const groups = Array.from({ length: Math.ceil(ports.length / maxPortsPerRule) }, (_, index) =>
    ports.slice(index * maxPortsPerRule, (index + 1) * maxPortsPerRule),
  )
  return groups.map((group) => tcp(name, [{ kind: 'destinationPorts', ports: group }, ...matches], target))
}

function tcp(name: string, matches: readonly Match[], target: Target): Rule {
  return { chain: name, protocol: 'tcp', matches, target }
}

function jump(name: string): Target {
  return { kind: 'jump', chain: name }
}
