import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { ScenarioRun, scenariosOf, type Stage } from '@osm-ts/driver-testkit'

/**
 * Makes a test of each step of each scenario that runs on the stage; of one that needs what its sidecars lack, a test that this is reported. `-t <name of a scenario>` runs one.
 */
export function describeScenarios(stage: Stage): void {
  const scenarios = scenariosOf(stage.mode)
  afterAll(() => stage.stop(), stage.timeLimitMs)
  for (const [index, scenario] of scenarios.entries())
    describeScenario(new ScenarioRun(scenario, scenarios.slice(index + 1), stage), stage.timeLimitMs)
}

function describeScenario(run: ScenarioRun, timeLimitMs: number): void {
  describe(`${run.scenario.name}: ${run.scenario.title}`, () => {
    beforeAll(() => run.begin(), timeLimitMs)
    afterAll(() => run.end(), timeLimitMs)
    it.each(run.cases.map(({ title, prove }) => [title, prove] as const))('%s', (_title, prove) => prove(), timeLimitMs)
  })
}
