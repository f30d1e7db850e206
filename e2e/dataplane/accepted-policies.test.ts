import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'

import { Bed } from './support/differential/bed.js'
import { anyPolicy, withoutDoubles } from './support/differential/random-policy.js'
import { anySettings } from './support/differential/random-settings.js'

/** Each goes to the sidecars of all workloads. */
const POLICIES = 300

jest.setTimeout(300_000)

describe('real Envoys', () => {
  let bed: Bed

  beforeAll(async () => {
    bed = await Bed.open()
  })
  afterAll(async () => {
    await bed.close()
  })

  it('refuse nothing of what random policies and settings are made into', async () => {
    let applied = 0
    await fc.assert(
      fc.asyncProperty(anyPolicy, anySettings, async (policy, settings) => {
        // Resolves once every sidecar has acknowledged all of its policy; what was refused stands in the error.
        await bed.apply({ ...policy, documents: withoutDoubles([...policy.documents, ...settings]) })
        applied += 1
      }),
      { numRuns: POLICIES, endOnFailure: true },
    )
    expect(applied).toBe(POLICIES)
  })
})
