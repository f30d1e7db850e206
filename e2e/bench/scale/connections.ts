import { type ConnectionCosts, MeasuredServer } from './measured-server.js'
import type { Proxies, ProxyServer } from './proxies.js'
import { type ScaleEnvironment, type ScaleMesh, step, withScaleEnvironment } from './scale-environment.js'
import { measureNoOps, type NoOpFigures } from './storms.js'

/** What is measured. */
export interface ConnectionsOptions extends ScaleMesh {
  /** Proxies that connect for the first time, all at once. */
  readonly connected: number
  /** Proxies that reconnect, all at once. */
  readonly reconnected: number
  /** Reconnects that are measured; controller and floor take turns. */
  readonly turns: number
  /** For which writes that change nothing are measured. */
  readonly noOpSeconds: number
}

/** What connections cost the controller and a bare gRPC server that sends the same bytes. */
export interface Connections {
  readonly services: number
  readonly connected: number
  readonly reconnected: number
  readonly controller: ConnectionCosts
  readonly floor: ConnectionCosts
  /** With all of them connected. */
  readonly noOps: NoOpFigures
  /** The same in a mesh whose service certificates are for the keys of proxies, without those writes. */
  readonly perProxy: Pick<Connections, 'controller' | 'floor'>
}

const CONNECT_MS = 120_000
const WRITES_PER_SECOND = 200
const RETRIES = 100

/**
 * Connects many proxies at once for the first time, has the API server report what changes nothing, and connects some again in turns. The same, without those writes, once more in a mesh
 * whose service certificates are for the keys of proxies.
 */
export async function measureConnections(options: ConnectionsOptions): Promise<Connections> {
  const { services, connected, reconnected, noOpSeconds, programs } = options
  const { during: noOps, ...shared } = await measureMesh(options, 'shared', (environment) =>
    step('writes that change nothing', () =>
      measureNoOps(environment, {
        perSecond: WRITES_PER_SECOND,
        seconds: noOpSeconds,
        floorProgram: programs.floor,
      }),
    ),
  )
  const { controller, floor } = await measureMesh(options, 'perProxy', async () => undefined)
  return { services, connected, reconnected, ...shared, noOps, perProxy: { controller, floor } }
}

/** @param whileConnected - is done when all proxies are connected for the first time */
function measureMesh<T>(
  { services, replicas, connected, reconnected, turns, programs }: ConnectionsOptions,
  serviceCertificates: 'shared' | 'perProxy',
  whileConnected: (environment: ScaleEnvironment) => Promise<T>,
): Promise<{ readonly controller: ConnectionCosts; readonly floor: ConnectionCosts; readonly during: T }> {
  const size = { services, replicas, hubs: [], permissive: false, connected, serviceCertificates }
  return withScaleEnvironment(size, programs, async (environment) => {
    const returning = environment.certificates.proxies.slice(0, reconnected)
    const measured = (pid: number, proxies: Proxies, server: ProxyServer): MeasuredServer =>
      new MeasuredServer(pid, proxies, () => proxies.connect(server, returning, CONNECT_MS, { retries: RETRIES }))
    const controller = measured(environment.controller.pid, environment.proxies, environment.server)
    const floor = measured(environment.floor.pid, environment.floorProxies, environment.floorServer)
    await step('first connections', () => controller.connectFirst(() => environment.connect(true)))
    await step('first connections', () => floor.connectFirst(() => environment.connectFloor()))
    const during = await whileConnected(environment)
    for (let turn = 1; turn <= turns; turn += 1)
      await step(`reconnects, turn ${turn}`, async () => {
        for (const side of [controller, floor]) await side.reconnect()
      })
    return { controller: await controller.costs(), floor: await floor.costs(), during }
  })
}
