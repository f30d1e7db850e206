import {
  type InboundBinding,
  type InboundPart,
  type IngressBinding,
  namedHeaders,
  type PartHash,
  type PartRef,
  type PrincipalsPart,
  type Protocol,
  type ProxyPart,
  type RateLimits,
  refOf,
  type RouteLimits,
  type RouteMatch,
} from '@osm-ts/driver-api/policy'

import type { Callers, IngressPort, RequestLimit, ServedPort, ServedProtocol, ServedRules } from '../config/types.js'
import { socketText } from './address.js'
import { requestMatch } from './matching.js'
import type { PolicyReader } from './policy-reader.js'

/** What a proxy serves, with the callers that the rules name. */
export interface ServedPorts {
  readonly served: readonly ServedPort[]
  readonly ingress: readonly IngressPort[]
  readonly callers: Readonly<Record<string, Callers>>
}

/** Ports of a proxy's workload, sorted by id. */
export function servedPorts(proxy: ProxyPart, reader: PolicyReader): ServedPorts {
  const callers = new Map<string, Callers>()
  const name = (hash: PartHash): string => {
    callers.set(hash, callersOf(reader.part(hash, 'principals')))
    return hash
  }
  const keeps = reader.part(proxy.mesh, 'mesh').keepsOtherSpellings === true
  const served = byId(proxy.inbound).map((binding) => {
    const port = servedPort(binding, reader, name)
    const { rules } = reader.part(binding.part, 'inbound')
    return rules.kind === 'http' && !keeps ? { ...port, ...named([...rules.allow, ...rules.routeLimits]) } : port
  })
  const ingress = byId(proxy.ingress).flatMap((binding) => {
    const { matches, routeLimits: limits } = reader.part(binding.part, 'ingress')
    const conditions = [...matches.map((match) => ({ match })), ...limits]
    return ingressPort(binding, reader).map((port) => (keeps ? port : { ...port, ...named(conditions) }))
  })
  return { served, ingress, callers: Object.fromEntries([...callers].sort(([a], [b]) => (a < b ? -1 : 1))) }
}

function named(conditions: readonly { readonly match: RouteMatch }[]): Pick<ServedPort, 'namedHeaders'> {
  const names = namedHeaders(conditions.map(({ match }) => match))
  return names.length === 0 ? {} : { namedHeaders: names }
}

function byId<T extends { readonly id: string }>(bindings: readonly T[]): readonly T[] {
  return [...bindings].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function callersOf(part: PrincipalsPart): Callers {
  return part.match === 'trustDomain' ? { domain: part.trustDomain } : { names: [...part.principals].sort() }
}

function servedPort(binding: InboundBinding, reader: PolicyReader, callers: (hash: PartHash) => string): ServedPort {
  const part = reader.part(binding.part, 'inbound')
  const ref = refOf(part, binding.part)
  return {
    id: part.id,
    port: part.targetPort,
    ...(binding.listen === undefined ? {} : { listen: socketText(binding.listen) }),
    serverNames: part.serverNames.map((host) => host.toLowerCase()).sort(),
    local: socketText(binding.local),
    protocol: servedProtocol(part.protocol),
    rules: servedRules(part, reader, ref, callers),
    ...limitsOf(part.rateLimits),
  }
}

function servedRules(
  part: InboundPart,
  reader: PolicyReader,
  ref: PartRef,
  callers: (hash: PartHash) => string,
): ServedRules {
  const { rules } = part
  if (rules.kind === 'deny') return { kind: 'deny' }
  // The host requests this of no class that does not declare it. If it did, what a service would refuse must not pass.
  if (part.externalAuthorization !== undefined) {
    reader.refuse(ref, '/externalAuthorization', 'class pipy asks no service for authorization; the port is closed')
    return { kind: 'deny' }
  }
  if (rules.kind === 'tcp') return { kind: 'tcp', callers: callers(rules.allow) }
  return {
    kind: 'http',
    allow: rules.allow.map(({ match, allow }, i) => ({
      match: requestMatch(match, reader, ref, `/rules/allow/${i}/match`),
      callers: callers(allow),
    })),
    limits: routeLimits(rules.routeLimits, reader, ref, '/rules/routeLimits'),
  }
}

function ingressPort(binding: IngressBinding, reader: PolicyReader): readonly IngressPort[] {
  const part = reader.part(binding.part, 'ingress')
  const ref = refOf(part, binding.part)
  if (part.externalAuthorization !== undefined) {
    reader.refuse(ref, '/externalAuthorization', 'class pipy asks no service for authorization; the port is closed')
    return []
  }
  if (servedProtocol(part.protocol) === 'tcp') {
    reader.refuse(
      ref,
      '/protocol',
      'class pipy takes no connections without mutual TLS to ports that do not speak HTTP',
    )
    return []
  }
  const allowed = part.allow === undefined ? undefined : reader.part(part.allow, 'principals')
  // Callers from outside are not identities of the mesh, so that its trust domain names none of them.
  const names = allowed?.match === 'list' ? [...allowed.principals].sort() : []
  return [
    {
      id: part.id,
      port: part.targetPort,
      ...(binding.listen === undefined ? {} : { listen: socketText(binding.listen) }),
      sources: [...part.sources].sort(),
      tls: part.tls,
      serverNames: part.serverNames.map((host) => host.toLowerCase()).sort(),
      ...(part.tls === 'mtls' ? { names } : {}),
      local: socketText(binding.local),
      protocol: part.protocol === 'http' ? 'http' : 'http2',
      matches: part.matches.map((match, i) => requestMatch(match, reader, ref, `/matches/${i}`)),
      limits: routeLimits(part.routeLimits, reader, ref, '/routeLimits'),
      ...limitsOf(part.rateLimits),
    },
  ]
}

function servedProtocol(protocol: Protocol): ServedProtocol {
  switch (protocol) {
    case 'http':
      return 'http'
    case 'http2':
    case 'grpc':
      return 'http2'
    case 'https':
    case 'tcp':
    case 'tcp-server-first':
      return 'tcp'
  }
}

function routeLimits(
  limits: readonly RouteLimits[],
  reader: PolicyReader,
  ref: PartRef,
  pointer: string,
): readonly { readonly match: ServedPortMatch; readonly limit?: RequestLimit }[] {
  return limits.map(({ match, rateLimits }, i) => ({
    match: requestMatch(match, reader, ref, `${pointer}/${i}/match`),
    ...(rateLimits.http === undefined ? {} : { limit: requestLimit(rateLimits.http) }),
  }))
}

type ServedPortMatch = ReturnType<typeof requestMatch>

function limitsOf(limits: RateLimits = {}): Pick<ServedPort, 'connectionLimit' | 'requestLimit'> {
  return {
    ...(limits.tcp === undefined ? {} : { connectionLimit: limits.tcp.bucket }),
    ...(limits.http === undefined ? {} : { requestLimit: requestLimit(limits.http) }),
  }
}

function requestLimit({ bucket, statusCode, responseHeaders }: NonNullable<RateLimits['http']>): RequestLimit {
  return { bucket, status: statusCode, headers: responseHeaders.map(({ name, value }) => [name, value] as const) }
}
