import type { ResourceStatus } from '@osm-ts/endpoints-api'

import { isRefused } from './cloud.js'
import type { Outcome } from './answer-of.js'
import type { ReadResource } from './read-resources.js'

/** Addresses in a status, for people. */
const shownAddresses = 16

/** The status of an object: what it selects, what that costs, and what is wrong with which of its selectors. */
export function statusOf<S>(
  { resource, selectors }: ReadResource<S>,
  outcomes: ReadonlyMap<string, Outcome>,
  intervalMs: number,
): ResourceStatus {
  const problems: { readonly code: string; readonly text: string }[] = []
  const machines = new Map<string, { readonly running: boolean; readonly addresses: readonly string[] }>()
  let calls = 0
  for (const selector of selectors) {
    const outcome = isRefused(selector) ? undefined : outcomes.get(selector.key)
    const problem = isRefused(selector) ? selector : outcome?.failure
    if (problem !== undefined) {
      problems.push({ code: problem.code, text: `${selector.field}: ${problem.code}: ${problem.message}` })
    }
    calls += outcome?.calls ?? 0
    for (const machine of outcome?.instances ?? []) machines.set(machine.id, machine)
  }
  const all = [...machines.values()]
  const running = all.filter((machine) => machine.running)
  const nowhere = running.filter(({ addresses }) => addresses.length === 0).length
  const counts = [
    `${all.length} instances, ${running.length} of them running`,
    ...(nowhere > 0 ? [`${nowhere} of these without an address`] : []),
    `${calls} calls to the API in the last round, one round every ${Math.round(intervalMs / 1000)} s`,
  ].join('; ')
  const [first] = problems
  const outcomesOfAll = selectors.map((selector) => (isRefused(selector) ? undefined : outcomes.get(selector.key)))
  const times = outcomesOfAll.map((outcome) => outcome?.resolvedAt)
  const resolvedAt = times.every((time) => time !== undefined) && times.length > 0 ? Math.min(...times) : undefined
  const addresses = running.flatMap(({ addresses: [address] }) => address ?? []).sort()
  return {
    observedGeneration: resource.generation,
    instances: all.length,
    addresses: addresses.slice(0, shownAddresses),
    ...(resolvedAt === undefined ? {} : { resolvedAt }),
    stale: outcomesOfAll.some((outcome) => outcome?.failure?.isUncertain === true && outcome.instances !== undefined),
    conditions: [
      {
        type: 'Resolved',
        status: first === undefined ? 'True' : 'False',
        reason: first === undefined ? 'Resolved' : first.code,
        message: [...problems.map(({ text }) => text), counts].join('; '),
      },
    ],
  }
}
