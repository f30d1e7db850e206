import { round, type Summary, summarize } from '../statistics.js'
import { ENDPOINTS } from '../references.js'
import { clusterName, hubOf, hubSlice } from './mesh.js'
import { residentMiBOf } from './process-figures.js'
import { Proxies } from './proxies.js'
import type { ScaleEnvironment } from './scale-environment.js'

/** Some proxies read slowly, or stop to read; all others continue. */
export interface ReaderFigures {
  /** How many are slow, and later stuck. */
  readonly stuck: number
  /** Milliseconds of a change of an endpoint that concerns all, to the last acknowledgement of the others. */
  readonly without: Summary
  /** While they read for a tenth of the time. */
  readonly slow: Summary
  readonly with: Summary
  /** Of the medians. */
  readonly slowRatio: number
  readonly ratio: number
  /** Resident memory in MiB that the controller took while they were stuck. */
  readonly residentMiB: number
  readonly longestBlockMs: number
}

const SLOW = { readMs: 50, stopMs: 450 } as const

/** The first proxies connect from their own process, which is slowed for a third of the rounds and stopped for another. */
export async function measureReaders(
  environment: ScaleEnvironment,
  options: { readonly stuck: number; readonly affected: number; readonly rounds: number; readonly program: string },
): Promise<ReaderFigures> {
  const { stuck, affected, rounds } = options
  const resource = { typeUrl: ENDPOINTS, name: clusterName(hubOf(affected)), count: affected - stuck }
  const others = await Proxies.start(options.program)
  try {
    // A proxy that connects once more takes the place of its connection before.
    await environment.proxies.disconnect()
    const { proxies } = environment.certificates
    await environment.proxies.connect(environment.server, proxies.slice(stuck), 180_000)
    await others.connect(environment.server, proxies.slice(0, stuck), 60_000)
    let both = false
    const change = async (): Promise<number> => {
      both = !both
      const object = hubSlice(environment.size, affected, both)
      return Math.max(
        ...(await environment.proxies.reached(resource, () => environment.api.put([object]), 60_000)).times,
      )
    }
    const changes = async (): Promise<Summary> => {
      const times = []
      for (let n = 0; n < rounds; n += 1) times.push(await change())
      return summarize(times)
    }
    // Whatever the value was before, two changes in a row are two.
    await environment.api.put([hubSlice(environment.size, affected, false)])
    await environment.settled()
    await environment.controller.figures()
    const without = await changes()
    const slow = await whileSlow(others, changes)
    others.stall()
    const before = await residentMiBOf(environment.controller.pid)
    const beside = await changes()
    return {
      stuck,
      without,
      slow,
      with: beside,
      slowRatio: round(slow.p50 / without.p50),
      ratio: round(beside.p50 / without.p50),
      residentMiB: round((await residentMiBOf(environment.controller.pid)) - before),
      longestBlockMs: round((await environment.controller.figures()).longestBlockMs),
    }
  } finally {
    others.resume()
    await others.close()
  }
}

async function whileSlow<T>(proxies: Proxies, action: () => Promise<T>): Promise<T> {
  const end = new AbortController()
  const slowed = proxies.slow(SLOW, end.signal)
  try {
    return await action()
  } finally {
    end.abort()
    await slowed
  }
}
