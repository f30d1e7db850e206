import type { ControllerContext, Driver } from '@osm-ts/driver-api'
import { fakeDriver, leastCapabilities } from '@osm-ts/driver-testkit'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

/** A driver that does nothing but hand out the context that it was started with. */
export interface StartedDriver {
  readonly driver: Driver
  /** The context of the last start. */
  readonly context: () => ControllerContext
}

export function startedDriver(
  name: string,
  start: () => Promise<void> = () => Promise.resolve(),
  followsEndpoints = false,
): StartedDriver {
  let context: ControllerContext | undefined
  const driver = fakeDriver(name, {
    capabilities: {
      ...leastCapabilities,
      protocols: ['http'],
      pathMatches: ['regex'],
      headerMatches: ['regex'],
      modes: ['explicit', 'transparent'],
    },
    start: async (given) => {
      context = given
      await start()
      return { probes: {}, stopped: untilAborted(given.signal) }
    },
  })
  return {
    context: () => {
      if (context === undefined) throw new Error(`driver ${name} was not started`)
      return context
    },
    driver: followsEndpoints ? { ...driver, followsEndpoints } : driver,
  }
}
