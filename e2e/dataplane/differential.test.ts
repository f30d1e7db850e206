import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { describeDifferential } from './support/differential/describe-differential.js'
import { policyCan } from './support/differential/policy-can.js'
import { asked, documentsOf, oracleOf, verdictOn } from './support/differential/question.js'
import { anyAttempt, anyPolicy } from './support/differential/random-policy.js'

describeDifferential('envoy')

describe('osm policy can and the oracle', () => {
  it('agree on the effect of random policies on random requests', async () => {
    await fc.assert(
      fc.asyncProperty(anyPolicy, fc.array(anyAttempt, { minLength: 30, maxLength: 30 }), async (policy, attempts) => {
        const can = await policyCan(documentsOf(policy))
        const oracle = oracleOf(policy)
        for (const attempt of attempts) {
          const { outcome, reason } = verdictOn(oracle, attempt)
          const { allowed, said } = await can(asked(attempt))
          expect({ attempt, reason, said, allowed }).toEqual({ attempt, reason, said, allowed: outcome === 'allow' })
        }
      }),
      { numRuns: 25 },
    )
  })
})
