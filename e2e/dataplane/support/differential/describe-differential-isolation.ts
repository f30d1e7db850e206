import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { DifferentialMesh, type Outcome } from './differential-mesh.js'
import { disagreement } from './disagreement.js'
import { lasting, type OutsideServer, outcomeOutside, startOutsideServer, TRIES_FOR_MS } from './outside-server.js'
import { type AskedRequest, policyCan } from './policy-can.js'
import { asked, documentsOf, oracleOf, verdictOn } from './question.js'
import { anyAttack } from './random-attack.js'
import {
  anyEgressAttempt,
  anyEgressPolicies,
  askedOutside,
  egressQuestion,
  needsLookup,
  type EgressAttempt,
} from './random-egress.js'
import { anyAttempt, policiesOf, type Policy, withoutDoubles } from './random-policy.js'
import { BARE } from './topology.js'

/** Policies with an attack on each, and attempts before and after it. */
const POLICIES = 20
const ATTEMPTS = 30
const DEPARTURES = 30

/** Random objects of another namespace, and requests through sidecars of a class. */
export function describeDifferentialIsolation(sidecarClass: string): void {
  describe(`real sidecars of class ${sidecarClass}, while somebody adds objects to his own namespace`, () => {
    let differential: DifferentialMesh
    let outside: OutsideServer

    beforeAll(async () => {
      outside = await startOutsideServer()
      differential = await DifferentialMesh.open(sidecarClass)
    })
    afterAll(async () => {
      await differential.close()
      outside.stop()
    })

    it('answer requests of other tenants as without the attacker, by sidecars, the oracle and osm policy can alike', async () => {
      const ports = [outside.port]
      const counts = new Map<string, number>()
      const exactly = (length: number) => ({ minLength: length, maxLength: length })
      await fc.assert(
        fc.asyncProperty(
          policiesOf(sidecarClass),
          // Half of the meshes let no one out.
          fc.oneof(fc.constant([]), anyEgressPolicies(ports, 2)),
          anyAttack(ports),
          fc.array(anyAttempt, exactly(ATTEMPTS)),
          fc.array(anyEgressAttempt(ports), exactly(DEPARTURES)),
          async (inside, egress, attack, attempts, departures) => {
            const policy = { ...inside, documents: withoutDoubles([...inside.documents, ...egress]) }
            const oracle = oracleOf(policy)
            const answersUnder = async (told: Policy): Promise<readonly unknown[]> => {
              await differential.apply(told)
              const can = await policyCan(documentsOf(told))
              const found: unknown[] = []
              // For all answers to a policy together.
              const deadline = performance.now() + TRIES_FOR_MS
              for (const attempt of attempts) {
                const verdict = verdictOn(oracle, attempt)
                const isAgreed = (outcome: Outcome): boolean => disagreement(verdict, outcome) === undefined
                const outcome = await lasting(() => differential.attempt(attempt), isAgreed, deadline)
                counts.set(verdict.outcome, (counts.get(verdict.outcome) ?? 0) + 1)
                // Chance decides where a split request ends up.
                const answer = verdict.outcome === 'depends' ? 'depends' : shown(outcome, isMixed(policy, attempt.to))
                const fault = disagreement(verdict, outcome) ?? (await wrongWord(can, asked(attempt), verdict.outcome))
                found.push({ attempt, answer, fault: fault ?? 'none' })
              }
              for (const departure of departures) {
                const { outcome } = oracle.decideEgress(egressQuestion(departure))
                if (outcome === 'allow' && needsLookup(departure)) continue
                counts.set(`out: ${outcome}`, (counts.get(`out: ${outcome}`) ?? 0) + 1)
                found.push(await departed(differential, departure, outcome, deadline))
                const fault = await wrongWord(can, askedOutside(departure), outcome)
                if (fault !== undefined) found.push({ departure, fault })
              }
              return found
            }
            const before = await answersUnder(policy)
            const after = await answersUnder({ ...policy, documents: [...policy.documents, ...attack] })
            expect({ attack, faults: after.filter(isFault) }).toEqual({ attack, faults: [] })
            expect({ attack, answers: after }).toEqual({ attack, answers: before })
          },
        ),
        { numRuns: POLICIES, endOnFailure: true },
      )
      console.log(`answers before and after attacks: ${JSON.stringify(Object.fromEntries(counts))}`)
      for (const outcome of ['allow', 'deny', 'out: allow', 'out: deny'])
        expect({ outcome, isSeen: (counts.get(outcome) ?? 0) > 0 }).toEqual({ outcome, isSeen: true })
    })
  })
}

/** What `osm policy can` says of a request, if it is not what the oracle says. */
async function wrongWord(
  can: Awaited<ReturnType<typeof policyCan>>,
  request: AskedRequest,
  expected: string,
): Promise<string | undefined> {
  const { allowed, said } = await can(request)
  return allowed === (expected === 'allow') ? undefined : `the oracle says ${expected}, osm policy can: ${said}`
}

function isFault(answer: unknown): boolean {
  return (answer as { readonly fault: string }).fault !== 'none'
}

/**
 * True for services of which some servers may have no sidecar. Chance decides which server answers, and only a sidecar merges slashes of a path that another
 * sidecar has kept.
 */
function isMixed({ permissive, plaintext }: Pick<Policy, 'permissive' | 'plaintext'>, service: string): boolean {
  return permissive && plaintext.length > 0 && service.startsWith(BARE.slice(0, BARE.indexOf('/') + 1))
}

/** Of a refusal no status: chance decides which of several workloads refuses, and each may have its own reason. */
function shown(outcome: Outcome, withoutPath: boolean): unknown {
  if (!outcome.passed) return 'refused'
  return withoutPath ? 'passed' : { path: outcome.path }
}

/** What becomes of a request to a host outside, and whether that is what the oracle says. */
async function departed(
  differential: DifferentialMesh,
  attempt: EgressAttempt,
  expected: string,
  deadline: number,
): Promise<unknown> {
  const answer = await lasting(
    async () => outcomeOutside(await differential.leave(attempt)),
    (outcome) => outcome === expected,
    deadline,
  )
  return { attempt, answer, fault: answer === expected ? 'none' : `the oracle says ${expected}` }
}
