import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { counterExample, lastingFault } from './counter-example.js'
import { itAgreesOnRoutes } from './describe-differential-routes.js'
import { DifferentialMesh } from './differential-mesh.js'
import { disagreement } from './disagreement.js'
import { policyCan } from './policy-can.js'
import { asked, documentsOf, oracleOf, verdictOn } from './question.js'
import { type Attempt, type Policy, anyAttempt, policiesOf } from './random-policy.js'

/** Policies, and attempts under each. */
const POLICIES = 20
const ATTEMPTS = 110
/** With routes of the Gateway API; other policies are compared without sidecars. */
const ROUTED = { policies: 20, attempts: 100 }
/** Random policies and requests, through sidecars of a class. */
export function describeDifferential(sidecarClass: string): void {
  describe(`real sidecars of class ${sidecarClass}, osm policy can and the oracle`, () => {
    let differential: DifferentialMesh

    beforeAll(async () => {
      differential = await DifferentialMesh.open(sidecarClass)
    })
    afterAll(async () => {
      await differential.close()
    })

    it('agree on the effect of random policies on random requests', async () => {
      const counts = new Map<string, number>()
      let sent = 0
      const attempts = fc.array(anyAttempt, { minLength: ATTEMPTS, maxLength: ATTEMPTS })
      let found: { readonly policy: Policy; readonly attempt: Attempt } | undefined
      const { seed, failed, errorInstance } = await fc.check(
        fc.asyncProperty(policiesOf(sidecarClass), attempts, async (policy, all) => {
          const oracle = oracleOf(policy)
          const can = await policyCan(documentsOf(policy))
          await differential.apply(policy)
          for (const attempt of all) {
            const verdict = verdictOn(oracle, attempt)
            const { allowed, said } = await can(asked(attempt))
            expect({ attempt, said, reason: verdict.reason, allowed }).toEqual({
              attempt,
              said,
              reason: verdict.reason,
              allowed: verdict.outcome === 'allow',
            })
            sent += 1
            const isKept =
              policy.keepsEscapedSlashes && attempt.kind === 'http' && /^[^?]*%2f/i.test(attempt.request.target)
            for (const kind of [attempt.kind, ...(isKept ? ['kept slash'] : [])])
              counts.set(`${kind} ${verdict.outcome}`, (counts.get(`${kind} ${verdict.outcome}`) ?? 0) + 1)
            const fault = await lastingFault(differential, attempt, (did) => disagreement(verdict, did))
            if (fault === undefined) continue
            found = { policy, attempt }
            throw new Error(fault)
          }
        }),
        { numRuns: POLICIES, endOnFailure: true },
      )
      if (found !== undefined)
        throw new Error(
          `seed ${seed}: ${await counterExample(differential, found.policy, found.attempt, disagreement)}`,
        )
      expect({ failed, errorInstance }).toEqual({ failed: false, errorInstance: null })
      // A comparison in which nothing was allowed, or nothing denied, would show nothing.
      const kinds = [
        'http allow',
        'http deny',
        'http refuse',
        'tcp allow',
        'tcp deny',
        'kept slash allow',
        'kept slash deny',
      ]
      for (const kind of kinds) expect([kind, (counts.get(kind) ?? 0) > 0]).toEqual([kind, true])
      expect(sent).toBeGreaterThanOrEqual(2000)
    })

    // Other classes do a part of what routes say, and report the rest.
    if (sidecarClass === 'envoy') itAgreesOnRoutes(ROUTED, () => differential)
  })
}
