import {
  type ChangeFigures,
  measureEndpointChange,
  measurePolicyChange,
  measureRollout,
  measureServiceAdded,
  type PlainChangeFigures,
  type ServiceAddedFigures,
  type RolloutFigures,
  type Rounds,
} from './changes.js'
import { emptyControllerMiB, firstConnections, type FirstConnections } from './first-connections.js'
import { measureReaders, type ReaderFigures } from './readers.js'
import { measureRootRotation, type RootRotationFigures } from './roots.js'
import { measureNoOps, measureReconnects, type NoOpFigures, type ReconnectFigures } from './storms.js'
import { type ScaleMesh, step, withScaleEnvironment } from './scale-environment.js'

/** How much is measured. */
export interface ScaleOptions extends Rounds, ScaleMesh {
  /** Proxies that a change of an endpoint concerns. */
  readonly affected: readonly [few: number, many: number]
  readonly storms: number
  readonly noOpSeconds: number
  readonly rolloutPods: number
  /** Certificates that follow a new root are waited for, up to 40 s. */
  readonly rootCertificates: boolean
}

/** What a mesh of many services and proxies costs its controller. */
export interface ScaleFigures extends FirstConnections {
  /** Resident memory of a controller in MiB that has no service and no proxy. */
  readonly emptyControllerMiB: number
  readonly endpointChange: readonly ChangeFigures[]
  readonly policyChange: PlainChangeFigures
  readonly serviceAdded: ServiceAddedFigures
  readonly rollout: RolloutFigures
  readonly noOps: NoOpFigures
  readonly reconnect: ReconnectFigures
  readonly stuck: ReaderFigures
  readonly rootRotation: RootRotationFigures
}

const WRITES_PER_SECOND = 500
/** The driver drains for 10 s. */
const DRAIN_MS = 11_000
const PODS_PER_SECOND = 50

/** What a change of endpoints costs alone. */
export async function measureEndpoints(
  options: Rounds & ScaleMesh & { readonly affected: readonly number[] },
): Promise<readonly ChangeFigures[]> {
  const { services, replicas, affected, programs } = options
  const size = { services, replicas, hubs: affected, permissive: false }
  return withScaleEnvironment(size, programs, async (environment) => {
    await step('connections', () => environment.connect(true))
    await environment.connectFloor()
    const figures: ChangeFigures[] = []
    for (const count of affected)
      figures.push(await step(`endpoint of ${count}`, () => measureEndpointChange(environment, count, options)))
    return figures
  })
}

/** What a new service costs alone. */
export async function measureServices(
  /** `affected` proxies are told of it. */
  options: ScaleMesh & { readonly affected: number; readonly rounds: number },
): Promise<ServiceAddedFigures> {
  const { services, replicas, affected, rounds, programs } = options
  const size = { services, replicas, hubs: [affected / 2, 5 * (affected / 2)], permissive: false }
  return withScaleEnvironment(size, programs, async (environment) => {
    await step('connections', () => environment.connect())
    return step('service', () => measureServiceAdded(environment, affected, rounds))
  })
}

/** Measures everything on one mesh, and the floor in turns with it. */
export async function measureScale(options: ScaleOptions): Promise<ScaleFigures> {
  const { services, replicas, affected, programs } = options
  const [few, many] = affected
  const empty = await step('empty controller', () => emptyControllerMiB(programs))
  const size = { services, replicas, hubs: affected, permissive: false }
  return withScaleEnvironment(size, programs, async (environment) => ({
    ...(await firstConnections(environment)),
    emptyControllerMiB: empty,
    endpointChange: [
      await step(`endpoint of ${few}`, () => measureEndpointChange(environment, few, options)),
      await step(`endpoint of ${many}`, () => measureEndpointChange(environment, many, options)),
    ],
    policyChange: await step('policy', () => measurePolicyChange(environment, options)),
    serviceAdded: await step('service', () =>
      measureServiceAdded(environment, 2 * few, Math.ceil(options.rounds / 10)),
    ),
    noOps: await step('writes that change nothing', async () => {
      // The driver has drained until then what the removed services leave to connections.
      await new Promise((resolve) => setTimeout(resolve, DRAIN_MS))
      return measureNoOps(environment, {
        perSecond: WRITES_PER_SECOND,
        seconds: options.noOpSeconds,
        floorProgram: programs.floor,
      })
    }),
    rollout: await step('rollout', () => measureRollout(environment, options.rolloutPods, PODS_PER_SECOND)),
    reconnect: await step('reconnects', () => measureReconnects(environment, options.storms)),
    stuck: await step('slow and stuck proxies', () =>
      measureReaders(environment, {
        stuck: few / 2,
        affected: many,
        rounds: Math.ceil(options.rounds / 5),
        program: programs.proxies,
      }),
    ),
    rootRotation: await step('another root', async () => {
      // Some were left with the process that was stuck.
      await environment.proxies.disconnect()
      await environment.connect()
      await environment.settled()
      return measureRootRotation(environment, { certificates: options.rootCertificates })
    }),
  }))
}
