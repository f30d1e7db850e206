import type { KubernetesManifest } from '@osm-ts/kubernetes'

import { endpointSlice, meshedPod } from '../kubernetes-cluster.js'
import { type Summary, round, summarize } from '../statistics.js'
import {
  callersOf,
  clusterName,
  firstServices,
  hubOf,
  hubSlice,
  newService,
  podsOf,
  serviceOf,
  trafficTarget,
} from './mesh.js'
import { cpuMsOf } from './process-figures.js'
import type { Counters } from './proxies.js'
import { CLUSTER, ENDPOINTS, ROUTES } from '../references.js'
import type { ScaleEnvironment } from './scale-environment.js'

/** Changes are collected for so long after the last one. */
export const DEBOUNCE_MS = 100
const TIMEOUT_MS = 60_000

/** From a change to the last acknowledgement of those whom it concerns. Milliseconds. */
export interface ChangeFigures {
  readonly connected: number
  readonly affected: number
  /** Holds the debounce of {@link DEBOUNCE_MS}. */
  readonly change: Summary
  /** A bare gRPC server writes the same bytes to as many. */
  readonly floor: Summary
  /** Of the medians, the change without the debounce. */
  readonly ratio: number
  /** Milliseconds of processor time of the controller for one change: the mean of all, since the kernel counts in steps of 10 ms. */
  readonly cpuMs: number
  /** The same of the bare server. */
  readonly floorCpuMs: number
  /** Bytes that all other proxies were sent, over all rounds. */
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
export async function measureEndpointChange(
  environment: ScaleEnvironment,
  affected: number,
  rounds: Rounds,
): Promise<ChangeFigures> {
  const nodeIds = environment.nodeIds(affected)
  const resource = { typeUrl: ENDPOINTS, name: clusterName(hubOf(affected)), count: affected }
  const changes: number[] = []
  const floors: number[] = []
  let cpuMs = 0
  let floorCpuMs = 0
  let octetsToOthers = 0
  let recomputed = 0
  let longestBlock = 0
  for (let n = 1; n <= rounds.warmUp + rounds.rounds; n += 1) {
    const before = await environment.proxies.counters()
    const { recomputedPolicies } = await environment.controller.figures()
    const object = hubSlice(environment.size, affected, n % 2 === 1)
    const changed = await cpuMsOf(environment.controller.pid, () =>
      environment.proxies.reached(resource, () => environment.api.put([object]), TIMEOUT_MS),
    )
    const figures = await environment.controller.figures()
    const after = await environment.proxies.counters()
    const push = () => environment.floor.push(nodeIds, changed.result.message)
    const floor = await cpuMsOf(environment.floor.pid, () =>
      environment.floorProxies.reached(resource, push, TIMEOUT_MS),
    )
    if (n <= rounds.warmUp) continue
    cpuMs += changed.cpuMs
    floorCpuMs += floor.cpuMs
    changes.push(Math.max(...changed.result.times))
    floors.push(Math.max(...floor.result.times))
    octetsToOthers += octetsOf(after, affected) - octetsOf(before, affected)
    recomputed += figures.recomputedPolicies - recomputedPolicies
    longestBlock = Math.max(longestBlock, figures.longestBlockMs)
  }
  const [change, floor] = [summarize(changes), summarize(floors)]
  return {
    connected: environment.certificates.proxies.length,
    affected,
    change,
    floor,
    ratio: round((change.p50 - DEBOUNCE_MS) / floor.p50),
    cpuMs: round(cpuMs / rounds.rounds),
    floorCpuMs: round(floorCpuMs / rounds.rounds),
    octetsToOthers,
    recomputedPolicies: round(recomputed / rounds.rounds),
    longestBlockMs: round(longestBlock),
  }
}

/** Bytes of the proxies from that number on. */
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
export async function measurePolicyChange(
  environment: ScaleEnvironment,
  { warmUp, rounds }: Rounds,
): Promise<PlainChangeFigures> {
  const { replicas } = environment.size
  const callers = callersOf(environment.size, 0)
  const times: number[] = []
  for (let n = 1; n <= warmUp + rounds; n += 1) {
    const target = trafficTarget(serviceOf(0), callers, n % 2 === 1 ? ['read'] : ['read', 'write'])
    const resource = { typeUrl: ROUTES, name: 'rds-inbound.8080', count: replicas }
    const reached = await environment.proxies.reached(resource, () => environment.api.put([target]), TIMEOUT_MS)
    if (n === warmUp) await environment.controller.figures()
    if (n > warmUp) times.push(Math.max(...reached.times))
  }
  return withBlock(environment, times)
}

async function withBlock(environment: ScaleEnvironment, times: readonly number[]): Promise<PlainChangeFigures> {
  const { longestBlockMs } = await environment.controller.figures()
  return { change: summarize(times), longestBlockMs: round(longestBlockMs) }
}

/** What a new service takes. */
export interface ServiceAddedFigures extends PlainChangeFigures {
  /** Until the last acknowledgement of anything, in milliseconds; `change` is until that of its cluster. */
  readonly settled: Summary
  /** Processor time of the controller for one of them in milliseconds: the mean of all. */
  readonly cpuMs: number
  /** Bytes that all proxies together were sent for one of them: the mean of all. */
  readonly sentBytes: number
}

/** A new service that some proxies may call: from its objects to the last acknowledgement. */
export async function measureServiceAdded(
  environment: ScaleEnvironment,
  affected: number,
  rounds: number,
): Promise<ServiceAddedFigures> {
  const callers = firstServices(environment.size, affected)
  const times: number[] = []
  const settled: number[] = []
  const added: KubernetesManifest[] = []
  let cpuMs = 0
  let sentBytes = 0
  await environment.controller.figures()
  for (let n = 0; n < rounds; n += 1) {
    const place = { namespace: 'ns-1', name: `new-${n}` }
    const objects = newService(place, 600_000 + n, callers)
    const resource = { typeUrl: CLUSTER, name: clusterName(place), count: affected }
    const before = totals(await environment.proxies.counters())
    const taken = await cpuMsOf(environment.controller.pid, async () => {
      const start = process.hrtime.bigint()
      const reached = await environment.proxies.reached(resource, () => environment.api.put(objects), TIMEOUT_MS)
      settled.push(Number((await environment.settled()) - start) / 1e6)
      times.push(Math.max(...reached.times))
    })
    cpuMs += taken.cpuMs
    sentBytes += totals(await environment.proxies.counters()).octets - before.octets
    added.push(...objects)
  }
  const block = await withBlock(environment, times)
  // Not one after the other: what is removed is drained for a while, which would be measured with the next one.
  await environment.api.remove(added)
  await environment.settled()
  return {
    ...block,
    settled: summarize(settled),
    cpuMs: round(cpuMs / rounds),
    sentBytes: round(sentBytes / rounds),
  }
}

/** What all proxies together are sent while something is done, and what that takes. */
export interface SentFigures {
  readonly responses: number
  readonly octets: number
  readonly controllerCpuSeconds: number
  readonly longestBlockMs: number
}

/** Has something done, and says what it took; beside that, how many policies were computed again. */
export async function sentDuring<T>(
  { proxies, controller }: ScaleEnvironment,
  action: () => Promise<T>,
): Promise<{ readonly result: T; readonly sent: SentFigures; readonly recomputedPolicies: number }> {
  const before = totals(await proxies.counters())
  const { recomputedPolicies } = await controller.figures()
  const { result, cpuMs } = await cpuMsOf(controller.pid, action)
  const figures = await controller.figures()
  const after = totals(await proxies.counters())
  const sent = {
    responses: after.responses - before.responses,
    octets: after.octets - before.octets,
    controllerCpuSeconds: round(cpuMs / 1000),
    longestBlockMs: round(figures.longestBlockMs),
  }
  return { result, sent, recomputedPolicies: figures.recomputedPolicies - recomputedPolicies }
}

/** Pods that are replaced at a rate. */
export interface RolloutFigures extends SentFigures {
  readonly pods: number
  readonly perSecond: number
  /** Milliseconds from the last change to the last acknowledgement. */
  readonly settledMs: number
}

/** Every pod brings its own object, and a version of its service's endpoints. */
export async function measureRollout(
  environment: ScaleEnvironment,
  pods: number,
  perSecond: number,
): Promise<RolloutFigures> {
  const { size } = environment
  const objects: KubernetesManifest[] = []
  for (let n = 0; n < pods; n += 1) {
    const service = n % size.services
    const pod = { ...serviceOf(service), index: 700_000 + n }
    objects.push(meshedPod(pod), endpointSlice(pod, [...podsOf(size, service).slice(1), pod]))
  }
  const { result: settledNs, sent } = await sentDuring(environment, async () => {
    await environment.api.stream(objects, 2 * perSecond)
    const end = process.hrtime.bigint()
    return Number((await environment.settled()) - end)
  })
  return { pods, perSecond, settledMs: round(Math.max(0, settledNs / 1e6)), ...sent }
}

/** What all proxies together have received. */
function totals({ of }: Counters): { readonly octets: number; readonly responses: number } {
  let [octets, responses] = [0, 0]
  for (const each of of.values()) {
    octets += each.octets
    responses += each.responses
  }
  return { octets, responses }
}
