import type { CallAnswer } from '../../../packages/driver-testkit/src/actor/protocol.js'
import type { Caller } from './caller.js'
import { isSuccess } from './expectations.js'

const callsAtATime = 4

/** What became of calls that were made without a pause. */
export interface LoadReport {
  readonly calls: number
  /** Answers that were none. */
  readonly lost: readonly CallAnswer[]
}

/** Calls for as long as something is being done, four times at once. */
export async function underLoad(caller: Caller, url: string, work: () => Promise<void>): Promise<LoadReport> {
  const lost: CallAnswer[] = []
  let calls = 0
  let isOver = false
  const load = Array.from({ length: callsAtATime }, async () => {
    while (!isOver) {
      const answer = await caller.call(url)
      calls += 1
      if (!isSuccess(answer)) lost.push(answer)
    }
  })
  try {
    await work()
  } finally {
    isOver = true
    await Promise.all(load)
  }
  return { calls, lost }
}
