import {
  type InboundBinding,
  type InboundPart,
  type MeshPart,
  namedHeaders,
  otherSpellings,
  type PartHash,
  type PartRef,
  type PrincipalsPart,
  type ProxyPart,
  withheldHeaders,
} from '@osm-ts/driver-api/policy'

import { Conditions } from './conditions.js'
import { fileNames } from './document.js'
import { bindWords, ownListeners } from './listening.js'
import { pathReadings, pathRules, readPaths } from './path-rules.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { type RedirectedPort, redirectedIn } from './redirected.js'
import { removals } from './removals.js'
import { priorKnowledge, type Section, speaksHttp } from './section.js'
import { hostName, quoted, sectionName, socketName } from './words.js'

/** Sections of the ports that a proxy serves. What can't be served as written is served to no one. */
export function servedSections(proxy: ProxyPart, reader: HaproxyPolicyReader): readonly Section[] {
  const isOwn = ownListeners(proxy)
  const ports = [...proxy.inbound]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((binding) => {
      const part = reader.part(binding.part, 'inbound')
      const ref: PartRef = { kind: 'inbound', id: part.id, hash: binding.part }
      if (isOwn(binding.local)) {
        reader.refuse(ref, '', 'the port of the application is one of the proxy itself; it accepts no caller')
        return []
      }
      if (binding.listen === undefined && proxy.listen.inbound === undefined) {
        reader.refuse(
          ref,
          '',
          'nothing leads to the port: it has no address of its own, and no connections are redirected',
        )
        return []
      }
      const mesh = reader.part(proxy.mesh, 'mesh')
      return reader.attempt<readonly ServedPort[]>(ref, '', [], () => [served(binding, part, ref, mesh, reader)])
    })
  const redirected = ports.flatMap(({ redirected: port }) => (port === undefined ? [] : [port]))
  return [...redirectedIn(proxy, redirected), ...ports.flatMap(({ sections }) => sections)]
}

/**
 * A connection that a server has upgraded is bytes, which no rule reads. WebSocket, and what Kubernetes and Docker use for terminals, carry no requests. Over
 * `h2c` a caller could send any; a server may ignore an upgrade (RFC 9110, section 7.8), and does not see this one.
 */
const NO_OTHER_UPGRADES = String.raw`http-request del-header upgrade unless { req.fhdr(upgrade) -m reg -i '^(websocket|spdy/3\.1|tcp)$' }`

interface ServedPort {
  readonly sections: readonly Section[]
  /** In transparent mode. */
  readonly redirected?: RedirectedPort
}

function served(
  { listen, local }: InboundBinding,
  part: InboundPart,
  ref: PartRef,
  mesh: MeshPart,
  reader: HaproxyPolicyReader,
): ServedPort {
  const target = sectionName('local', part.id)
  const name = sectionName(listen === undefined ? 'at' : 'in', part.id)
  const conditions = new Conditions(reader, mesh.keepsEscapedSlashes === true ? pathReadings : [])
  const names = conditions.list(part.serverNames.map((host) => `ssl_fc_sni -m str -i -- ${quoted(hostName(host))}`))
  const http = speaksHttp(part.protocol)
  const rules = http ? httpRules(part, ref, mesh, conditions, reader) : tcpRules(part, conditions, reader)
  const mode = http ? 'mode http' : 'mode tcp'
  const sections: readonly Section[] = [
    {
      head: `frontend ${name}`,
      lines: [
        mode,
        `${bindWords(name, listen)} ssl crt ${fileNames.certificate} ca-file ${fileNames.roots} verify required${priorKnowledge(part.protocol)}`,
        // After a reload a connection gets one more answer. HAProxy would close it at once otherwise, with a request on its way.
        ...(http ? ['option idle-close-on-response'] : []),
        ...conditions.lists,
        // The name tells which service was called: who requests another one has come to the wrong place.
        `tcp-request session reject unless ${names}`,
        ...rules,
        `default_backend ${target}`,
      ],
    },
    { head: `backend ${target}`, lines: [mode, `server s1 ${socketName(local)}${priorKnowledge(part.protocol)}`] },
  ]
  if (listen !== undefined) return { sections }
  return { sections, redirected: { section: name, port: part.targetPort, serverNames: part.serverNames } }
}

function httpRules(
  part: InboundPart,
  ref: PartRef,
  mesh: MeshPart,
  conditions: Conditions,
  reader: HaproxyPolicyReader,
): readonly string[] {
  const refused = 'http-request deny deny_status 403'
  const { rules } = part
  if (rules.kind === 'deny') return [refused]
  if (rules.kind === 'tcp' || isBeyond(part, ref, reader)) return [refused]
  const allow = rules.allow.map(({ match, allow: callers }, index) => {
    const who = isCaller(callers, conditions, reader)
    const what = conditions.terms(match, ref, `/rules/allow/${index}/match`)
    return `http-request set-var(txn.allowed) bool(true) if ${[who, ...what].join(' ')}`
  })
  const named = namedHeaders([...rules.allow, ...rules.routeLimits].map(({ match }) => match))
  const removed = [...withheldHeaders(), ...(mesh.keepsOtherSpellings === true ? [] : otherSpellings(named))]
  return [
    ...pathRules(mesh.keepsEscapedSlashes === true),
    ...(mesh.keepsEscapedSlashes === true ? readPaths : []),
    ...removals(removed),
    NO_OTHER_UPGRADES,
    ...conditions.variables,
    ...allow,
    `${refused} unless { var(txn.allowed) -m bool }`,
  ]
}

function tcpRules({ rules }: InboundPart, conditions: Conditions, reader: HaproxyPolicyReader): readonly string[] {
  if (rules.kind !== 'tcp') return ['tcp-request content reject']
  return [`tcp-request content reject unless ${isCaller(rules.allow, conditions, reader)}`]
}

/** The host requests this of no class that does not declare it. If it did, what a service would refuse must not pass. */
function isBeyond(part: InboundPart, ref: PartRef, reader: HaproxyPolicyReader): boolean {
  if (part.externalAuthorization === undefined) return false
  reader.refuse(ref, '/externalAuthorization', 'class haproxy asks no service for authorization; the port is closed')
  return true
}

/** HAProxy sees the common name of a caller, which is its principal. */
function isCaller(hash: PartHash, conditions: Conditions, reader: HaproxyPolicyReader): string {
  const part = reader.part(hash, 'principals')
  const ref: PartRef = { kind: 'principals', id: part.id, hash }
  return reader.attempt(ref, '', '{ always_false }', () => conditions.list(callerCriteria(part)))
}

function callerCriteria(part: PrincipalsPart): readonly string[] {
  const sample = 'ssl_c_s_dn(CN)'
  if (part.match === 'list') return [...part.principals].sort().map((name) => `${sample} -m str -- ${quoted(name)}`)
  // Two labels at least before the trust domain: account and namespace.
  const domain = hostName(part.trustDomain).replaceAll('.', String.raw`\.`)
  return [`${sample} -m reg '^[^.]++(?:\\.[^.]++)+\\.${domain}$'`]
}
