import fc from 'fast-check'

import { describeAttack, minimalAttack } from './minimal-attack.js'
import type { Scenario } from './scenario.js'

/** Runs of each property of isolation. */
export const MESHES = 500

/**
 * Looks for a mesh in which an attack does something. Fails with the smallest attack that does, as YAML, and with the seed that repeats it.
 *
 * @param faults - what the attack does that it must not, in words
 */
export function assertIsolation(
  scenarios: fc.Arbitrary<Scenario>,
  faults: (scenario: Scenario) => readonly string[],
): void {
  let run = 0
  const property = fc.property(scenarios, (scenario) => {
    run += 1
    if (faults(scenario).length === 0) return
    const smallest = minimalAttack(scenario, (candidate) => faults(candidate).length > 0)
    throw new Error(`mesh ${run}: ${describeAttack(smallest, faults(smallest))}`)
  })
  // Smaller meshes are found object by object: thousands of shrinking steps would each take two computations.
  fc.assert(property, { numRuns: MESHES, endOnFailure: true })
}
