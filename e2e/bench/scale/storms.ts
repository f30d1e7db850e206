import { BaselineServer } from '../baseline-server.js'
import { meshedPod } from '../kubernetes-cluster.js'
import { round, type Summary, summarize } from '../statistics.js'
import { DEBOUNCE_MS, sentDuring } from './changes.js'
import { podOf } from './mesh.js'
import type { MemoryOfProcess } from './controller.js'
import { cpuMsOf } from './process-figures.js'
import type { ScaleEnvironment } from './scale-environment.js'

/** All proxies lose their connection and return at once. Milliseconds until the last one is configured. */
export interface ReconnectFigures {
  readonly proxies: number
  readonly product: Summary
  readonly floor: Summary
  /** Of the medians. */
  readonly ratio: number
  /** Memory of the controller: when all were configured for the first time, and after the last storm. */
  readonly memory: { readonly first: MemoryOfProcess; readonly last: MemoryOfProcess }
  /** Of the controller, for each proxy that returned. */
  readonly cpuMsPerProxy: number
  /** The longest times for which one task blocked the event loop while proxies returned, and while all connections ended. */
  readonly longestBlockMs: number
  readonly longestBlockOfEndMs: number
  /** The same of the floor: what no program with so many connections can avoid. */
  readonly floorLongestBlockMs: number
  readonly floorLongestBlockOfEndMs: number
}

/** Until a server has noticed that all connections have ended. */
const ENDING_MS = 1000

/** Storms against the controller and the floor in turns. */
export async function measureReconnects(environment: ScaleEnvironment, storms: number): Promise<ReconnectFigures> {
  const first = await environment.controller.memory()
  const product: number[] = []
  const floor: number[] = []
  let [longestBlock, longestOfEnd, floorLongest, floorLongestOfEnd, cpuMs] = [0, 0, 0, 0, 0]
  for (let n = 0; n < storms; n += 1) {
    longestOfEnd = Math.max(longestOfEnd, await longestBlockOfEnd(environment))
    const returned = await cpuMsOf(environment.controller.pid, () => environment.connect())
    product.push(Math.max(...returned.result))
    cpuMs += returned.cpuMs
    longestBlock = Math.max(longestBlock, (await environment.controller.figures()).longestBlockMs)
    await environment.floor.longestBlockMs()
    await environment.floorProxies.disconnect()
    await new Promise((resolve) => setTimeout(resolve, ENDING_MS))
    floorLongestOfEnd = Math.max(floorLongestOfEnd, await environment.floor.longestBlockMs())
    floor.push(Math.max(...(await environment.connectFloor())))
    floorLongest = Math.max(floorLongest, await environment.floor.longestBlockMs())
  }
  const [ours, bare] = [summarize(product), summarize(floor)]
  const proxies = environment.certificates.proxies.length
  return {
    proxies,
    product: ours,
    floor: bare,
    ratio: round(ours.p50 / bare.p50),
    memory: { first, last: await environment.controller.memory() },
    cpuMsPerProxy: round(cpuMs / storms / proxies),
    longestBlockMs: round(longestBlock),
    longestBlockOfEndMs: round(longestOfEnd),
    floorLongestBlockMs: round(floorLongest),
    floorLongestBlockOfEndMs: round(floorLongestOfEnd),
  }
}

/** All proxies end their connections. Resolves when the controller has noticed, with the longest time for which that kept it busy. */
async function longestBlockOfEnd(environment: ScaleEnvironment): Promise<number> {
  await environment.controller.figures()
  await environment.proxies.disconnect()
  for (let longest = 0; ;) {
    const { connected, longestBlockMs } = await environment.controller.figures()
    longest = Math.max(longest, longestBlockMs)
    if (connected === 0) return longest
    await new Promise((resolve) => setTimeout(resolve, 50))
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
  /** Of the controller: its share of a core. */
  readonly cores: number
  readonly ratio: number
  readonly longestBlockMs: number
}

/** Annotations of pods change, as tools of users write them, and statuses, as kubelets do. */
export async function measureNoOps(
  environment: ScaleEnvironment,
  options: { readonly perSecond: number; readonly seconds: number; readonly floorProgram: string },
): Promise<NoOpFigures> {
  const { perSecond, seconds } = options
  const { size } = environment
  const objects = Array.from({ length: perSecond * seconds }, (_, n) => {
    const pod = podOf(size, n % (size.services * size.replicas))
    if (n % 2 === 0) return meshedPod(pod, { 'example.com/checked': String(n) })
    const running = meshedPod(pod)
    return { ...running, status: { ...running.status, hostIP: `192.0.2.${n % 251}` } }
  })
  const reader = await BaselineServer.start(options.floorProgram)
  try {
    await reader.read(`${environment.api.url}/api/v1/pods`)
    const written = await sentDuring(environment, () =>
      cpuMsOf(reader.pid, async () => {
        await environment.api.stream(objects, perSecond)
        await new Promise((resolve) => setTimeout(resolve, 5 * DEBOUNCE_MS))
      }),
    )
    const { responses, controllerCpuSeconds: controller, longestBlockMs } = written.sent
    const bare = round(written.result.cpuMs / 1000)
    const lines = await reader.lines()
    if (lines < objects.length) throw new Error(`the reader has read ${lines} of ${objects.length} lines`)
    return {
      perSecond,
      seconds,
      responses,
      recomputedPolicies: written.recomputedPolicies,
      cpuSeconds: { controller, reader: bare },
      cores: round(controller / seconds),
      ratio: round(controller / bare),
      longestBlockMs,
    }
  } finally {
    await reader.close()
  }
}
