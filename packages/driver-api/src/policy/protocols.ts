import type { Protocol } from './parts.js'

/** True if proxies read the requests of ports that speak a protocol. */
export function isHttp(protocol: Protocol): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}
