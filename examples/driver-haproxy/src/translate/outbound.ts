import type { OutboundPart, ProxyPart, PartInSet, WeightedUpstream } from '@osm-ts/driver-api'

import { Conditions } from './conditions.js'
import { type ConfigFile, fileNames } from './document.js'
import { pathRules } from './path-rules.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { type Section, speaksHttp } from './section.js'
import { draw, Shares } from './shares.js'
import { hostName, sectionName, socketName } from './words.js'

/** Methods that may be sent again if nothing came back. */
const REPEATABLE = 'GET HEAD OPTIONS TRACE PUT DELETE'

const NOT_FOUND = 'answer:404'
const UNAVAILABLE = 'answer:503'

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
  const answers: readonly Section[] = [
    { head: `backend ${NOT_FOUND}`, lines: ['mode http', 'http-request deny deny_status 404'] },
    { head: `backend ${UNAVAILABLE}`, lines: ['mode http', 'http-request deny deny_status 503'] },
  ]
  const shares = new Shares()
  const sectionOf = (upstream: string) => names.get(upstream) ?? UNAVAILABLE
  const http = httpFrontend(proxy, members, { sectionOf, shares, reader })
  const tcp = tcpFrontends(proxy, members, { sectionOf, shares })
  return {
    sections: [...(http === undefined ? [] : [http.section, ...answers]), ...tcp],
    files: [...(http === undefined ? [] : [{ name: fileNames.hosts, content: http.hosts }]), ...shares.files],
  }
}

/** What says where traffic goes. */
interface Ways {
  /** The section of an upstream, or that of answers where it can't be reached. */
  readonly sectionOf: (upstream: string) => string
  readonly shares: Shares
  readonly reader: HaproxyPolicyReader
}

function httpFrontend(
  { listen: { outboundHttp } }: ProxyPart,
  members: readonly PartInSet<OutboundPart>[],
  ways: Ways,
): { readonly section: Section; readonly hosts: string } | undefined {
  if (outboundHttp === undefined) return undefined
  const { reader } = ways
  const conditions = new Conditions(reader)
  const hosts: string[] = []
  const routes: string[] = []
  for (const member of members.filter(({ part }) => speaksHttp(part.protocol))) {
    const destination = destinationOf(member, ways, conditions, routes)
    hosts.push(...hostsOf(member, reader).map((host) => `${host} ${destination}`))
  }
  return {
    hosts: hosts
      .sort()
      .map((line) => `${line}\n`)
      .join(''),
    section: {
      head: 'frontend out:http',
      lines: [
        'mode http',
        `bind ${socketName(outboundHttp)}`,
        // After a reload a connection of the workload gets one more answer, with the word that it is the last.
        'option idle-close-on-response',
        ...conditions.lists,
        'http-request deny deny_status 405 if METH_CONNECT',
        ...pathRules,
        // A proxy is asked with the whole address; a server with the path.
        'http-request set-uri %[pathq] if { path -m found }',
        `http-request disable-l7-retry unless { method ${REPEATABLE} }`,
        ...conditions.variables,
        `http-request set-var(txn.to) req.hdr(host),lower,map_str(${fileNames.hosts})`,
        // What is not in the mesh is egress, which is off; a host that has no route for the request is another matter.
        'http-request deny deny_status 403 unless { var(txn.to) -m found }',
        `http-request ${draw}`,
        ...routes,
        'use_backend %[var(txn.to)] if { var(txn.to) -m beg -- up: answer: }',
        `default_backend ${NOT_FOUND}`,
      ],
    },
  }
}

/** What stands for a service in the map: a section, or a name that routes are written for. */
function destinationOf(
  { part, ref }: PartInSet<OutboundPart>,
  { sectionOf, shares }: Ways,
  conditions: Conditions,
  routes: string[],
): string {
  if (part.rules.kind !== 'http') return UNAVAILABLE
  const [first, ...others] = part.rules.routes
  if (first === undefined) return NOT_FOUND
  const single = singleOf(first.targets)
  if (others.length === 0 && Object.keys(first.match).length === 0 && single !== undefined)
    return sectionOf(single.upstream)
  const name = sectionName('to', part.id)
  const isIt = conditions.list([`var(txn.to) -m str -- ${name}`])
  part.rules.routes.forEach(({ match, targets }, index) => {
    const terms = [isIt, ...conditions.terms(match, ref, `/rules/routes/${index}/match`)]
    const only = singleOf(targets)
    const shared = only === undefined ? shares.of(`${name}:${index}`, targets, sectionOf) : []
    for (const { condition, section } of shared)
      routes.push(`use_backend ${section} if ${[...terms, condition].join(' ')}`)
    // If all weigh nothing, nobody has a share.
    routes.push(`use_backend ${only === undefined ? UNAVAILABLE : sectionOf(only.upstream)} if ${terms.join(' ')}`)
  })
  return name
}

/** The one that gets everything; undefined if there is something to share out, or nothing. */
function singleOf([first, ...others]: readonly WeightedUpstream[]): WeightedUpstream | undefined {
  return others.length === 0 && first !== undefined && first.weight > 0 ? first : undefined
}

/** Names with their port, and those of port 80 without as well. */
function hostsOf({ part, ref, shortNames }: PartInSet<OutboundPart>, reader: HaproxyPolicyReader): readonly string[] {
  return [...part.hosts, ...(shortNames ? [part.shortHost] : [])].flatMap((host, index) => {
    const name = reader.attempt(ref, `/hosts/${index}`, undefined, () => hostName(host))
    if (name === undefined) return []
    return [`${name}:${part.port}`, ...(part.port === 80 ? [name] : [])]
  })
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
      const rules = tcpRules(name, member.part.rules.targets, ways)
      return [{ head: `frontend ${name}`, lines: ['mode tcp', `bind ${socketName(listen)}`, ...rules] }]
    })
}

function tcpRules(
  name: string,
  targets: readonly WeightedUpstream[],
  { sectionOf, shares }: Pick<Ways, 'sectionOf' | 'shares'>,
): readonly string[] {
  const single = singleOf(targets)
  const only = single === undefined ? UNAVAILABLE : sectionOf(single.upstream)
  if (only !== UNAVAILABLE) return [`default_backend ${only}`]
  const shared = single === undefined ? shares.of(name, targets, sectionOf) : []
  const last = shared.at(-1)
  if (last === undefined) return ['tcp-request content reject']
  return [
    `tcp-request content ${draw}`,
    // If all weigh nothing, nobody has a share.
    `tcp-request content reject unless ${last.condition}`,
    ...shared.flatMap(({ section, condition }, index) => {
      const before = shared[index - 1]
      if (section !== UNAVAILABLE) return []
      return [`tcp-request content reject if ${before === undefined ? '' : `!${before.condition} `}${condition}`]
    }),
    ...shared.flatMap(({ section, condition }) =>
      section === UNAVAILABLE ? [] : [`use_backend ${section} if ${condition}`],
    ),
  ]
}
