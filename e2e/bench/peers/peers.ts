import { ENDPOINTS } from '../references.js'
import { DEBOUNCE_MS } from '../scale/changes.js'
import { clusterName, hubOf, hubSlice } from '../scale/mesh.js'
import { type ConnectionCosts, MeasuredServer } from '../scale/measured-server.js'
import { Proxies, type Reached } from '../scale/proxies.js'
import { type ScaleEnvironment, type ScaleMesh, step, withScaleEnvironment } from '../scale/scale-environment.js'
import { round, type Summary, summarize } from '../statistics.js'
import { LinearCacheServer } from './linear-cache.js'

/** What is measured. */
export interface PeersOptions extends ScaleMesh {
  readonly affected: readonly number[]
  /** Times that everything is measured; the servers take turns. */
  readonly turns: number
  /** Changes of an endpoint in each turn, after those that warm up. */
  readonly warmUp: number
  readonly rounds: number
  /** The built linear-cache. */
  readonly linearCache: string
}

/** Servers that the same proxies are connected to. */
type ServerName = 'controller' | 'linearCache' | 'floor'

/** Figures of one server. Processor times are means in milliseconds: the kernel counts in steps of 10 ms. */
export interface PeerFigures {
  /** Of the process, until it answered for the first time; absent for one that is not started for a mesh. */
  readonly coldStartMs?: number
  readonly connections: Pick<ConnectionCosts, 'first' | 'again'>
  /** From an endpoint to the last acknowledgement, milliseconds, without the debounce of the controller. */
  readonly endpointChange: readonly { readonly affected: number; readonly lastMs: Summary; readonly cpuMs: number }[]
  readonly residentMiB: ConnectionCosts['residentMiB']
}

/** The controller beside go-control-plane and a bare gRPC server. */
export interface PeersFigures {
  readonly services: number
  readonly proxies: number
  readonly turns: number
  readonly of: Readonly<Record<ServerName, PeerFigures>>
  /** The controller divided by the linear cache. */
  readonly ratios: {
    readonly connections: number
    readonly endpointChange: readonly { readonly affected: number; readonly time: number; readonly cpu: number }[]
  }
}

interface Samples {
  readonly ms: number[]
  cpuMs: number
}

/** A server with its own proxies. */
interface Peer {
  readonly name: ServerName
  readonly measured: MeasuredServer
  readonly changes: ReadonlyMap<number, Samples>
}

/** Measures all of it on one mesh. */
export async function measurePeers(options: PeersOptions): Promise<PeersFigures> {
  const { services, replicas, affected, turns, programs } = options
  const size = { services, replicas, hubs: affected, permissive: false }
  return withScaleEnvironment(size, programs, async (environment) => {
    const linearCache = new LinearCacheServer(options.linearCache)
    const proxies = await Proxies.start(programs.proxies)
    try {
      const { certificates } = environment
      const port = await linearCache.listen(certificates.floor)
      const server = { ...environment.floorServer, port }
      const connectPeer = () => proxies.connect(server, certificates.proxies, CONNECT_MS)
      const peers: readonly Peer[] = [
        peer('controller', environment.controller.pid, environment.proxies, () => environment.connect(), affected),
        peer('linearCache', linearCache.pid, proxies, connectPeer, affected),
        peer('floor', environment.floor.pid, environment.floorProxies, () => environment.connectFloor(), affected),
      ]
      const push = (message: Uint8Array) => linearCache.push(message)
      const present = new Map(affected.map((count) => [count, false]))
      await step('first connections', () => connectFirst(environment, linearCache, peers))
      for (let turn = 1; turn <= turns; turn += 1) {
        for (const count of affected)
          await step(`endpoint of ${count}, turn ${turn}`, () =>
            measureChanges(environment, { proxies, push, peers, count, present }, options),
          )
        for (const each of peers)
          await step(`connections to ${each.name}, turn ${turn}`, () => each.measured.reconnect())
      }
      const of = await Promise.all(peers.map(async (each) => [each.name, await figuresOf(each, options)] as const))
      const figures = Object.fromEntries(of) as Record<ServerName, PeerFigures>
      return {
        services,
        proxies: certificates.proxies.length,
        turns,
        of: {
          ...figures,
          controller: { coldStartMs: round(environment.controllerStartMs), ...figures.controller },
          linearCache: { coldStartMs: round(linearCache.startMs), ...figures.linearCache },
        },
        ratios: ratiosOf(figures),
      }
    } finally {
      await proxies.close()
      await linearCache.close()
    }
  })
}

const CONNECT_MS = 120_000
const CHANGE_MS = 120_000

function peer(
  name: ServerName,
  pid: number,
  proxies: Proxies,
  connect: () => Promise<readonly number[]>,
  affected: readonly number[],
): Peer {
  const changes = new Map(affected.map((count) => [count, { ms: [], cpuMs: 0 }]))
  return { name, measured: new MeasuredServer(pid, proxies, connect), changes }
}

/** The controller says what the others are to serve: they are sent the same bytes. */
async function connectFirst(
  environment: ScaleEnvironment,
  linearCache: LinearCacheServer,
  peers: readonly Peer[],
): Promise<void> {
  for (const { name, measured } of peers) {
    await measured.connectFirst(name === 'controller' ? () => environment.connect(true) : undefined)
    if (name !== 'controller') continue
    for (const { nodeIds, types } of environment.firstAnswers)
      await linearCache.load(
        nodeIds,
        types.flatMap(([, messages]) => messages),
      )
  }
}

interface Change {
  /** Those of the linear cache. */
  readonly proxies: Proxies
  readonly push: (message: Uint8Array) => Promise<bigint>
  readonly peers: readonly Peer[]
  readonly count: number
  /** Whether the endpoint of a hub is there now, for each number of affected proxies: a turn begins with what the one before has left. */
  readonly present: Map<number, boolean>
}

/** An endpoint comes and goes; each server in turn tells its own proxies of it. */
async function measureChanges(environment: ScaleEnvironment, change: Change, options: PeersOptions): Promise<void> {
  const { proxies, push, peers, count, present } = change
  const resource = { typeUrl: ENDPOINTS, name: clusterName(hubOf(count)), count }
  const nodeIds = environment.nodeIds(count)
  const ways: Readonly<Record<ServerName, (message: Uint8Array, isPresent: boolean) => Promise<Reached>>> = {
    controller: (_, isPresent) =>
      environment.proxies.reached(
        resource,
        () => environment.api.put([hubSlice(environment.size, count, isPresent)]),
        CHANGE_MS,
      ),
    linearCache: (message) => proxies.reached(resource, () => push(message), CHANGE_MS),
    floor: (message) =>
      environment.floorProxies.reached(resource, () => environment.floor.push(nodeIds, message), CHANGE_MS),
  }
  for (let n = 1; n <= options.warmUp + options.rounds; n += 1) {
    let message: Uint8Array = new Uint8Array()
    const isPresent = present.get(count) !== true
    present.set(count, isPresent)
    for (const each of peers) {
      const { result: reached, cpuMs } = await each.measured.cpuMsOf(() => ways[each.name](message, isPresent))
      message = reached.message
      const samples = each.changes.get(count)
      if (n <= options.warmUp || samples === undefined) continue
      samples.ms.push(Math.max(...reached.times) - (each.name === 'controller' ? DEBOUNCE_MS : 0))
      samples.cpuMs += cpuMs
    }
  }
}

async function figuresOf(each: Peer, { turns, rounds }: PeersOptions): Promise<PeerFigures> {
  const { residentMiB, ...connections } = await each.measured.costs()
  return {
    connections,
    endpointChange: [...each.changes].map(([affected, { ms, cpuMs }]) => ({
      affected,
      lastMs: summarize(ms),
      cpuMs: round(cpuMs / turns / rounds),
    })),
    residentMiB,
  }
}

function ratiosOf({ controller, linearCache }: Readonly<Record<ServerName, PeerFigures>>): PeersFigures['ratios'] {
  return {
    connections: round(controller.connections.again.lastMs.p50 / linearCache.connections.again.lastMs.p50),
    endpointChange: controller.endpointChange.flatMap(({ affected, lastMs, cpuMs }) => {
      const other = linearCache.endpointChange.find((each) => each.affected === affected)
      if (other === undefined) return []
      return [{ affected, time: round(lastMs.p50 / other.lastMs.p50), cpu: round(cpuMs / other.cpuMs) }]
    }),
  }
}
