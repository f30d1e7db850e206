import type { Protocol } from './parts.js'

/** True if proxies parse the requests of ports with this protocol. */
export function isHttp(protocol: Protocol): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}
