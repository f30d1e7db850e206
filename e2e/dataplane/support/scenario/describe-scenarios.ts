import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { ScenarioRun, scenariosOf, type ScenarioRunner } from '@osm-ts/driver-testkit'

/**
 * Makes a test of each step of each scenario that runs on the runner; of one that needs what its sidecars lack, a test that this is reported. `-t <name of a scenario>` runs one.
 */
export function describeScenarios(runner: ScenarioRunner): void {
  const scenarios = scenariosOf(runner.mode)
  afterAll(() => runner.stop(), runner.timeLimitMs)
  for (const [index, scenario] of scenarios.entries())
    describeScenario(new ScenarioRun(scenario, scenarios.slice(index + 1), runner), runner.timeLimitMs)
}

function describeScenario(run: ScenarioRun, timeLimitMs: number): void {
  describe(`${run.scenario.name}: ${run.scenario.title}`, () => {
    beforeAll(() => run.begin(), timeLimitMs)
    afterAll(() => run.end(), timeLimitMs)
    it.each(run.cases.map(({ title, prove }) => [title, prove] as const))('%s', (_title, prove) => prove(), timeLimitMs)
  })
}
