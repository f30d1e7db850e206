import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { type Scenario, scenariosOf, type Stage, untilReported, verify } from '@osm-ts/driver-testkit'

/**
 * Makes a test of each step of each scenario that runs on the stage; of one that needs what its sidecars lack, a test that this is reported. `-t <name of a scenario>` runs one.
 */
export function describeScenarios(stage: Stage): void {
  const scenarios = scenariosOf(stage.mode)
  afterAll(() => stage.stop(), stage.timeLimitMs)
  for (const [index, scenario] of scenarios.entries()) describeScenario(scenario, scenarios.slice(index + 1), stage)
}

function describeScenario(scenario: Scenario, upcoming: readonly Scenario[], stage: Stage): void {
  describe(`${scenario.name}: ${scenario.title}`, () => {
    let failed = true
    beforeAll(async () => {
      await stage.observed(scenario.name, () => stage.begin(scenario, upcoming))
      failed = false
    }, stage.timeLimitMs)
    afterAll(async () => {
      if (failed) await stage.reset()
    }, stage.timeLimitMs)

    const missing = (scenario.needs ?? []).filter((feature) => stage.lacks.includes(feature))
    if (missing.length > 0) {
      it.each(missing)(
        'is reported: the sidecars lack %s',
        async (feature) => {
          failed = true
          await stage.observed(`${scenario.name} without ${feature}`, () =>
            untilReported(feature, scenario.steps, stage),
          )
          failed = false
        },
        stage.timeLimitMs,
      )
      return
    }
    it.each(scenario.steps.map((step) => [step.title, step] as const))(
      '%s',
      async (title, step) => {
        failed = true
        await stage.observed(`${scenario.name} ${title}`, async () => {
          await stage.change(step)
          for (const expectation of step.expect) await verify(expectation, stage)
        })
        failed = false
      },
      stage.timeLimitMs,
    )
  })
}
