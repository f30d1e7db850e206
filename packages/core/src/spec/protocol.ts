import type { Protocol } from '@osm-ts/driver-api/policy'

/**
 * Protocols by every name of `appProtocol` that is known: those of OSM, those of Kubernetes (KEP-3726), and IANA service names of TLS and TCP protocols.
 *
 * WebSocket over TLS is bytes to the mesh, as HTTPS is. The handshake of WebSocket in plaintext is an HTTP/1.1 request.
 */
const byAppProtocol: ReadonlyMap<string, Protocol> = new Map([
  ['http', 'http'],
  ['kubernetes.io/ws', 'http'],
  ['ws', 'http'],
  ['http2', 'http2'],
  ['h2c', 'http2'],
  ['kubernetes.io/h2c', 'http2'],
  ['grpc', 'grpc'],
  ['https', 'https'],
  ['kubernetes.io/wss', 'https'],
  ['wss', 'https'],
  ['tls', 'https'],
  ['tcp', 'tcp'],
  ['tcp-server-first', 'tcp-server-first'],
])

/**
 * Protocols that a port name may begin with; a name that begins with another is listed before it. gRPC-Web is not gRPC: browsers send it over HTTP/1.1 as
 * well, to servers that speak nothing else.
 */
const byPrefix: ReadonlyMap<string, Protocol> = new Map([
  ['tcp-server-first', 'tcp-server-first'],
  ['https', 'https'],
  ['http2', 'http2'],
  ['http', 'http'],
  ['grpc-web', 'http'],
  ['grpc', 'grpc'],
  ['tcp', 'tcp'],
])

/** Words in port names that stand for a protocol other than HTTP, from charts and manifests of the programs that speak it. */
const otherProtocols: readonly string[] = [
  'amqp',
  'amqps',
  'bolt',
  'cassandra',
  'cql',
  'dns',
  'ftp',
  'https',
  'imap',
  'imaps',
  'kafka',
  'ldap',
  'ldaps',
  'memcache',
  'memcached',
  'mongo',
  'mongodb',
  'mqtt',
  'mqtts',
  'mssql',
  'mysql',
  'nats',
  'pgsql',
  'postgres',
  'postgresql',
  'redis',
  'smtp',
  'smtps',
  'ssh',
  'ssl',
  'syslog',
  'tls',
  'websecure',
  'zookeeper',
]

/** Ports that IANA, or common use, gives to a protocol other than HTTP. */
const otherPorts: ReadonlyMap<number, string> = new Map([
  [21, 'ftp'],
  [22, 'ssh'],
  [25, 'smtp'],
  [53, 'dns'],
  [143, 'imap'],
  [389, 'ldap'],
  [443, 'https'],
  [465, 'smtps'],
  [587, 'smtp'],
  [636, 'ldaps'],
  [993, 'imaps'],
  [1433, 'mssql'],
  [1883, 'mqtt'],
  [2181, 'zookeeper'],
  [3306, 'mysql'],
  [4222, 'nats'],
  [5432, 'postgresql'],
  [5671, 'amqps'],
  [5672, 'amqp'],
  [6379, 'redis'],
  [6443, 'https'],
  [7687, 'bolt'],
  [8443, 'https'],
  [8883, 'mqtts'],
  [9042, 'cql'],
  [9092, 'kafka'],
  [9443, 'https'],
  [11211, 'memcached'],
  [26379, 'redis'],
  [27017, 'mongodb'],
  [33060, 'mysql'],
])

/** Names of protocols above that begin with TLS. */
const overTls: ReadonlySet<string> = new Set([
  'amqps',
  'https',
  'imaps',
  'ldaps',
  'mqtts',
  'smtps',
  'ssl',
  'tls',
  'websecure',
])

/** A protocol that a port seems to have. */
export interface SuggestedProtocol {
  readonly name: string
  readonly beginsWithTls: boolean
}

/** The protocol of a port and what it was told by. */
export interface PortProtocol {
  readonly protocol: Protocol
  readonly toldBy: 'appProtocol' | 'name' | 'default'
  /** The value of `appProtocol`, if it is unknown. The protocol is then `tcp`: what is named otherwise is not HTTP. */
  readonly unknown?: string
}

/** Names of `appProtocol` that are known. */
export function knownAppProtocols(): readonly string[] {
  return [...byAppProtocol.keys()]
}

/**
 * The protocol of a service port: from `appProtocol`, else from the name (`grpc`, or `grpc-` and more), else http.
 *
 * Never from the traffic itself: waiting for a first byte breaks protocols in which the server speaks first.
 */
export function portProtocol(port: { readonly name?: string; readonly appProtocol?: string }): PortProtocol {
  const { appProtocol, name } = port
  if (appProtocol !== undefined && appProtocol !== '') {
    const protocol = byAppProtocol.get(appProtocol.toLowerCase())
    return protocol === undefined
      ? { protocol: 'tcp', toldBy: 'default', unknown: appProtocol }
      : { protocol, toldBy: 'appProtocol' }
  }
  for (const [prefix, protocol] of byPrefix)
    if (name === prefix || name?.startsWith(`${prefix}-`) === true) return { protocol, toldBy: 'name' }
  return { protocol: 'http', toldBy: 'default' }
}

/**
 * The protocol other than HTTP that the name or the number of a port suggests, where neither `appProtocol` nor the prefix of the name tells its protocol.
 * Undefined if nothing suggests one. With it, what the port should say: TLS is bytes to the mesh, as HTTPS is.
 */
export function suggestedProtocol(port: {
  readonly name?: string
  readonly appProtocol?: string
  readonly port: number
}): SuggestedProtocol | undefined {
  if (portProtocol(port).toldBy !== 'default' || (port.appProtocol ?? '') !== '') return undefined
  const words = (port.name ?? '').split('-')
  const name = otherProtocols.find((protocol) => words.includes(protocol)) ?? otherPorts.get(port.port)
  return name === undefined ? undefined : { name, beginsWithTls: overTls.has(name) }
}
