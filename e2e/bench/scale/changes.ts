import { type Summary, round, summarize } from '../statistics.js'
import {
  callersOf,
  firstServices,
  hubOf,
  hubSlice,
  type MeshObject,
  podObject,
  serviceObjects,
  serviceOf,
  slice,
  trafficTarget,
} from './mesh.js'
import { cpuSecondsOf } from './process-figures.js'
import type { Counters } from './proxies.js'
import { CLUSTER, ENDPOINTS, ROUTES } from '../references.js'
import type { World } from './world.js'

/** Changes are collected for so long after the last one. */
export const DEBOUNCE_MS = 100
const TIMEOUT_MS = 60_000

/** From a change to the last acknowledgement of those whom it concerns. Milliseconds. */
export interface ChangeFigures {
  readonly connected: number
  readonly affected: number
  /** Holds the debounce of {@link DEBOUNCE_MS}. */
  readonly change: Summary
  /** A bare gRPC server writes the same octets to as many. */
  readonly floor: Summary
  /** Of the medians, the change without the debounce. */
  readonly ratio: number
  /** Octets that all other proxies were sent, over all rounds. */
  readonly octetsToOthers: number
  /** Policies of proxies that one change had computed again. */
  readonly recomputedPolicies: number
  /** Longest time in milliseconds for which the controller's event loop was busy with one thing. */
  readonly longestBlockMs: number
}

/** How often something is done. */
export interface Rounds {
  readonly warmUp: number
  readonly rounds: number
}

/** An endpoint comes and goes, of a service that as many proxies may call as there are `affected`. */
export async function measureEndpointChange(world: World, affected: number, rounds: Rounds): Promise<ChangeFigures> {
  const hub = hubOf(affected)
  const nodeIds = world.nodeIds(affected)
  const resource = { typeUrl: ENDPOINTS, name: `${hub.namespace}/${hub.app}|8080`, count: affected }
  const changes: number[] = []
  const floors: number[] = []
  let octetsToOthers = 0
  let recomputed = 0
  let longestBlock = 0
  for (let n = 1; n <= rounds.warmUp + rounds.rounds; n += 1) {
    const before = await world.proxies.counters()
    const { recomputedPolicies } = await world.controller.figures()
    const object = hubSlice(world.size, affected, n % 2 === 1)
    const { times, message } = await world.proxies.reached(resource, () => world.api.put([object]), TIMEOUT_MS)
    const figures = await world.controller.figures()
    const after = await world.proxies.counters()
    const floor = await world.floorProxies.reached(resource, () => world.floor.push(nodeIds, message), TIMEOUT_MS)
    if (n <= rounds.warmUp) continue
    changes.push(Math.max(...times))
    floors.push(Math.max(...floor.times))
    octetsToOthers += octetsOf(after, affected) - octetsOf(before, affected)
    recomputed += figures.recomputedPolicies - recomputedPolicies
    longestBlock = Math.max(longestBlock, figures.longestBlockMs)
  }
  const [change, floor] = [summarize(changes), summarize(floors)]
  return {
    connected: world.certificates.proxies.length,
    affected,
    change,
    floor,
    ratio: round((change.p50 - DEBOUNCE_MS) / floor.p50),
    octetsToOthers,
    recomputedPolicies: round(recomputed / rounds.rounds),
    longestBlockMs: round(longestBlock),
  }
}

/** Octets of the proxies from that number on. */
function octetsOf({ of }: Counters, from: number): number {
  let sum = 0
  for (const [index, { octets }] of of) if (index >= from) sum += octets
  return sum
}

/** From a change to the last acknowledgement, in milliseconds, and the longest time for which the controller's event loop was busy with one thing. */
export interface PlainChangeFigures {
  readonly change: Summary
  readonly longestBlockMs: number
}

/** A route of a service is allowed and forbidden in turns: its own proxies are told. Milliseconds to the last acknowledgement. */
export async function measurePolicyChange(world: World, { warmUp, rounds }: Rounds): Promise<PlainChangeFigures> {
  const { replicas } = world.size
  const { app, namespace } = serviceOf(0)
  const callers = callersOf(world.size, 0)
  const times: number[] = []
  for (let n = 1; n <= warmUp + rounds; n += 1) {
    const target = trafficTarget(app, namespace, callers, n % 2 === 1 ? ['read'] : ['read', 'write'])
    const resource = { typeUrl: ROUTES, name: 'rds-inbound.8080', count: replicas }
    const reached = await world.proxies.reached(resource, () => world.api.put([target]), TIMEOUT_MS)
    if (n === warmUp) await world.controller.figures()
    if (n > warmUp) times.push(Math.max(...reached.times))
  }
  return withBlock(world, times)
}

async function withBlock(world: World, times: readonly number[]): Promise<PlainChangeFigures> {
  const { longestBlockMs } = await world.controller.figures()
  return { change: summarize(times), longestBlockMs: round(longestBlockMs) }
}

/** A new service that some proxies may call: from its objects to the last acknowledgement of its cluster. Milliseconds. */
export async function measureServiceAdded(world: World, affected: number, rounds: number): Promise<PlainChangeFigures> {
  const callers = firstServices(world.size, affected)
  const times: number[] = []
  await world.controller.figures()
  for (let n = 0; n < rounds; n += 1) {
    const [app, namespace] = [`new-${n}`, 'ns-1']
    const objects = [
      ...serviceObjects(app, namespace, [{ app, namespace, index: 600_000 + n }]),
      trafficTarget(app, namespace, callers),
    ]
    const resource = { typeUrl: CLUSTER, name: `${namespace}/${app}|8080`, count: affected }
    const reached = await world.proxies.reached(resource, () => world.api.put(objects), TIMEOUT_MS)
    times.push(Math.max(...reached.times))
    await world.api.remove(objects)
    await world.settled()
  }
  return withBlock(world, times)
}

/** Pods that are replaced at a rate. */
export interface RolloutFigures {
  readonly pods: number
  readonly perSecond: number
  /** Milliseconds from the last change to the last acknowledgement. */
  readonly settledMs: number
  /** Responses that proxies were sent. */
  readonly responses: number
  readonly octets: number
  readonly controllerCpuSeconds: number
  readonly longestBlockMs: number
}

/** Every pod brings an object of its own, and a version of its service's endpoints. */
export async function measureRollout(world: World, pods: number, perSecond: number): Promise<RolloutFigures> {
  const before = totals(await world.proxies.counters())
  const cpuBefore = await cpuSecondsOf(world.controller.pid)
  await world.controller.figures()
  const { services, replicas } = world.size
  const objects: MeshObject[] = []
  for (let n = 0; n < pods; n += 1) {
    const service = n % services
    const { app, namespace } = serviceOf(service)
    const olds = Array.from({ length: replicas }, (_, replica) => ({
      app,
      namespace,
      index: service * replicas + replica,
    }))
    const pod = { app, namespace, index: 700_000 + n }
    objects.push(podObject(pod), slice(app, namespace, [...olds.slice(1), pod]))
  }
  await world.api.stream(objects, 2 * perSecond)
  const end = process.hrtime.bigint()
  const lastAt = await world.settled()
  const after = totals(await world.proxies.counters())
  return {
    pods,
    perSecond,
    settledMs: round(Math.max(0, Number(lastAt - end) / 1e6)),
    responses: after.responses - before.responses,
    octets: after.octets - before.octets,
    controllerCpuSeconds: round((await cpuSecondsOf(world.controller.pid)) - cpuBefore),
    longestBlockMs: round((await world.controller.figures()).longestBlockMs),
  }
}

/** What all proxies together have received. */
export function totals({ of }: Counters): { readonly octets: number; readonly responses: number } {
  let [octets, responses] = [0, 0]
  for (const each of of.values()) {
    octets += each.octets
    responses += each.responses
  }
  return { octets, responses }
}
