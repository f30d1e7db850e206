import {
  type ChangeFigures,
  measureEndpointChange,
  measureServiceAdded,
  type Rounds,
  type ServiceAddedFigures,
} from './changes.js'
import { firstConnections, type FirstConnections } from './first-connections.js'
import { type ScaleMesh, step, withScaleEnvironment } from './scale-environment.js'

/** A mesh of which less is measured, because of its size. */
export interface LargeOptions extends Rounds, ScaleMesh {
  /** Proxies that connect; pods without one are endpoints and nothing else. */
  readonly connected: number
  /** Proxies that a change of an endpoint, or a new service, concerns. In permissive mode these are all. */
  readonly affected: number
  /** Everybody may call everything. */
  readonly permissive: boolean
}

/** Cold start, memory, first connections, and what one endpoint and one service cost. */
export interface LargeFigures extends FirstConnections {
  readonly endpointChange: ChangeFigures
  readonly serviceAdded: ServiceAddedFigures
}

export async function measureLarge(options: LargeOptions): Promise<LargeFigures> {
  const { services, replicas, connected, affected, permissive, programs } = options
  const size = { services, replicas, connected, hubs: [affected], permissive }
  return withScaleEnvironment(size, programs, async (environment) => ({
    ...(await firstConnections(environment)),
    endpointChange: await step(`endpoint of ${affected}`, () => measureEndpointChange(environment, affected, options)),
    serviceAdded: await step('service', () =>
      measureServiceAdded(environment, affected, Math.ceil(options.rounds / 5)),
    ),
  }))
}
