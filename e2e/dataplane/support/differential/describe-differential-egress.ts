import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Oracle } from '@osm-ts/oracle'
import fc from 'fast-check'

import { DifferentialMesh } from './differential-mesh.js'
import { lasting, type OutsideServer, outcomeOutside, startOutsideServer } from './outside-server.js'
import { anyEgress, anyEgressAttempt, askedOutside, egressQuestion, needsLookup } from './random-egress.js'
import { policyCan } from './policy-can.js'
import { withoutDoubles } from './random-policy.js'
import { parsed, topology } from './topology.js'

/** Policies, and attempts under each. */
const POLICIES = 20
const ATTEMPTS = 75

/** Random Egress objects and requests, through sidecars of a class. */
export function describeDifferentialEgress(sidecarClass: string): void {
  describe(`real sidecars of class ${sidecarClass} and the oracle, on hosts outside the mesh`, () => {
    let differential: DifferentialMesh
    let servers: readonly OutsideServer[]
    let ports: readonly number[]

    beforeAll(async () => {
      servers = await Promise.all([startOutsideServer(), startOutsideServer()])
      ports = servers.map(({ port }) => port)
      differential = await DifferentialMesh.open(sidecarClass)
    })
    afterAll(async () => {
      await differential.close()
      for (const server of servers) server.stop()
    })

    it('agree on the effect of random Egress objects on random requests', async () => {
      const counts = new Map<string, number>()
      const attempts = fc.array(anyEgressAttempt(ports), { minLength: ATTEMPTS, maxLength: ATTEMPTS })
      await fc.assert(
        fc.asyncProperty(anyEgress(ports), attempts, async (all, tried) => {
          const documents = withoutDoubles(all)
          const oracle = new Oracle(parsed([...topology, ...documents]))
          const can = await policyCan([...topology, ...documents])
          await differential.give(documents)
          for (const attempt of tried) {
            const { outcome, reason } = oracle.decideEgress(egressQuestion(attempt))
            const { allowed, said } = await can(askedOutside(attempt))
            expect({ attempt, reason, said, allowed }).toEqual({ attempt, reason, said, allowed: outcome === 'allow' })
            if (outcome === 'allow' && needsLookup(attempt)) continue
            counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
            const ask = async () => outcomeOutside(await differential.leave(attempt))
            const answer = await lasting(ask, (said) => said === outcome)
            expect({ attempt, reason, documents, outcome: answer }).toEqual({ attempt, reason, documents, outcome })
          }
        }),
        { numRuns: POLICIES, endOnFailure: true },
      )
      // A comparison in which hardly anything was allowed, or denied, would show little.
      for (const outcome of ['allow', 'deny']) expect(counts.get(outcome)).toBeGreaterThan(150)
      expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1000)
    })
  })
}
