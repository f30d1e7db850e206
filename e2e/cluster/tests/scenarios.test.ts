import { describe, expect, it } from '@jest/globals'
import { readScenarios } from '@osm-ts/driver-testkit'
import { describeScenarios } from '../../dataplane/support/scenario/describe-scenarios.js'
import { PodScenarioRunner } from '../support/scenario/pod-scenario-runner.js'

// What the scenario files say of Envoys on one machine is true of pods: the calls come from inside, and are judged in the same way.
describeScenarios(new PodScenarioRunner())

describe('what a scenario shows that pods cannot play', () => {
  const scenarios = readScenarios()
  const leftOut = scenarios.flatMap(({ name, without }) =>
    without?.pods === undefined ? [] : [[name, without.pods] as const],
  )

  it.each(leftOut)('%s: another does in pods (%s)', (_name, reason) => {
    const [, other] = /; see ([a-z0-9-]+)$/.exec(reason) ?? []
    expect(scenarios.find(({ name }) => name === other)?.modes).toContain('pods')
  })
})
