import { round, type Summary, summarize } from '../statistics.js'
import {
  type ChangeFigures,
  measureEndpointChange,
  measurePolicyChange,
  measureRollout,
  measureServiceAdded,
  type RolloutFigures,
  type Rounds,
} from './changes.js'
import { residentMiBOf } from './process-figures.js'
import {
  measureNoOps,
  measureReconnects,
  measureStuck,
  type NoOpFigures,
  type ReconnectFigures,
  type StuckFigures,
} from './storms.js'
import { type ScalePrograms, World } from './world.js'

/** How much is measured. */
export interface ScaleOptions extends Rounds {
  readonly services: number
  /** Proxies of each service. */
  readonly replicas: number
  /** Proxies that a change of an endpoint concerns. */
  readonly affected: readonly [few: number, many: number]
  readonly storms: number
  readonly noOpSeconds: number
  readonly rolloutPods: number
  readonly programs: ScalePrograms & { readonly reader: string }
}

/** What a mesh of many services and proxies costs its controller. */
export interface ScaleFigures {
  readonly services: number
  readonly proxies: number
  /** From the start of the controller's process until it is ready, with the mesh in the API server. */
  readonly coldStartMs: number
  readonly memory: MemoryFigures
  /** Each proxy for itself, milliseconds; certificates are issued meanwhile. */
  readonly firstConnect: { readonly product: Summary; readonly floor: Summary }
  readonly endpointChange: readonly ChangeFigures[]
  readonly policyChange: Summary
  readonly serviceAdded: Summary
  readonly rollout: RolloutFigures
  readonly noOps: NoOpFigures
  readonly reconnect: ReconnectFigures
  readonly stuck: StuckFigures
}

/** Resident memory in MiB. */
export interface MemoryFigures {
  /** The controller with the mesh and no proxy, and with all of them. */
  readonly controller: { readonly without: number; readonly with: number }
  readonly floor: { readonly without: number; readonly with: number }
  /** What one proxy takes of the controller beyond what it takes of the floor. */
  readonly perProxyBeyondFloor: number
}

const WRITES_PER_SECOND = 500
const PODS_PER_SECOND = 50

/** Measures everything on one mesh, and the floor in turns with it. */
export async function measureScale(options: ScaleOptions): Promise<ScaleFigures> {
  const { services, replicas, affected, programs } = options
  const size = { services, replicas, calls: 5, hubs: affected, permissive: false }
  const step = async <T>(name: string, action: () => Promise<T>): Promise<T> => {
    const start = performance.now()
    const result = await action()
    console.error(`  ${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
    return result
  }
  const world = await step('start', () => World.start(size, programs))
  try {
    const without = await residentOf(world)
    const connected = await step('first connections', () => world.connect(true))
    // What the floor is to answer is in its memory before it is measured.
    const floorWithout = await residentMiBOf(world.floor.pid)
    const floorConnected = await step('first connections of the floor', () => world.connectFloor())
    await world.proxies.quiet(1000)
    const withProxies = await residentOf(world)
    const proxies = world.certificates.proxies.length
    const memory: MemoryFigures = {
      controller: { without: without.controller, with: withProxies.controller },
      floor: { without: round(floorWithout), with: withProxies.floor },
      perProxyBeyondFloor: round(
        (withProxies.controller - without.controller - (withProxies.floor - floorWithout)) / proxies,
      ),
    }
    const [few, many] = affected
    const endpointChange = [
      await step(`endpoint of ${few}`, () => measureEndpointChange(world, few, options)),
      await step(`endpoint of ${many}`, () => measureEndpointChange(world, many, options)),
    ]
    const policyChange = await step('policy', () => measurePolicyChange(world, options))
    const serviceAdded = await step('service', () => measureServiceAdded(world, few, Math.ceil(options.rounds / 10)))
    const noOps = await step('writes that change nothing', () =>
      measureNoOps(world, {
        perSecond: WRITES_PER_SECOND,
        seconds: options.noOpSeconds,
        readerProgram: programs.reader,
      }),
    )
    const rollout = await step('rollout', () => measureRollout(world, options.rolloutPods, PODS_PER_SECOND))
    const reconnect = await step('reconnects', () => measureReconnects(world, options.storms))
    const stuck = await step('stuck proxies', () =>
      measureStuck(world, {
        stuck: few / 2,
        affected: many,
        rounds: Math.ceil(options.rounds / 5),
        program: programs.proxies,
      }),
    )
    return {
      services,
      proxies,
      coldStartMs: round(world.controllerStartMs),
      memory,
      firstConnect: { product: summarize(connected), floor: summarize(floorConnected) },
      endpointChange,
      policyChange,
      serviceAdded,
      rollout,
      noOps,
      reconnect,
      stuck,
    }
  } catch (error) {
    throw new Error(`the last words of the controller:\n${world.controller.lastWords()}`, { cause: error })
  } finally {
    await world.close()
  }
}

async function residentOf(world: World): Promise<{ readonly controller: number; readonly floor: number }> {
  return {
    controller: round(await residentMiBOf(world.controller.pid)),
    floor: round(await residentMiBOf(world.floor.pid)),
  }
}
