import type { RequiredFeature } from '@osm-ts/driver-api/host'

import type { Scenario } from './format.js'
import { needsOf } from './scenario-needs.js'
import type { ScenarioRunner } from './scenario-runner.js'
import { untilReported, verify } from './verify.js'

/** One thing that a scenario shows on a runner. */
export interface ScenarioCase {
  readonly title: string
  /** Shows that this is reported, which the sidecars of the runner lack. Absent: shows a step. */
  readonly lacks?: RequiredFeature
  /** Resolves if it is so. Rejects with what was wrong. */
  readonly prove: () => Promise<void>
}

/** A scenario on a runner: its steps, or, where sidecars lack what it needs, that each missing feature is reported. */
export class ScenarioRun {
  readonly scenario: Scenario
  /** To be proven in this order, after {@link begin}; who leaves some out gets their changes all the same. */
  readonly cases: readonly ScenarioCase[]
  readonly #runner: ScenarioRunner
  readonly #upcoming: readonly Scenario[]
  #isClean = false
  #changed = 0

  /** @param upcoming - scenarios that come after it on the runner */
  constructor(scenario: Scenario, upcoming: readonly Scenario[], runner: ScenarioRunner) {
    this.scenario = scenario
    this.#upcoming = upcoming
    this.#runner = runner
    const missing = needsOf(scenario).filter((feature) => runner.lacks(feature))
    this.cases =
      missing.length > 0
        ? missing.map((feature) => ({
            title: `is reported: the sidecars lack ${feature}`,
            lacks: feature,
            prove: () =>
              this.#observed(`${scenario.name} without ${feature}`, () =>
                untilReported(feature, scenario.steps, runner),
              ),
          }))
        : scenario.steps.map(({ title }, index) => ({
            title,
            prove: () => this.#observed(`${scenario.name} ${title}`, () => this.#step(index)),
          }))
  }

  /** Puts the scenario into the place of the one before. */
  async begin(): Promise<void> {
    this.#changed = 0
    await this.#observed(this.scenario.name, () => this.#runner.begin(this.scenario, this.#upcoming))
  }

  /** Clears away what is left if the last thing that was tried has failed. */
  async end(): Promise<void> {
    if (!this.#isClean) await this.#runner.reset()
  }

  async #step(index: number): Promise<void> {
    for (const step of this.scenario.steps.slice(this.#changed, index + 1)) {
      this.#changed += 1
      await this.#runner.change(step)
    }
    for (const expectation of this.scenario.steps[index]?.expect ?? []) await verify(expectation, this.#runner)
  }

  async #observed(what: string, work: () => Promise<void>): Promise<void> {
    this.#isClean = false
    await this.#runner.observed(what, work)
    this.#isClean = true
  }
}
