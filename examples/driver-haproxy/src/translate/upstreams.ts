import type {
  EndpointsPart,
  MeshPart,
  PolicyEndpoint,
  ProxyPart,
  PartInSet,
  SocketAddress,
  UpstreamPart,
} from '@osm-ts/driver-api/policy'

import { fileNames, type Slot } from './document.js'
import { ownListeners } from './listening.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { priorKnowledge, type Section, speaksHttp } from './section.js'
import { hostName, isIPv4, sectionName } from './words.js'

/** Places for endpoints that a section has at least, so that the first ones to come need no reload. */
const LEAST_SLOTS = 8

/** The largest weight that HAProxy knows. */
const MAX_WEIGHT = 256

/** The route of a request says how long it waits, which only a section of servers can be told. */
const deadline = 'http-request set-timeout server var(txn.timeout) if { var(txn.timeout) -m found }'

/** The sections of what a proxy calls. */
export interface Upstreams {
  readonly sections: readonly Section[]
  readonly slots: readonly Slot[]
  /** Section by id of the upstream; those that are not there can't be reached. */
  readonly names: ReadonlyMap<string, string>
}

/** The upstreams of a proxy: services of the mesh, always by mutual TLS. */
export function upstreamSections(proxy: ProxyPart, mesh: MeshPart, reader: HaproxyPolicyReader): Upstreams {
  const endpoints = new Map(reader.members(proxy.endpoints, 'endpoints').map((member) => [member.part.id, member]))
  const sections: Section[] = []
  const slots: Slot[] = []
  const names = new Map<string, string>()
  for (const member of reader.members(proxy.upstreams, 'upstream')) {
    const { part, ref } = member
    if (part.tls.mode !== 'mesh' || part.discovery.kind !== 'endpoints') {
      reader.refuse(ref, '/discovery', 'class haproxy reaches services of the mesh only; requests are answered 503')
      continue
    }
    const name = sectionName('up', part.id)
    const places = slotsOf(name, endpoints.get(part.id), proxy, reader)
    const section = reader.attempt(ref, '/tls/serverName', undefined, () => backend(name, part, mesh, places))
    if (section === undefined) continue
    sections.push(section)
    slots.push(...places)
    names.set(part.id, name)
  }
  return { sections, slots, names }
}

/** A line of a place; without `slot` it stands for any. */
export function serverLine({ server, endpoint }: Slot): string {
  return endpoint === undefined
    ? `server ${server} 127.0.0.1:9 weight 1 disabled`
    : `server ${server} ${endpoint.address}:${endpoint.port} weight ${endpoint.weight}`
}

function backend(name: string, part: UpstreamPart, mesh: MeshPart, slots: readonly Slot[]): Section {
  // Kept apart by upstreamSections.
  const serverName = part.tls.mode === 'none' ? '' : hostName(part.tls.serverName)
  const http = speaksHttp(part.protocol)
  const tls = `ssl verify required ca-file ${fileNames.roots} crt ${fileNames.certificate} sni str(${serverName}) verifyhost ${serverName} alpn osm no-ssl-reuse`
  return {
    head: `backend ${name}`,
    lines: [
      http ? 'mode http' : 'mode tcp',
      part.loadBalancing.policy === 'least-request' ? 'balance leastconn' : 'balance roundrobin',
      `timeout connect ${part.connectTimeoutMs ?? mesh.connectTimeoutMs}ms`,
      // What never got an answer may be asked again; the frontend says of which requests that holds.
      // A connection waits a second before it is tried again where there is no other endpoint, and its client with it.
      ...(http ? ['retry-on conn-failure empty-response', deadline] : ['retries 1']),
      `default-server ${tls}${priorKnowledge(part.protocol)}`,
      ...slots.map(serverLine),
    ],
  }
}

function slotsOf(
  section: string,
  member: PartInSet<EndpointsPart> | undefined,
  proxy: ProxyPart,
  reader: HaproxyPolicyReader,
): readonly Slot[] {
  const isOwn = ownListeners(proxy)
  const usable = (member?.part.endpoints ?? []).filter((endpoint, index) => {
    const obstacle = obstacleOf(endpoint, isOwn)
    if (obstacle !== undefined && member !== undefined) reader.refuse(member.ref, `/endpoints/${index}`, obstacle)
    return obstacle === undefined && endpoint.weight > 0
  })
  const largest = Math.max(1, ...usable.map(({ weight }) => weight))
  const scale = largest > MAX_WEIGHT ? MAX_WEIGHT / largest : 1
  const places = Math.max(LEAST_SLOTS, 2 ** Math.ceil(Math.log2(Math.max(1, usable.length))))
  return Array.from({ length: places }, (_, index): Slot => {
    const server = `s${index + 1}`
    const endpoint = usable[index]
    if (endpoint === undefined) return { section, server }
    const { address, port, weight } = endpoint
    return { section, server, endpoint: { address, port, weight: Math.max(1, Math.round(weight * scale)) } }
  })
}

/** Why an endpoint is left out; undefined if it is not. */
function obstacleOf(
  { address, port, priority, cluster, tls, path }: PolicyEndpoint,
  isOwn: (at: SocketAddress) => boolean,
): string | undefined {
  if (!isIPv4(address)) return 'class haproxy speaks IPv4 only'
  if (isOwn({ address, port }))
    return 'the endpoint is a listener of the proxy itself: it would call itself without end'
  if (tls?.mode === 'none') return 'class haproxy reaches no endpoints without a sidecar; they get no traffic'
  if (cluster !== '' || priority > 0 || tls !== undefined || path !== undefined)
    return 'class haproxy reaches no other clusters or networks'
  return undefined
}
