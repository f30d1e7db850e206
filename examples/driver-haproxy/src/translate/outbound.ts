import type { OutboundPart, ProxyPart, PartInSet, WeightedUpstream } from '@osm-ts/driver-api'

import { Conditions } from './conditions.js'
import { type ConfigFile, fileNames } from './document.js'
import { pathRules } from './path-rules.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { type Section, speaksHttp } from './section.js'
import { hostName, sectionName, socketName } from './words.js'

/** Shares are drawn from this many numbers: finer than anyone counts, and within HAProxy's 31 bits. */
const DRAWN = 1_000_000

/** Methods that may be sent again if nothing came back. */
const REPEATABLE = 'GET HEAD OPTIONS TRACE PUT DELETE'

const NOT_FOUND = 'answer:404'
const UNAVAILABLE = 'answer:503'

/** Sections and files of what a proxy's workload calls. */
export interface Called {
  readonly sections: readonly Section[]
  readonly files: readonly ConfigFile[]
}

/** What is drawn a number for, and where the number leads. */
interface Share {
  readonly from: number
  readonly below: number
  readonly section: string
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
  const http = httpFrontend(proxy, members, names, reader)
  return {
    sections: [...(http === undefined ? [] : [http.section, ...answers]), ...tcpFrontends(proxy, members, names)],
    files: http === undefined ? [] : [{ name: fileNames.hosts, content: http.hosts }],
  }
}

function httpFrontend(
  { listen: { outboundHttp } }: ProxyPart,
  members: readonly PartInSet<OutboundPart>[],
  names: ReadonlyMap<string, string>,
  reader: HaproxyPolicyReader,
): { readonly section: Section; readonly hosts: string } | undefined {
  if (outboundHttp === undefined) return undefined
  const conditions = new Conditions(reader)
  const hosts: string[] = []
  const routes: string[] = []
  for (const member of members.filter(({ part }) => speaksHttp(part.protocol))) {
    const destination = destinationOf(member, names, conditions, reader, routes)
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
        `http-request set-var(txn.drawn) rand(${DRAWN})`,
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
  names: ReadonlyMap<string, string>,
  conditions: Conditions,
  reader: HaproxyPolicyReader,
  routes: string[],
): string {
  if (part.rules.kind !== 'http') return UNAVAILABLE
  const [first, ...others] = part.rules.routes
  if (first === undefined) return NOT_FOUND
  const single = sharesOf(first.targets, names)
  if (others.length === 0 && Object.keys(first.match).length === 0 && single.length < 2)
    return single[0]?.section ?? UNAVAILABLE
  const name = sectionName('to', part.id)
  const isIt = conditions.list([`var(txn.to) -m str -- ${name}`])
  part.rules.routes.forEach(({ match, targets }, index) => {
    const terms = [isIt, ...conditions.terms(match, ref, `/rules/routes/${index}/match`)]
    const shares = sharesOf(targets, names)
    if (shares.length === 0) routes.push(`use_backend ${UNAVAILABLE} if ${terms.join(' ')}`)
    for (const { below, section } of shares)
      routes.push(`use_backend ${section} if ${[...terms, drawnBelow(below)].join(' ')}`)
  })
  return name
}

/** Shares in order, each up to its number. Upstreams that can't be reached answer their share by 503. */
function sharesOf(targets: readonly WeightedUpstream[], names: ReadonlyMap<string, string>): readonly Share[] {
  const weighted = targets.filter(({ weight }) => weight > 0)
  const sum = weighted.reduce((total, { weight }) => total + weight, 0)
  let before = 0
  return weighted.map(({ upstream, weight }) => {
    const from = Math.round((before / sum) * DRAWN)
    before += weight
    return { from, below: Math.round((before / sum) * DRAWN), section: names.get(upstream) ?? UNAVAILABLE }
  })
}

function drawnBelow(number: number): string {
  return `{ var(txn.drawn) -m int lt ${number} }`
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
  names: ReadonlyMap<string, string>,
): readonly Section[] {
  const byId = new Map(members.map((member) => [member.part.id, member]))
  return [...outboundBindings]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, listen }) => {
      const member = byId.get(id)
      if (member?.part.rules.kind !== 'tcp') return []
      const shares = sharesOf(member.part.rules.targets, names)
      const reached = shares.filter(({ section }) => section !== UNAVAILABLE)
      const section: Section = {
        head: `frontend ${sectionName('out', id)}`,
        lines: [
          'mode tcp',
          `bind ${socketName(listen)}`,
          `tcp-request content set-var(txn.drawn) rand(${DRAWN})`,
          ...(reached.length === 0 ? ['tcp-request content reject'] : []),
          ...shares.map((share) =>
            share.section === UNAVAILABLE
              ? `tcp-request content reject if { var(txn.drawn) -m int ge ${share.from} } ${drawnBelow(share.below)}`
              : `use_backend ${share.section} if ${drawnBelow(share.below)}`,
          ),
        ],
      }
      return [section]
    })
}
