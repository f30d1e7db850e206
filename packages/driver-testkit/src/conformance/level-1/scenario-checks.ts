import type { LocalScenarioRunner } from '../../scenarios/local/local-scenario-runner.js'
import type { LocalMode, Scenario } from '../../scenarios/format.js'
import { type ScenarioCase, ScenarioRun } from '../../scenarios/scenario-run.js'
import type { Check, Need } from '../check.js'

/** More than all that one check waits for may take together, in milliseconds: each wait has its own bound and says what it was for. */
export const TIME_LIMIT_MS = 300_000

/** What a driver needs so that its proxy can be tried on one machine. */
export function needsOfLevel1(mode: LocalMode): readonly Need[] {
  return ['standalone', `mode:${mode}`]
}

/** A check for each step of each scenario; for each feature that a scenario needs and the driver lacks, that this is reported. */
export function scenarioChecks(scenarios: readonly Scenario[], runner: LocalScenarioRunner): readonly Check[] {
  const turns = new Turns()
  return scenarios.flatMap((scenario, index) => {
    const run = new ScenarioRun(scenario, scenarios.slice(index + 1), runner)
    const steps = scenario.steps.map(({ title }) => title)
    const lacking = run.cases.flatMap(({ lacks }) => lacks ?? [])
    const [needs] = lacking
    // What is not claimed is in the report step by step, so that reports of several drivers have the same rows.
    const notClaimed = needs === undefined ? [] : steps.map((title): Check => unclaimed(scenario, title, needs, runner))
    return [...notClaimed, ...run.cases.map((each) => claimed(run, each, turns, runner))]
  })
}

/** Words of a title, as the end of an id. */
function caseId(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}

function claimed(
  run: ScenarioRun,
  { title, lacks, prove }: ScenarioCase,
  turns: Turns,
  runner: LocalScenarioRunner,
): Check {
  const { name, title: subject } = run.scenario
  return {
    id: `scenario.${name}.${lacks === undefined ? caseId(title) : `without-${caseId(lacks)}`}`,
    proves: lacks === undefined ? `${subject}: ${title}` : `${subject}: that the sidecars lack ${lacks} is reported`,
    needs: needsOfLevel1(runner.mode),
    timeoutMs: TIME_LIMIT_MS,
    prove: async () => {
      await turns.take(run)
      await prove()
    },
  }
}

function unclaimed(
  { name, title: subject }: Scenario,
  title: string,
  feature: NonNullable<ScenarioCase['lacks']>,
  runner: LocalScenarioRunner,
): Check {
  return {
    id: `scenario.${name}.${caseId(title)}`,
    proves: `${subject}: ${title}`,
    needs: [...needsOfLevel1(runner.mode), feature],
    prove: () => Promise.reject(new Error(`the driver does not declare ${feature}`)),
  }
}

/** Whose turn it is on the runner: checks of one scenario follow each other, and somebody may have chosen but some of them. */
class Turns {
  #current: { readonly run: ScenarioRun; readonly begun: Promise<void> } | undefined

  /** Resolves when the scenario has begun. Rejects with why it could not, for each of its checks. */
  async take(run: ScenarioRun): Promise<void> {
    if (this.#current?.run !== run) {
      await this.#current?.run.end()
      this.#current = { run, begun: run.begin() }
    }
    await this.#current.begun
  }
}
