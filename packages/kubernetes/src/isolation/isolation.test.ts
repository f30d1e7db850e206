import { describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { allKinds } from '@osm-ts/core'

import { assertIsolation, MESHES } from '../../test/isolation/assert-isolation.js'
import { CertificateNames } from '../../test/isolation/certificate-names.js'
import { exceptionFor, exceptions } from '../../test/isolation/exceptions.js'
import { CONTROL_PLANE } from '../../test/isolation/names.js'
import { type Change, Observer } from '../../test/isolation/observe.js'
import { anyScenario, makers, type Scenario, scenarioOf } from '../../test/isolation/scenario.js'

// A bound against hanging, not a measure of speed.
jest.setTimeout(600_000)

describe('objects that the owner of one namespace adds', () => {
  const observer = new Observer()
  const used = new Set<string>()

  function violations(scenario: Scenario): readonly Change[] {
    const { before, after, changes } = observer.observe(scenario)
    return changes.filter((change) => {
      const exception = exceptionFor({ change, scenario, before, after })
      if (exception !== undefined) used.add(exception.name)
      return exception === undefined
    })
  }

  it(`change no byte of policies, endpoints, certificate names or problems of others, in ${MESHES} meshes`, () => {
    assertIsolation(anyScenario, (scenario) => violations(scenario).map(describeChange))
    // Meshes without proxies would need no exception, and prove nothing.
    expect([...used]).toContain(exceptions[0]?.name)
  })

  it(`get no one a certificate for a name of others, in ${MESHES} meshes`, () => {
    const names = new CertificateNames()
    assertIsolation(anyScenario, (scenario) => names.faults(scenario))
  })

  it('do change others when the namespace is that of the control plane', () => {
    const scenarios = fc.sample(scenarioOf(CONTROL_PLANE), 60)
    const changing = scenarios.filter((scenario) => violations(scenario).length > 0)
    expect(changing.length).toBeGreaterThan(0)
  })

  it('are of every kind that the mesh reads and a namespace can hold', () => {
    // Instances are made of pods; the others belong to the cluster.
    const made = [...makers.map(({ kind }) => kind), 'WorkloadInstance', 'Namespace', 'Plugin']
    expect(allKinds().filter((kind) => !made.includes(kind))).toEqual([])
  })
})

function describeChange({ key, before, after }: Change): string {
  return `  ${key}\n    before: ${shortened(before)}\n    after:  ${shortened(after)}`
}

function shortened(text = 'nothing'): string {
  return text.length <= 600 ? text : `${text.slice(0, 597)}...`
}
