import { status } from '@grpc/grpc-js'
import { type Eviction, isOsmError } from '@osm-ts/driver-api'

/** Why a stream ends, in the words of gRPC. Never more than a proxy may know. */
export interface StreamEnd {
  readonly code: status
  readonly details: string
}

/** Ends a stream from within. */
export class StreamRefusal extends Error {
  readonly end: StreamEnd

  constructor(code: status, details: string, cause?: unknown) {
    super(details, { cause })
    this.end = { code, details }
  }
}

/** How a proxy is told that the host did not accept it. */
export function refusalOf(error: unknown): StreamRefusal {
  if (isOsmError(error, 'OSM_PROXY_UNAUTHENTICATED'))
    return new StreamRefusal(status.UNAUTHENTICATED, 'the certificate is not accepted', error)
  if (isOsmError(error, 'OSM_PROXY_UNKNOWN'))
    return new StreamRefusal(status.PERMISSION_DENIED, 'the workload of that certificate is not known', error)
  if (isOsmError(error, 'OSM_PROXY_WRONG_CLASS'))
    return new StreamRefusal(status.PERMISSION_DENIED, 'the proxy is of another sidecar class', error)
  if (isOsmError(error, 'OSM_PROXY_EVICTED'))
    return new StreamRefusal(status.RESOURCE_EXHAUSTED, 'there is no place for another proxy', error)
  if (isOsmError(error, 'OSM_PROXY_KEY'))
    return new StreamRefusal(status.PERMISSION_DENIED, 'the key of the proxy certificate is not accepted', error)
  return new StreamRefusal(status.UNAVAILABLE, 'the proxy cannot be accepted now', error)
}

/** How a proxy is told that it is cut off, and whether its connection goes with the stream. */
export function endOfEviction(reason: Eviction['reason']): StreamEnd & { readonly cut: boolean } {
  switch (reason) {
    case 'released':
      return { code: status.PERMISSION_DENIED, details: 'the certificate was released', cut: true }
    case 'workload-deleted':
      return { code: status.PERMISSION_DENIED, details: 'the workload is gone', cut: true }
    case 'connection-cap':
      return { code: status.RESOURCE_EXHAUSTED, details: 'there are too many proxies', cut: true }
    case 'superseded':
      // The newer stream may be on the same connection.
      return { code: status.ABORTED, details: 'a newer stream of the proxy took the place of this one', cut: false }
    case 'rebalance':
      return { code: status.UNAVAILABLE, details: 'come back, perhaps to another replica', cut: true }
    case 'shutdown':
      return { code: status.UNAVAILABLE, details: 'the control plane is stopping', cut: true }
  }
}
