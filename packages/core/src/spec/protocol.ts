import type { Protocol } from '@osm-ts/driver-api'

/** Protocols by every name that `appProtocol` may give them. */
const byAppProtocol: Readonly<Record<string, Protocol>> = {
  http: 'http',
  http2: 'http2',
  h2c: 'http2',
  'kubernetes.io/h2c': 'http2',
  grpc: 'grpc',
  https: 'https',
  tcp: 'tcp',
  'tcp-server-first': 'tcp-server-first',
}

/** Protocols that a port name may begin with; a name that begins with another is listed before it. */
const byPrefix = ['tcp-server-first', 'https', 'http2', 'http', 'grpc', 'tcp'] as const

/** The protocol of a port and what it was told by. */
export interface PortProtocol {
  readonly protocol: Protocol
  readonly toldBy: 'appProtocol' | 'name' | 'default'
  /** What `appProtocol` says, if that is not known; the protocol is then `http`. */
  readonly unknown?: string
}

/** Names of `appProtocol` that are known. */
export function knownAppProtocols(): readonly string[] {
  return Object.keys(byAppProtocol)
}

/**
 * The protocol of a service port: from `appProtocol`, else from the name (`grpc`, or `grpc-` and more), else http.
 *
 * Never from the traffic itself: waiting for a first byte breaks protocols in which the server speaks first.
 */
export function portProtocol(port: { readonly name?: string; readonly appProtocol?: string }): PortProtocol {
  const { appProtocol, name } = port
  if (appProtocol !== undefined && appProtocol !== '') {
    const key = appProtocol.toLowerCase()
    const protocol = Object.hasOwn(byAppProtocol, key) ? byAppProtocol[key] : undefined
    return protocol === undefined
      ? { protocol: 'http', toldBy: 'default', unknown: appProtocol }
      : { protocol, toldBy: 'appProtocol' }
  }
  const prefix = byPrefix.find((protocol) => name === protocol || name?.startsWith(`${protocol}-`) === true)
  return prefix === undefined ? { protocol: 'http', toldBy: 'default' } : { protocol: prefix, toldBy: 'name' }
}
