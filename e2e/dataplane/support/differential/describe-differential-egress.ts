import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Oracle } from '@osm-ts/oracle'
import fc from 'fast-check'

import { DifferentialMesh } from './differential-mesh.js'
import {
  type EgressAttempt,
  anyEgress,
  anyEgressAttempt,
  askedOutside,
  egressQuestion,
  needsLookup,
} from './random-egress.js'
import { policyCan } from './policy-can.js'
import { withoutDoubles } from './random-policy.js'
import type { RawAnswer } from './raw-http.js'
import { parsed, topology } from './topology.js'

/** Policies, and attempts under each. */
const POLICIES = 20
const ATTEMPTS = 75
/** A sidecar has acknowledged its policy a moment before all of its threads follow it, on a busy machine a long one. */
const TRIES_FOR_MS = 120_000
const OUTSIDE = 'outside the mesh'

/** Random Egress objects and requests, through sidecars of a class. */
export function describeDifferentialEgress(sidecarClass: string): void {
  describe(`real sidecars of class ${sidecarClass} and the oracle, on hosts outside the mesh`, () => {
    let differential: DifferentialMesh
    let servers: readonly Server[]
    let ports: readonly number[]

    beforeAll(async () => {
      servers = await Promise.all([listening(), listening()])
      // Listening servers have an address with a port.
      ports = servers.map((server) => (server.address() as AddressInfo).port)
      differential = await DifferentialMesh.open(sidecarClass)
    })
    afterAll(async () => {
      await differential.close()
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    })

    it('agree on what random Egress objects do with random requests', async () => {
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
            const answer = await lastingAnswer(differential, attempt, outcome)
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

/** What becomes of a request, or of a later one, if the first is not answered as expected. */
async function lastingAnswer(
  differential: DifferentialMesh,
  attempt: EgressAttempt,
  expected: string,
): Promise<string> {
  const deadline = performance.now() + TRIES_FOR_MS
  for (;;) {
    const answer = await differential.leave(attempt)
    const said = outcomeOf(answer)
    if (said === expected || performance.now() > deadline) return said
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Refusals come from the routes of a sidecar; another failure is none. */
function outcomeOf({ status, body }: RawAnswer): string {
  if (status === 200 && body === OUTSIDE) return 'allow'
  return status === 403 || status === 404 ? 'deny' : `fails with ${status}: ${body}`
}

/** A server that belongs to no one's mesh. */
function listening(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume()
    response.end(OUTSIDE)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}
