import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Verdict } from '@osm-ts/oracle'
import fc from 'fast-check'

import { DifferentialMesh } from './differential-mesh.js'
import { disagreement } from './disagreement.js'
import { policyCan } from './policy-can.js'
import { type Policy, asked, documentsOf, oracleOf, verdictOn } from './question.js'
import { type Attempt, anyAttempt, policiesOf } from './random-policy.js'
import { shrunk } from './shrink.js'

/** Policies, and attempts under each. */
const POLICIES = 20
const ATTEMPTS = 110
/** A sidecar has acknowledged its policy a moment before all of its threads follow it, on a busy machine a long one. */
const TRIES_FOR_MS = 120_000

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

    it('agree on what random policies do with random requests', async () => {
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
            const fault = await lastingFault(differential, verdict, attempt, TRIES_FOR_MS)
            if (fault === undefined) continue
            found = { policy, attempt }
            throw new Error(fault)
          }
        }),
        { numRuns: POLICIES, endOnFailure: true },
      )
      if (found !== undefined)
        throw new Error(`seed ${seed}: ${await counterExample(differential, found.policy, found.attempt)}`)
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
  })
}

/** What stays wrong with an attempt. */
async function lastingFault(
  differential: DifferentialMesh,
  verdict: Verdict,
  attempt: Attempt,
  forMs: number,
): Promise<string | undefined> {
  const deadline = performance.now() + forMs
  for (;;) {
    const fault = disagreement(verdict, await differential.attempt(attempt))
    if (fault === undefined || performance.now() > deadline) return fault
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The smallest policy that shows the disagreement, in words. */
async function counterExample(differential: DifferentialMesh, policy: Policy, attempt: Attempt): Promise<string> {
  const documents = await shrunk(policy.documents, async (fewer) => {
    const smaller = { ...policy, documents: fewer }
    await differential.apply(smaller)
    return (await lastingFault(differential, verdictOn(oracleOf(smaller), attempt), attempt, 1000)) !== undefined
  })
  const smallest = { ...policy, documents }
  await differential.apply(smallest)
  const verdict = verdictOn(oracleOf(smallest), attempt)
  const fault = await lastingFault(differential, verdict, attempt, TRIES_FOR_MS)
  return [
    fault ?? 'the disagreement disappeared while it was shrunk',
    `attempt: ${JSON.stringify(attempt)}`,
    `oracle: ${verdict.reason}`,
    `permissive: ${policy.permissive}, plaintext in ${policy.plaintext.join(' ')}, escaped slashes kept: ${policy.keepsEscapedSlashes}`,
    ...documents,
  ].join('\n')
}
