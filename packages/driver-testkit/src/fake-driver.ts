import type { Capabilities, Driver } from '@osm-ts/driver-api'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

/** As little as a driver can declare. */
export const leastCapabilities: Capabilities = {
  protocols: ['http', 'tcp'],
  pathMatches: [],
  headerMatches: [],
  upstreamIdentity: 'principal',
  modes: ['explicit'],
  standalone: true,
  ipFamilies: ['IPv4'],
  operatingSystems: ['linux'],
  drain: false,
  features: [],
}

/** A driver for tests of its host: it declares {@link leastCapabilities}, starts nothing, and cannot be asked for a patch, unless a test says otherwise. */
export function fakeDriver(name: string, changes: Partial<Omit<Driver, 'name'>> = {}): Driver {
  return {
    name,
    contract: { min: 1, max: 1 },
    capabilities: leastCapabilities,
    configSchema: {},
    patch: () => Promise.reject(new Error(`driver ${name} has no sidecar in this test`)),
    start: ({ signal }) => Promise.resolve({ probes: {}, stopped: untilAborted(signal) }),
    ...changes,
  }
}
