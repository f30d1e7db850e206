import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'

import { DifferentialMesh } from './support/differential/differential-mesh.js'
import { anyPolicy, withoutDoubles } from './support/differential/random-policy.js'
import { anySettings } from './support/differential/random-settings.js'

/** Each is a mesh full of objects, and goes to the sidecars of all workloads. */
const STATES = 120
/** Different objects that must have been in force by then. */
const OBJECTS = 4000

/** Bad input that must have been among them: codes of problems. */
const mistakes = [
  'OSM_SPEC_SCHEMA',
  'OSM_SPEC_REGEX',
  'OSM_SPEC_HEADER',
  'OSM_SPEC_CONFLICT',
  'OSM_SPEC_REFERENCE',
  'OSM_SPEC_DURATION',
  'OSM_SPEC_PROTOCOL',
  'OSM_SPEC_ADDRESS',
  'OSM_SPEC_RETRY_ON',
  'OSM_SPEC_LOG_FORMAT',
  'OSM_CONFIG_TLS_NAME',
]

jest.setTimeout(600_000)

describe('real Envoys', () => {
  let differential: DifferentialMesh

  beforeAll(async () => {
    differential = await DifferentialMesh.open()
  })
  afterAll(async () => {
    await differential.close()
  })

  it('accept the configuration of thousands of random objects', async () => {
    const given = new Set<string>()
    const codes = new Set<string>()
    await fc.assert(
      fc.asyncProperty(anyPolicy, anySettings, async (policy, settings) => {
        const documents = withoutDoubles([...policy.documents, ...settings])
        await differential.give(documents)
        for (const document of documents) given.add(document)
        for (const { code } of await differential.problems()) codes.add(code)
      }),
      { numRuns: STATES, endOnFailure: true },
    )
    expect(given.size).toBeGreaterThanOrEqual(OBJECTS)
    for (const code of mistakes) expect([code, codes.has(code)]).toEqual([code, true])
  })
})
