import { round, type Summary, summarize } from '../statistics.js'
import { cpuSecondsOf, residentMiBOf } from './process-figures.js'
import type { PreparedProxy, Proxies, ProxyServer } from './proxies.js'
import { type ScaleEnvironment, type ScalePrograms, step, withWorld } from './scale-environment.js'
import { measureNoOps, type NoOpFigures } from './storms.js'

/** What is measured. */
export interface ConnectionsOptions {
  readonly services: number
  readonly replicas: number
  /** Proxies that connect for the first time, all at once. */
  readonly connected: number
  /** Proxies that reconnect, all at once. */
  readonly reconnected: number
  /** Reconnects that are measured; controller and floor take turns. */
  readonly turns: number
  /** For which writes that change nothing are measured. */
  readonly noOpSeconds: number
  readonly programs: ScalePrograms
}

/** Of one server. */
export interface ConnectionCosts {
  /** The first connections; the controller issues certificates meanwhile. */
  readonly first: { readonly lastMs: number; readonly cpuMs: number }
  /** Reconnects: until the last is configured, and the mean processor time. */
  readonly again: { readonly lastMs: Summary; readonly cpuMs: number }
  /** Resident memory with all first connections, and at the end of the benchmark. */
  readonly residentMiB: { readonly connected: number; readonly last: number }
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

/** A server with proxies of its own. */
interface Connected {
  readonly pid: number
  readonly server: ProxyServer
  readonly proxies: Proxies
  readonly again: { readonly ms: number[]; cpuMs: number }
}

/** What a first connection is measured by. */
type FirstCosts = Pick<ConnectionCosts, 'first'> & { readonly connectedMiB: number }

const CONNECT_MS = 120_000
const WRITES_PER_SECOND = 200
const RETRIES = 100
/** What ends costs a server as well, and belongs to nothing that is measured. */
const ENDING_MS = 1000

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
  return withWorld(size, programs, async (environment) => {
    const { controller, floor, server, floorServer, proxies, floorProxies } = environment
    const returning = environment.certificates.proxies.slice(0, reconnected)
    const sides = {
      controller: { pid: controller.pid, server, proxies, again: { ms: [], cpuMs: 0 } },
      floor: { pid: floor.pid, server: floorServer, proxies: floorProxies, again: { ms: [], cpuMs: 0 } },
    }
    const first = {
      controller: await measureFirst(sides.controller, () => environment.connect(true)),
      floor: await measureFirst(sides.floor, () => environment.connectFloor()),
    }
    const during = await whileConnected(environment)
    for (let turn = 1; turn <= turns; turn += 1)
      await step(`reconnects, turn ${turn}`, async () => {
        for (const side of Object.values(sides)) await reconnect(side, returning)
      })
    const costs = async ({ pid, again }: Connected, { first, connectedMiB }: FirstCosts): Promise<ConnectionCosts> => ({
      first,
      again: { lastMs: summarize(again.ms), cpuMs: round(again.cpuMs / turns) },
      residentMiB: { connected: connectedMiB, last: round(await residentMiBOf(pid)) },
    })
    return {
      controller: await costs(sides.controller, first.controller),
      floor: await costs(sides.floor, first.floor),
      during,
    }
  })
}

async function measureFirst({ pid }: Connected, connect: () => Promise<readonly number[]>): Promise<FirstCosts> {
  const before = await cpuSecondsOf(pid)
  const times = await step('first connections', connect)
  const cpuMs = round(((await cpuSecondsOf(pid)) - before) * 1000)
  return { first: { lastMs: round(Math.max(...times)), cpuMs }, connectedMiB: round(await residentMiBOf(pid)) }
}

async function reconnect({ pid, server, proxies, again }: Connected, returning: readonly PreparedProxy[]) {
  await proxies.disconnect()
  await new Promise((resolve) => setTimeout(resolve, ENDING_MS))
  const before = await cpuSecondsOf(pid)
  again.ms.push(Math.max(...(await proxies.connect(server, returning, CONNECT_MS, { retries: RETRIES }))))
  again.cpuMs += ((await cpuSecondsOf(pid)) - before) * 1000
}
