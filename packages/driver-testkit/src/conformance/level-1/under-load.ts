import { makeCall } from '../../scenarios/make-call.js'
import type { ScenarioRunner } from '../../scenarios/scenario-runner.js'
import { type LoadOptions, whileSending } from '../load.js'

/** Does the work while workloads of a runner send requests. @throws Violation if one request had another outcome than it must have */
export async function underLoad(
  runner: ScenarioRunner,
  loads: readonly LoadOptions[],
  work: () => Promise<void>,
): Promise<void> {
  const sending = loads.map(async (load) => {
    const { from, url } = load
    const call = makeCall({ kind: 'http', from, http: `GET ${url}` }, await runner.routes(from), undefined)
    return { ...load, ask: () => runner.call(from, call) }
  })
  await whileSending(await Promise.all(sending), work)
}
