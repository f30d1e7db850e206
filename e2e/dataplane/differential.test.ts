import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Verdict } from '@osm-ts/oracle'
import fc from 'fast-check'

import { MeshFixture, objectsOf } from '../../packages/core/test/catalog/mesh-fixture.js'
import { Bed } from './support/differential/bed.js'
import { disagreement } from './support/differential/disagreement.js'
import { type Policy, oracleOf, question, verdictOn } from './support/differential/question.js'
import { type Attempt, anyAttempt, anyPolicy } from './support/differential/random-policy.js'
import { shrunk } from './support/differential/shrink.js'
import { topology } from './support/differential/topology.js'
import { meshConfig } from './support/yaml.js'

/** Policies, and attempts under each. */
const POLICIES = 20
const ATTEMPTS = 110
/** A sidecar has acknowledged its policy a moment before all of its threads follow it. */
const TRIES_FOR_MS = 5000

jest.setTimeout(300_000)

describe('real Envoys and the oracle', () => {
  let bed: Bed

  beforeAll(async () => {
    bed = await Bed.open()
  })
  afterAll(async () => {
    await bed.close()
  })

  it('agree on what random policies do with random requests', async () => {
    const counts = new Map<string, number>()
    const attempts = fc.array(anyAttempt, { minLength: ATTEMPTS, maxLength: ATTEMPTS })
    let found: { readonly policy: Policy; readonly attempt: Attempt } | undefined
    const { seed, failed, errorInstance } = await fc.check(
      fc.asyncProperty(anyPolicy, attempts, async (policy, all) => {
        const oracle = oracleOf(policy)
        await bed.apply(policy)
        for (const attempt of all) {
          const verdict = verdictOn(oracle, attempt)
          const kind = `${attempt.kind} ${verdict.outcome}`
          counts.set(kind, (counts.get(kind) ?? 0) + 1)
          const fault = await lastingFault(bed, verdict, attempt, TRIES_FOR_MS)
          if (fault === undefined) continue
          found = { policy, attempt }
          throw new Error(fault)
        }
      }),
      { numRuns: POLICIES, endOnFailure: true },
    )
    if (found !== undefined) throw new Error(`seed ${seed}: ${await counterExample(bed, found.policy, found.attempt)}`)
    expect({ failed, errorInstance }).toEqual({ failed: false, errorInstance: null })
    // A comparison in which nothing was allowed, or nothing denied, would show nothing.
    for (const kind of ['http allow', 'http deny', 'http refuse', 'tcp allow', 'tcp deny'])
      expect([kind, (counts.get(kind) ?? 0) > 0]).toEqual([kind, true])
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(2000)
  })
})

describe('osm policy can and the oracle', () => {
  it('agree on what random policies do with random requests', () => {
    fc.assert(
      fc.property(anyPolicy, fc.array(anyAttempt, { minLength: 30, maxLength: 30 }), (policy, attempts) => {
        const fixture = new MeshFixture()
        const config = meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: policy.permissive } })
        fixture.apply(objectsOf([config, ...topology, ...policy.documents].map(asYaml).join('\n---\n')))
        const oracle = oracleOf(policy)
        for (const attempt of attempts) {
          const { request, ...base } = question(attempt)
          const asked =
            request === undefined
              ? base
              : {
                  ...base,
                  path: attempt.kind === 'http' ? attempt.request.target : '/',
                  method: request.method,
                  headers: request.headers,
                }
          const { outcome, reason } = verdictOn(oracle, attempt)
          const decision = fixture.catalog.decide(asked)
          expect({ attempt, reason, said: decision.reason, allowed: decision.allowed }).toEqual({
            attempt,
            reason,
            said: decision.reason,
            allowed: outcome === 'allow',
          })
        }
      }),
      { numRuns: 25 },
    )
  })
})

/** JSON is YAML; what splits it into documents looks for lines. */
function asYaml(document: string): string {
  return document.trim()
}

/** What stays wrong with an attempt. */
async function lastingFault(bed: Bed, verdict: Verdict, attempt: Attempt, forMs: number): Promise<string | undefined> {
  const deadline = performance.now() + forMs
  for (;;) {
    const fault = disagreement(verdict, await bed.attempt(attempt))
    if (fault === undefined || performance.now() > deadline) return fault
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The smallest policy that shows the disagreement, in words. */
async function counterExample(bed: Bed, policy: Policy, attempt: Attempt): Promise<string> {
  const documents = await shrunk(policy.documents, async (fewer) => {
    const smaller = { ...policy, documents: fewer }
    await bed.apply(smaller)
    return (await lastingFault(bed, verdictOn(oracleOf(smaller), attempt), attempt, 1000)) !== undefined
  })
  const smallest = { ...policy, documents }
  await bed.apply(smallest)
  const verdict = verdictOn(oracleOf(smallest), attempt)
  const fault = await lastingFault(bed, verdict, attempt, TRIES_FOR_MS)
  return [
    fault ?? 'the disagreement went away while it was made smaller',
    `attempt: ${JSON.stringify(attempt)}`,
    `oracle: ${verdict.reason}`,
    `permissive: ${policy.permissive}`,
    ...documents,
  ].join('\n')
}
