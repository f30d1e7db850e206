import { round, type Summary, summarize } from '../statistics.js'
import { DEBOUNCE_MS, totals } from './changes.js'
import { ChildRequests } from './child-requests.js'
import { hubOf, hubSlice, podObject, serviceOf } from './mesh.js'
import { cpuSecondsOf, residentMiBOf } from './process-figures.js'
import { Proxies } from './proxies.js'
import { ENDPOINTS } from '../references.js'
import type { World } from './world.js'

/** All proxies lose their connection and come back at once. Milliseconds until the last one is configured. */
export interface ReconnectFigures {
  readonly proxies: number
  readonly product: Summary
  readonly floor: Summary
  /** Of the medians. */
  readonly ratio: number
  /** Resident memory of the controller in MiB: when all were configured for the first time, and after the last storm. */
  readonly residentMiB: { readonly first: number; readonly last: number }
  readonly longestBlockMs: number
}

/** Storms against the controller and the floor in turns. */
export async function measureReconnects(world: World, storms: number): Promise<ReconnectFigures> {
  const first = await residentMiBOf(world.controller.pid)
  const product: number[] = []
  const floor: number[] = []
  let longestBlock = 0
  for (let n = 0; n < storms; n += 1) {
    await world.proxies.disconnect()
    // What was before is no part of the storm.
    await world.controller.figures()
    product.push(Math.max(...(await world.connect())))
    longestBlock = Math.max(longestBlock, (await world.controller.figures()).longestBlockMs)
    await world.floorProxies.disconnect()
    floor.push(Math.max(...(await world.connectFloor())))
  }
  const [ours, bare] = [summarize(product), summarize(floor)]
  return {
    proxies: world.certificates.proxies.length,
    product: ours,
    floor: bare,
    ratio: round(ours.p50 / bare.p50),
    residentMiB: { first: round(first), last: round(await residentMiBOf(world.controller.pid)) },
    longestBlockMs: round(longestBlock),
  }
}

/** Objects are written that change nothing. */
export interface NoOpFigures {
  readonly perSecond: number
  readonly seconds: number
  /** Responses that proxies were sent, and policies that were computed again: none. */
  readonly responses: number
  readonly recomputedPolicies: number
  /** Of processes that read the same stream: the controller, and one that parses each line and drops it. */
  readonly cpuSeconds: { readonly controller: number; readonly reader: number }
  readonly ratio: number
  readonly longestBlockMs: number
}

/** Annotations of pods change, as tools of users write them, and statuses, as kubelets do. */
export async function measureNoOps(
  world: World,
  options: { readonly perSecond: number; readonly seconds: number; readonly readerProgram: string },
): Promise<NoOpFigures> {
  const { perSecond, seconds } = options
  const { services, replicas } = world.size
  const count = services * replicas
  const objects = Array.from({ length: perSecond * seconds }, (_, n) => {
    const index = n % count
    const service = Math.floor(index / replicas)
    const pod = podObject({ ...serviceOf(service), index })
    if (n % 2 === 0) return { ...pod, metadata: annotated(pod.metadata, n) }
    return { ...pod, rest: { ...pod.rest, status: { ...(pod.rest?.status as object), hostIP: `192.0.2.${n % 250}` } } }
  })
  const reader = new ChildRequests(options.readerProgram)
  try {
    await reader.first()
    await reader.ask({ type: 'read', url: `${world.api.url}/api/v1/pods` })
    const before = totals(await world.proxies.counters())
    const { recomputedPolicies } = await world.controller.figures()
    const cpu = { controller: await cpuSecondsOf(world.controller.pid), reader: await cpuSecondsOf(reader.pid) }
    await world.api.stream(objects, perSecond)
    await new Promise((resolve) => setTimeout(resolve, 5 * DEBOUNCE_MS))
    const controller = round((await cpuSecondsOf(world.controller.pid)) - cpu.controller)
    const bare = round((await cpuSecondsOf(reader.pid)) - cpu.reader)
    const after = totals(await world.proxies.counters())
    const figures = await world.controller.figures()
    const { lines } = await reader.ask<{ readonly lines: number }>({ type: 'count' })
    if (lines < objects.length) throw new Error(`the reader has read ${lines} of ${objects.length} lines`)
    return {
      perSecond,
      seconds,
      responses: after.responses - before.responses,
      recomputedPolicies: figures.recomputedPolicies - recomputedPolicies,
      cpuSeconds: { controller, reader: bare },
      ratio: round(controller / bare),
      longestBlockMs: round(figures.longestBlockMs),
    }
  } finally {
    await reader.close()
  }
}

function annotated<M extends { readonly annotations?: Readonly<Record<string, string>> }>(metadata: M, n: number): M {
  return { ...metadata, annotations: { ...metadata.annotations, 'example.com/checked': String(n) } }
}

/** Some proxies stop to read; all others go on. */
export interface StuckFigures {
  readonly stuck: number
  /** Milliseconds of a change of an endpoint that concerns all, to the last acknowledgement of the others. */
  readonly without: Summary
  readonly with: Summary
  /** Of the medians. */
  readonly ratio: number
  /** Resident memory in MiB that the controller took meanwhile. */
  readonly residentMiB: number
}

/** The first proxies connect from a process of their own, which is stopped for half of the rounds. */
export async function measureStuck(
  world: World,
  options: { readonly stuck: number; readonly affected: number; readonly rounds: number; readonly program: string },
): Promise<StuckFigures> {
  const { stuck, affected, rounds } = options
  const hub = hubOf(affected)
  const resource = { typeUrl: ENDPOINTS, name: `${hub.namespace}/${hub.app}|8080`, count: affected - stuck }
  const others = await Proxies.start(options.program)
  try {
    // A proxy that connects once more takes the place of its connection before.
    await world.proxies.disconnect()
    const { proxies } = world.certificates
    await world.proxies.connect(world.server, proxies.slice(stuck), 180_000)
    await others.connect(world.server, proxies.slice(0, stuck), 60_000)
    let both = false
    const change = async (): Promise<number> => {
      both = !both
      const object = hubSlice(world.size, affected, both)
      return Math.max(...(await world.proxies.reached(resource, () => world.api.put([object]), 60_000)).times)
    }
    // Whatever stood there before, two changes in a row are two.
    await world.api.put([hubSlice(world.size, affected, false)])
    await world.settled()
    const without = []
    for (let n = 0; n < rounds; n += 1) without.push(await change())
    others.stall()
    const before = await residentMiBOf(world.controller.pid)
    const withStuck = []
    for (let n = 0; n < rounds; n += 1) withStuck.push(await change())
    const residentMiB = round((await residentMiBOf(world.controller.pid)) - before)
    const [alone, beside] = [summarize(without), summarize(withStuck)]
    return { stuck, without: alone, with: beside, ratio: round(beside.p50 / alone.p50), residentMiB }
  } finally {
    others.resume()
    await others.close()
  }
}
