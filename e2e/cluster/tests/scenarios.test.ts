import { describe, expect, it } from '@jest/globals'
import { allKinds, kindDefinitions, writtenKind } from '@osm-ts/core'
import { readScenarios } from '@osm-ts/driver-testkit'
import { describeScenarios } from '../../dataplane/support/scenario/describe-scenarios.js'
import { PodScenarioRunner } from '../support/scenario/pod-scenario-runner.js'

// What the scenario files say of Envoys on one machine is true of pods: the calls come from inside, and are judged in the same way.
describeScenarios(new PodScenarioRunner())

describe('a scenario that does not run with pods', () => {
  const scenarios = readScenarios()
  const leftOut = scenarios.flatMap(({ name, without, objects = [] }) =>
    without?.pods === undefined ? [] : [{ name, reason: without.pods, objects }],
  )
  const foreign = allKinds().filter((kind) => kindDefinitions[kind].foreign)
  const isForeign = ({
    apiVersion,
    kind: written,
  }: {
    readonly apiVersion?: unknown
    readonly kind?: unknown
  }): boolean =>
    foreign.some((kind) => writtenKind(kind) === written && kindDefinitions[kind].apiVersion === apiVersion)

  it.each(leftOut)('$name: another does in pods, or clusters lack a kind ($reason)', ({ reason, objects }) => {
    const [, other] = /; see ([a-z0-9-]+)$/.exec(reason) ?? []
    const isShown = scenarios.some(({ name, modes }) => name === other && modes.includes('pods'))
    const needsKind = other === undefined && objects.some(isForeign)
    expect(isShown || needsKind).toBe(true)
  })
})
