import type { MeshPart } from '@osm-ts/driver-api/policy'

import type { PipyConfig } from '../config/types.js'
import { hostText } from './address.js'

/** Where spans go. The host reports those that are for another kind of collector than Zipkin's; none is sent then. */
export function tracingOf({ tracing }: MeshPart): Pick<PipyConfig, 'tracing'> {
  if (tracing?.provider !== 'zipkin') return {}
  const { host, port, endpoint, sampledFraction } = tracing
  return { tracing: { address: hostText(host, port), path: endpoint, fraction: sampledFraction } }
}
