import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { itAgreesOnRoutes } from './support/differential/describe-differential-routes.js'
import { policyCan } from './support/differential/policy-can.js'
import { asked, documentsOf, oracleOf, verdictOn } from './support/differential/question.js'
import { anyAttempt, policiesOf } from './support/differential/random-policy.js'

describe('osm policy can and the oracle, on calls inside the mesh', () => {
  it('agree on the effect of random policies on random requests', async () => {
    const counts = new Map<string, number>()
    const attempts = fc.array(anyAttempt, { minLength: 100, maxLength: 100 })
    await fc.assert(
      fc.asyncProperty(policiesOf('envoy'), attempts, async (policy, tried) => {
        const oracle = oracleOf(policy)
        const can = await policyCan(documentsOf(policy))
        for (const attempt of tried) {
          const { outcome, reason } = verdictOn(oracle, attempt)
          const { allowed, said } = await can(asked(attempt))
          const kind = `${attempt.kind} ${outcome}`
          counts.set(kind, (counts.get(kind) ?? 0) + 1)
          const about = { attempt, policy, reason, said }
          expect({ ...about, allowed }).toEqual({ ...about, allowed: outcome === 'allow' })
        }
      }),
      { numRuns: 30 },
    )
    // A comparison in which hardly anything was allowed, or denied, would show little.
    for (const kind of ['http allow', 'http deny', 'http refuse', 'tcp allow', 'tcp deny'])
      expect({ kind, isOften: (counts.get(kind) ?? 0) > 20 }).toEqual({ kind, isOften: true })
  })
  itAgreesOnRoutes({ policies: 40, attempts: 75 })
})
