import type { Verdict } from '@osm-ts/oracle'

import type { DifferentialMesh, Outcome } from './differential-mesh.js'
import { lasting, TRIES_FOR_MS } from './outside-server.js'
import { oracleOf, verdictOn } from './question.js'
import type { Attempt, Policy } from './random-policy.js'
import { shrunk } from './shrink.js'

/** What stays wrong with what becomes of an attempt. */
export async function lastingFault(
  differential: DifferentialMesh,
  attempt: Attempt,
  faultOf: (outcome: Outcome) => Promise<string | undefined> | string | undefined,
  forMs = TRIES_FOR_MS,
): Promise<string | undefined> {
  const ask = async () => faultOf(await differential.attempt(attempt))
  return lasting(ask, (fault) => fault === undefined, performance.now() + forMs)
}

/** The smallest policy that shows the disagreement, in words. */
export async function counterExample(
  differential: DifferentialMesh,
  policy: Policy,
  attempt: Attempt,
  faultOf: (verdict: Verdict, outcome: Outcome, attempt: Attempt) => Promise<string | undefined> | string | undefined,
): Promise<string> {
  const faultUnder = async (applied: Policy, forMs?: number): Promise<string | undefined> => {
    await differential.apply(applied)
    const verdict = verdictOn(oracleOf(applied), attempt)
    return lastingFault(differential, attempt, (outcome) => faultOf(verdict, outcome, attempt), forMs)
  }
  const documents = await shrunk(
    policy.documents,
    async (fewer) => (await faultUnder({ ...policy, documents: fewer }, 1000)) !== undefined,
  )
  const smallest = { ...policy, documents }
  const fault = await faultUnder(smallest)
  return [
    fault ?? 'the disagreement disappeared while it was shrunk',
    `attempt: ${JSON.stringify(attempt)}`,
    `oracle: ${verdictOn(oracleOf(smallest), attempt).reason}`,
    `permissive: ${policy.permissive}, plaintext in ${policy.plaintext.join(' ')}, escaped slashes kept: ${policy.keepsEscapedSlashes}`,
    ...documents,
  ].join('\n')
}
