import type { Capabilities, Driver } from '@osm-ts/driver-api'

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

/** Resolves when the signal aborts: the end of a driver that opens nothing. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
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
