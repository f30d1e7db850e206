import { ApiVersion, type ConfigSourceSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/config_source_pb.js'

import { duration, type Init, oneOf } from './encode.js'

/**
 * Whatever one resource needs of others comes over the same stream, and is waited for without limit: serving without it would be plaintext, a 404 or an
 * empty cluster where the policy says otherwise.
 */
export function adsSource(): Init<typeof ConfigSourceSchema> {
  return {
    configSourceSpecifier: oneOf('ads', {}),
    initialFetchTimeout: duration(0),
    resourceApiVersion: ApiVersion.V3,
  }
}
