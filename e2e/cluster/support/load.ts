import { setTimeout } from 'node:timers/promises'

import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import type { Caller } from './caller.js'
import { isSuccess } from './expectations.js'

/** How hard somebody is called, and who hears of it. */
export interface Pace {
  readonly callsAtATime: number
  /** At most; calls take the processor from pods that start. */
  readonly callsPerSecond?: number
  /** Told of each call that was answered as it should be. */
  readonly onAnswer?: (answer: CallAnswer) => void
}

/** Each call goes through the API server to the pod that makes it: calls without pause take half of the processor from all that is tested. */
const usualPace: Pace = { callsAtATime: 4, callsPerSecond: 60 }

/** No load reaches it: a call that takes longer is lost. */
const timeoutMs = 120_000

/** A call that was not answered as it should be. */
export type LostCall = CallAnswer & {
  readonly caller: string
  /** When it was made, in ISO 8601. */
  readonly at: string
}

/** What became of calls that were made one after the other. */
export interface LoadReport {
  readonly calls: number
  readonly lost: readonly LostCall[]
}

/**
 * Calls for as long as something is being done: 60 times a second, and four times at once, if nothing else is said.
 *
 * @param work - is told how to learn how many calls were made so far
 */
export async function underLoad(
  caller: Caller,
  url: string,
  work: (made: () => number) => Promise<void>,
  { callsAtATime, callsPerSecond = Infinity, onAnswer }: Pace = usualPace,
): Promise<LoadReport> {
  const lost: LostCall[] = []
  let calls = 0
  let isOver = false
  const betweenMs = (1000 * callsAtATime) / callsPerSecond
  const load = Array.from({ length: callsAtATime }, async () => {
    while (!isOver) {
      const next = performance.now() + betweenMs
      const at = new Date().toISOString()
      const answer = await caller.call(url, { timeoutMs })
      calls += 1
      if (isSuccess(answer)) onAnswer?.(answer)
      else lost.push({ ...answer, caller: caller.name, at })
      await setTimeout(Math.max(0, next - performance.now()))
    }
  })
  try {
    await work(() => calls)
  } finally {
    isOver = true
    await Promise.all(load)
  }
  return { calls, lost }
}
