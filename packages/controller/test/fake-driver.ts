import type { ControllerContext, Driver } from '@osm-ts/driver-api'

/** A driver that does nothing but hand out the context that it was started with. */
export interface FakeDriver {
  readonly driver: Driver
  /** The context of the last start. */
  readonly context: () => ControllerContext
}

export function fakeDriver(name: string, start: () => Promise<void> = () => Promise.resolve()): FakeDriver {
  let context: ControllerContext | undefined
  return {
    context: () => {
      if (context === undefined) throw new Error(`driver ${name} was not started`)
      return context
    },
    driver: {
      name,
      contract: 1,
      capabilities: {
        protocols: ['http'],
        pathMatches: ['regex'],
        headerMatches: ['regex'],
        upstreamIdentity: 'principal',
        modes: ['explicit', 'transparent'],
        standalone: true,
        ipFamilies: ['IPv4'],
        operatingSystems: ['linux'],
        drain: false,
        features: [],
      },
      configSchema: {},
      patch: () => Promise.reject(new Error('not asked for in these tests')),
      start: async (given) => {
        context = given
        await start()
        return {}
      },
    },
  }
}
