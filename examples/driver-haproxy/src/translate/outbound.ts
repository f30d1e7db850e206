import {
  type ConnectionShares,
  type OutboundPart,
  type PartInSet,
  type ProxyPart,
  type SocketAddress,
  type WeightedUpstream,
  withheldHeaders,
} from '@osm-ts/driver-api/policy'

import { Conditions } from './conditions.js'
import { type ConfigFile, fileNames } from './document.js'
import { bindWords, wayName } from './listening.js'
import { pathRules } from './path-rules.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { type RedirectedCall, redirectedOut } from './redirected.js'
import { removals } from './removals.js'
import { answers, answerSections, RouteLines, singleOf, type Ways } from './routes.js'
import { idleTimeoutMs, type Section, speaksHttp } from './section.js'
import { draw, sectionsOf, Shares, type WeightedSection } from './shares.js'
import { hostName, isIPv4, sectionName } from './words.js'

/** Methods that may be sent again if nothing returned. */
const REPEATABLE = 'GET HEAD OPTIONS TRACE PUT DELETE'

/** Stands in the map before an address that several services may share. */
const SHARED = 'shared:'

/** Takes the requests of a workload. */
const HTTP = 'out:http'

/** Sections and files of what a proxy's workload calls. */
export interface Called {
  readonly sections: readonly Section[]
  readonly files: readonly ConfigFile[]
}

/** Sections of the addresses at which a workload finds what it calls. */
export function calledSections(
  proxy: ProxyPart,
  names: ReadonlyMap<string, string>,
  reader: HaproxyPolicyReader,
): Called {
  const members = reader.members(proxy.outbound, 'outbound')
  const shares = new Shares()
  const sectionOf = (upstream: string) => names.get(upstream) ?? answers.unavailable
  const idle = idleTimeoutMs(reader.part(proxy.mesh, 'mesh'))
  const http = httpFrontend(proxy, members, { sectionOf, shares, reader, idleTimeoutMs: idle })
  const tcp = tcpFrontends(proxy, members, { sectionOf, shares })
  const redirected = proxy.listen.outbound === undefined ? undefined : redirectedCalls(members, { sectionOf, shares })
  const entry = redirectedOut(proxy, redirected?.calls ?? [], [HTTP, ...(redirected?.names ?? [])])
  return {
    sections: [
      ...(http === undefined ? [] : [http.section, ...answerSections]),
      ...tcp,
      ...(redirected?.sections ?? []),
      ...entry.sections,
    ],
    files: [
      ...(http === undefined ? [] : [{ name: fileNames.hosts, content: http.hosts }]),
      ...entry.files,
      ...shares.files,
    ],
  }
}

function httpFrontend(
  { listen: { outboundHttp, outbound }, mesh }: ProxyPart,
  members: readonly PartInSet<OutboundPart>[],
  ways: Ways,
): { readonly section: Section; readonly hosts: string } | undefined {
  if (outboundHttp === undefined && outbound === undefined) return undefined
  const { reader } = ways
  const isRedirected = outboundHttp === undefined
  const conditions = new Conditions(reader)
  const hosts: string[] = []
  const routes = new RouteLines(conditions, ways)
  const destinations = new Map<string, Destination>()
  for (const member of members.filter(({ part }) => speaksHttp(part.protocol))) {
    const names = namesOf(member, reader)
    destinations.set(member.part.id, { part: member.part, names, to: routes.destinationOf(member) })
  }
  for (const destination of destinations.values())
    hosts.push(...(isRedirected ? linesOfAddresses(destination, destinations) : linesOfNames(destination)))
  return {
    hosts: hosts
      .sort()
      .map((line) => `${line}\n`)
      .join(''),
    section: {
      head: `frontend ${HTTP}`,
      lines: [
        'mode http',
        bindWords(HTTP, outboundHttp),
        // After a reload a connection of the workload gets one more answer, with the word that it is the last.
        'option idle-close-on-response',
        ...conditions.lists,
        'http-request deny deny_status 405 if METH_CONNECT',
        ...pathRules(reader.part(mesh, 'mesh').keepsEscapedSlashes === true),
        ...removals(withheldHeaders()),
        // A proxy is asked with the whole address; a server with the path.
        'http-request set-uri %[pathq] if { path -m found }',
        `http-request disable-l7-retry unless { method ${REPEATABLE} }`,
        ...conditions.variables,
        ...(isRedirected
          ? [
              'http-request set-var(txn.host) req.hdr(host),lower',
              'http-request set-var(txn.port) dst_port',
              'http-request set-var(txn.at) dst,concat(:,txn.port)',
              `http-request set-var(txn.to) var(txn.at),map_str(${fileNames.hosts})`,
              `http-request set-var(txn.to) var(txn.at),concat(:,txn.host),map_str(${fileNames.hosts}) unless { var(txn.to) -m found }`,
              `http-request set-var(txn.to) str(${SHARED}),concat(,txn.at),map_str(${fileNames.hosts}) unless { var(txn.to) -m found }`,
            ]
          : [`http-request set-var(txn.to) req.hdr(host),lower,map_str(${fileNames.hosts})`]),
        // What is not in the mesh is egress, which is off; a host that has no route for the request is another matter, and so is a wrong one at a service.
        `http-request deny deny_status ${isRedirected ? 404 : 403} unless { var(txn.to) -m found }`,
        `http-request ${draw}`,
        ...routes.lines,
        'use_backend %[var(txn.to)] if { var(txn.to) -m beg -- up: answer: }',
        `default_backend ${answers.notFound}`,
      ],
    },
  }
}

/** A service in the map, and what stands for it there. */
interface Destination {
  readonly part: OutboundPart
  readonly names: readonly string[]
  readonly to: string
}

function namesOf({ part, ref, shortNames }: PartInSet<OutboundPart>, reader: HaproxyPolicyReader): readonly string[] {
  return [...part.hosts, ...(shortNames ? [part.shortHost] : [])].flatMap(
    (host, index) => reader.attempt(ref, `/hosts/${index}`, undefined, () => hostName(host)) ?? [],
  )
}

/** Lines of the map in explicit mode, where the name alone tells, without a port where it is 80. */
function linesOfNames({ part: { port }, names, to }: Destination): readonly string[] {
  return names.flatMap((name) => [`${name}:${port} ${to}`, ...(port === 80 ? [`${name} ${to}`] : [])])
}

/**
 * Lines of the map where connections are redirected: the address that was dialled tells. Behind one that services share, the name in a request selects another,
 * with its port and without; the address alone holds where the name is of none of them.
 */
function linesOfAddresses(
  { part: { addresses, port, sharedWith = [] }, to }: Destination,
  all: ReadonlyMap<string, Destination>,
): readonly string[] {
  const others = sharedWith.flatMap((id) => all.get(id) ?? [])
  return addresses.filter(isIPv4).flatMap((address) => {
    const at = `${address}:${port}`
    if (others.length === 0) return [`${at} ${to}`]
    const named = others.flatMap((other) =>
      other.names.flatMap((name) => [`${at}:${name} ${other.to}`, `${at}:${name}:${port} ${other.to}`]),
    )
    return [...named, `${SHARED}${at} ${to}`]
  })
}

/** What a workload may dial where its connections are redirected. */
function redirectedCalls(
  members: readonly PartInSet<OutboundPart>[],
  ways: Pick<Ways, 'sectionOf' | 'shares'>,
): {
  readonly calls: readonly RedirectedCall[]
  readonly sections: readonly Section[]
  readonly names: readonly string[]
} {
  const calls: RedirectedCall[] = []
  const sections: Section[] = []
  const names: string[] = []
  for (const { part } of members) {
    // The kernel refuses the other family.
    const addresses = part.addresses.filter(isIPv4).map((address): SocketAddress => ({ address, port: part.port }))
    const name = sectionName('out', part.id)
    const to = part.rules.kind === 'http' ? wayName(HTTP) : tcpWay(name, part.rules, ways)
    if (to === wayName(name) && part.rules.kind === 'tcp') {
      const lines = ['mode tcp', bindWords(name, undefined), ...tcpRules(name, part.rules, ways)]
      sections.push({ head: `frontend ${name}`, lines })
      names.push(name)
    }
    calls.push(...addresses.map((at) => ({ at, to })))
  }
  return { calls, sections, names }
}

/** The section of the only target, or the way to a section that shares connections out. */
function tcpWay(name: string, shares: ConnectionShares, { sectionOf }: Pick<Ways, 'sectionOf'>): string {
  const single = singleShare(shares)
  const only = single === undefined ? answers.unavailable : sectionOf(single.upstream)
  return only === answers.unavailable ? wayName(name) : only
}

function tcpFrontends(
  { outboundBindings }: ProxyPart,
  members: readonly PartInSet<OutboundPart>[],
  ways: Pick<Ways, 'sectionOf' | 'shares'>,
): readonly Section[] {
  const byId = new Map(members.map((member) => [member.part.id, member]))
  return [...outboundBindings]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, listen }) => {
      const member = byId.get(id)
      if (member?.part.rules.kind !== 'tcp') return []
      const name = sectionName('out', id)
      const rules = tcpRules(name, member.part.rules, ways)
      return [{ head: `frontend ${name}`, lines: ['mode tcp', bindWords(name, listen), ...rules] }]
    })
}

function tcpRules(
  name: string,
  connections: ConnectionShares,
  { sectionOf, shares }: Pick<Ways, 'sectionOf' | 'shares'>,
): readonly string[] {
  const single = singleShare(connections)
  const only = single === undefined ? answers.unavailable : sectionOf(single.upstream)
  if (only !== answers.unavailable) return [`default_backend ${only}`]
  const shared = single === undefined ? shares.of(name, sectionsOfShares(connections, sectionOf)) : []
  const last = shared.at(-1)
  if (last === undefined) return ['tcp-request content reject']
  return [
    `tcp-request content ${draw}`,
    // If all weigh nothing, no one has a share.
    `tcp-request content reject unless ${last.condition}`,
    ...shared.flatMap(({ section, condition }, index) => {
      const before = shared[index - 1]
      if (section !== answers.unavailable) return []
      return [`tcp-request content reject if ${before === undefined ? '' : `!${before.condition} `}${condition}`]
    }),
    ...shared.flatMap(({ section, condition }) =>
      section === answers.unavailable ? [] : [`use_backend ${section} if ${condition}`],
    ),
  ]
}

/** The one that gets every connection; undefined if there is something to share out, or nothing. */
function singleShare({ targets, errorWeight = 0 }: ConnectionShares): WeightedUpstream | undefined {
  return errorWeight > 0 ? undefined : singleOf(targets)
}

/** Sections that get connections: those of the targets, in order, then the one for what is closed. */
function sectionsOfShares(
  { targets, errorWeight = 0 }: ConnectionShares,
  sectionOf: Ways['sectionOf'],
): readonly WeightedSection[] {
  const closed = errorWeight > 0 ? [{ section: answers.unavailable, weight: errorWeight }] : []
  return [...sectionsOf(targets, sectionOf), ...closed]
}
