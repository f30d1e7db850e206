import { summarize, type Summary } from './statistics.js'
import { CallingPods } from './cluster-calling-pods.js'
import { convergenceChanges, prepareConvergence } from './cluster-changes.js'
import type { ConvergenceOptions } from './cluster-changes.js'

/** Milliseconds. */
export interface ConvergenceFigures {
  readonly pods: number
  /** From the request that changes a policy to the moment at which the calls of the last pod show it, by kind of change. */
  readonly changes: Readonly<Record<string, Summary>>
  readonly all: Summary
  readonly required: number
  readonly isMet: boolean
  /** Calls are made this often; each time holds up to that much of waiting for the next call. */
  readonly callsEvery: number
}

const requiredMs = 2000
const timeoutMs = 60_000

/** Changes policies of many pods, one after the other, and has every pod tell when its own calls show the change. */
export async function measureClusterConvergence(options: ConvergenceOptions): Promise<ConvergenceFigures> {
  const { mesh, rounds, pods } = options
  const shop = await prepareConvergence(options)
  const calling = await CallingPods.follow(mesh.cluster, shop.callers, timeoutMs)
  try {
    const times = new Map<string, number[]>()
    for (let round = 0; round <= rounds; round += 1) {
      for (const { kind, apply, expected } of convergenceChanges(options, shop)) {
        const start = Date.now()
        await apply()
        const last = await calling.untilAll(expected, `${kind} shows in the calls of all pods`)
        // The first round has what is done once, such as the connections of new clusters.
        if (round > 0) times.set(kind, [...(times.get(kind) ?? []), last - start])
      }
    }
    const all = summarize([...times.values()].flat())
    return {
      pods,
      changes: Object.fromEntries([...times].map(([kind, values]) => [kind, summarize(values)])),
      all,
      required: requiredMs,
      isMet: all.max < requiredMs,
      callsEvery: shop.callers.everyMs,
    }
  } finally {
    calling.close()
  }
}
