import type { MeshService } from '@osm-ts/driver-api'

import { coversRange, parseIpRange } from '../../spec/ip-range.js'
import type { AccessBackend } from '../policy/ingress/access-objects.js'
import type { IngressAccessGroup } from '../policy/ingress/ingress-access.js'
import type { SourceRef } from '../policy/parts/policy-part.js'
import { isHostOf } from './boundary.js'
import { matchesRoute, type MatchableRequest } from './match-route.js'

/** A caller without a sidecar, by what the mesh can see of it. */
export interface OutsideCaller {
  /** Address that it calls from. Absent without {@link service}: it may call from anywhere. */
  readonly address?: string
  /** Service whose endpoints call. */
  readonly service?: MeshService
  /** Names in its certificate; absent or empty without one. */
  readonly principals?: readonly string[]
  /** Server name that it requests over TLS. */
  readonly serverName?: string
}

/** What is open at one port of the workloads of a service. */
export interface OpenPort {
  /** As the `ingress` parts of the called proxies are made of them, in order. */
  readonly groups: readonly IngressAccessGroup[]
  /** Entries of objects that have the port, also those that open nothing. */
  readonly backends: readonly AccessBackend[]
}

/** What becomes of a request at one port of workloads. */
export interface IngressVerdict {
  readonly allowed: boolean
  readonly reasons: readonly string[]
  readonly by: readonly SourceRef[]
}

/** The name that a caller asks for, and the address it calls from; undefined for an unknown one. */
interface Connection {
  readonly address: string | undefined
  readonly serverName: string
  readonly principals: readonly string[]
  /** The caller in words. */
  readonly shown: string
}

/** Decides by the policy that the sidecars of the called workloads get. A caller speaks TLS where it is asked to. */
export function decideIngress(
  { groups, backends }: OpenPort,
  caller: OutsideCaller & { readonly addresses: readonly (string | undefined)[] },
  request: MatchableRequest,
): IngressVerdict {
  const { address, service, serverName = '', principals = [] } = caller
  const shown = address ?? (service === undefined ? 'everywhere' : `Service ${service.namespace}/${service.name}`)
  const connections = caller.addresses.map((each): Connection => ({
    address: each,
    serverName: serverName.toLowerCase(),
    principals: principals.map((name) => name.toLowerCase()),
    shown,
  }))
  const found = connections.map((connection) => groups.find((group) => letsIn(groups, group, connection, request)))
  const [group] = found
  if (group !== undefined && found.every((each) => each !== undefined)) {
    const backend = group.backends.find(({ opening }) => opening?.matches.some((match) => matchesRoute(match, request)))
    if (backend === undefined) return { allowed: true, reasons: ['plaintext is allowed in the namespace'], by: [] }
    return { allowed: true, reasons: [`${nameOf(backend)} lets it in`], by: backend.opening?.origins ?? [] }
  }
  const denied = connections[found.findIndex((each) => each === undefined)]
  const reasons = backends.map((backend) => `${nameOf(backend)} ${obstacle(backend, denied, request)}`)
  return { allowed: false, reasons, by: [] }
}

function letsIn(
  groups: readonly IngressAccessGroup[],
  group: IngressAccessGroup,
  connection: Connection,
  request: MatchableRequest,
): boolean {
  const { tls, principals, matches } = group
  if (chosenGroup(groups, tls === 'none', connection) !== group) return false
  if (tls === 'mtls' && !principals.some((name) => connection.principals.includes(name))) return false
  return matches.some((match) => matchesRoute(match, request))
}

/** Sidecars choose by the longest server name that fits, then by the longest range, and by nothing else. */
function chosenGroup(
  groups: readonly IngressAccessGroup[],
  inTheClear: boolean,
  { address, serverName }: Connection,
): IngressAccessGroup | undefined {
  const named = groups
    .filter(({ tls }) => (tls === 'none') === inTheClear)
    .map((group) => ({ group, length: nameLength(group.serverNames, serverName) }))
    .filter(({ length }) => length >= 0)
  const longest = Math.max(...named.map(({ length }) => length))
  return named
    .filter(({ length }) => length === longest)
    .map(({ group }) => ({ group, bits: rangeBits(group.sources, address) }))
    .filter(({ bits }) => bits >= 0)
    .toSorted((a, b) => b.bits - a.bits)[0]?.group
}

/** Length of the longest name that fits; 0 where no name is asked for, -1 where none fits. */
function nameLength(names: readonly string[], asked: string): number {
  if (names.length === 0) return 0
  if (names.includes(asked)) return Infinity
  return Math.max(-1, ...names.filter((name) => isHostOf(name, asked)).map(({ length }) => length))
}

/** Length of the longest prefix that holds the address; -1 where none does. An unknown address is in the range of all only. */
function rangeBits(sources: readonly string[], address: string | undefined): number {
  const inner = address === undefined ? undefined : parseIpRange(address)
  const bits = sources.flatMap((source) => {
    const range = parseIpRange(source)
    if (range === undefined) return []
    const isIn = inner === undefined ? address === undefined && range.bits === 0 : coversRange(range, inner)
    return isIn ? [range.bits] : []
  })
  return Math.max(-1, ...bits)
}

/** Why an entry does not let in the request. */
function obstacle({ opening }: AccessBackend, connection: Connection | undefined, request: MatchableRequest): string {
  const from = connection?.shown ?? 'everywhere'
  if (opening === undefined || rangeBits(opening.sources, connection?.address) < 0)
    return `is not for callers from ${from}`
  const { serverNames, tls, principals, matches } = opening
  if (nameLength(serverNames, connection?.serverName ?? '') < 0)
    return `is for TLS with the server name ${serverNames.join(' or ')}`
  if (tls === 'mtls' && !principals.some((name) => connection?.principals.includes(name) === true))
    return `asks for a certificate with the name ${principals.join(' or ')}`
  if (!matches.some((match) => matchesRoute(match, request))) return 'has no match for the request'
  return 'gives way to another object, which opens the port to the same callers on other terms'
}

function nameOf({ object: { kind, namespace, name } }: AccessBackend): string {
  return `${kind} ${namespace}/${name}`
}
