import { afterAll, beforeAll, describe, it } from '@jest/globals'

import type { MeshMode } from '@osm-ts/standalone'

import type { Scenario } from './format.js'
import { readScenarios } from './read-scenario.js'
import { Session } from './session.js'
import { verify } from './verify.js'

const SCENARIO_MS = 120_000

/** Makes a test of each step of each scenario for this mode. `-t <name of a scenario>` runs one. */
export function describeScenarios(mode: MeshMode): void {
  const session = new Session(mode)
  const scenarios = readScenarios().filter(({ modes }) => modes.includes(mode))
  afterAll(() => session.stop(), SCENARIO_MS)
  for (const scenario of byWorkloads(scenarios)) describeScenario(scenario, session)
}

function describeScenario(scenario: Scenario, session: Session): void {
  describe(`${scenario.name}: ${scenario.title}`, () => {
    let failed = true
    beforeAll(async () => {
      await session.begin(scenario)
      failed = false
    }, SCENARIO_MS)
    afterAll(async () => {
      if (failed) await session.stop()
    }, SCENARIO_MS)

    it.each(scenario.steps.map((step) => [step.title, step] as const))(
      '%s',
      async (_title, step) => {
        failed = true
        await session.change(step)
        for (const expectation of step.expect) await verify(expectation, session)
        failed = false
      },
      SCENARIO_MS,
    )
  })
}

/** Scenarios with the same workloads one after the other: they keep running from one to the next. */
function byWorkloads(scenarios: readonly Scenario[]): readonly Scenario[] {
  const key = ({ workloads }: Scenario): string => JSON.stringify(workloads)
  return [...new Set(scenarios.map(key))].flatMap((group) => scenarios.filter((scenario) => key(scenario) === group))
}
