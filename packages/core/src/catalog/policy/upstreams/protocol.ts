import type { Protocol } from '@osm-ts/driver-api/policy'

/** True for protocols whose requests the mesh sees one by one. The others are bytes to it. */
export function isHttp(protocol: Protocol): protocol is 'http' | 'http2' | 'grpc' {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}
