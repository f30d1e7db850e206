import { expect, it } from '@jest/globals'
import type { Verdict } from '@osm-ts/oracle'
import fc from 'fast-check'

import { counterExample, lastingFault } from './counter-example.js'
import type { DifferentialMesh } from './differential-mesh.js'
import { policyCan } from './policy-can.js'
import { asked, documentsOf, oracleOf, verdictOn } from './question.js'
import type { Attempt, Policy } from './random-policy.js'
import { anyRoutedAttempt, anyRoutedPolicy } from './random-routes.js'
import { routingFault } from './routed-answers.js'
import { shrunk } from './shrink.js'

/** How much is tried. */
interface Amount {
  readonly policies: number
  readonly attempts: number
}

/** Compares what `osm policy can` and the oracle say of random routes of the Gateway API, and what sidecars do if there are some. */
export function itAgreesOnRoutes({ policies, attempts }: Amount, mesh?: () => DifferentialMesh): void {
  it('agree on the effect of random routes of the Gateway API on random requests and connections', async () => {
    const counts = new Map<string, number>()
    let compared = 0
    let found: { readonly policy: Policy; readonly attempt: Attempt; readonly isOfSidecars: boolean } | undefined
    const all = fc.array(anyRoutedAttempt, { minLength: attempts, maxLength: attempts })
    const { seed, failed, errorInstance } = await fc.check(
      fc.asyncProperty(anyRoutedPolicy, all, async (policy, tried) => {
        const oracle = oracleOf(policy)
        const can = await policyCan(documentsOf(policy))
        await mesh?.().apply(policy)
        for (const attempt of tried) {
          const verdict = verdictOn(oracle, attempt)
          const said = await faultOfPolicyCan(can, verdict, attempt)
          compared += 1
          for (const kind of kindsOf(verdict, attempt)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
          const did =
            mesh === undefined || said !== undefined
              ? undefined
              : await lastingFault(mesh(), attempt, (outcome) => routingFault(verdict, outcome, attempt))
          const fault = said ?? did
          if (fault === undefined) continue
          found = { policy, attempt, isOfSidecars: said === undefined }
          throw new Error(fault)
        }
      }),
      { numRuns: policies, endOnFailure: true },
    )
    const repeated = `repeat with OSM_PROPERTY_SEED=${seed}`
    if (found !== undefined) {
      const { policy, attempt, isOfSidecars } = found
      const example =
        isOfSidecars && mesh !== undefined
          ? await counterExample(mesh(), policy, attempt, routingFault)
          : await policyCanExample(policy, attempt)
      throw new Error(`${repeated}: ${String(errorInstance)}\n${example}`)
    }
    if (failed) throw new Error(`${repeated}: ${String(errorInstance)}`, { cause: errorInstance })
    expect(compared).toBe(policies * attempts)
    // A comparison in which a kind of answer does not occur would show nothing of it. The few that go through sidecars need not have the rare ones.
    const common = ['allow', 'deny', 'depends', 'not routed', 'answered 404', 'answered 500', 'closed']
    const kinds =
      mesh === undefined
        ? [...common, 'rewritten', 'redirected', 'answered 503', 'by server name', 'copied', 'repeated']
        : [...common, 'copied', 'repeated']
    const rare = kinds.filter((kind) => (counts.get(kind) ?? 0) < compared / 1000)
    expect({ repeated, counts: Object.fromEntries(counts), rare }).toMatchObject({ rare: [] })
  })
}

type PolicyCan = Awaited<ReturnType<typeof policyCan>>

/** What `osm policy can` says otherwise than the oracle. */
async function faultOfPolicyCan(can: PolicyCan, verdict: Verdict, attempt: Attempt): Promise<string | undefined> {
  const { allowed, said, answered } = await can(asked(attempt))
  const isAgreed = allowed === (verdict.outcome === 'allow') && answered === verdict.answers?.[0]?.status
  return isAgreed ? undefined : `osm policy can: ${said}\noracle: ${JSON.stringify(verdict)}`
}

/** The smallest policy about which `osm policy can` and the oracle disagree, in words. */
async function policyCanExample(policy: Policy, attempt: Attempt): Promise<string> {
  const faultUnder = async (documents: readonly string[]): Promise<string | undefined> => {
    const smaller = { ...policy, documents }
    return faultOfPolicyCan(await policyCan(documentsOf(smaller)), verdictOn(oracleOf(smaller), attempt), attempt)
  }
  const documents = await shrunk(policy.documents, async (fewer) => (await faultUnder(fewer)) !== undefined)
  const fault = await faultUnder(documents)
  const { permissive, plaintext, keepsEscapedSlashes } = policy
  return [fault, JSON.stringify({ attempt, permissive, plaintext, keepsEscapedSlashes }), ...documents].join('\n')
}

/** What a verdict is an example of. */
function kindsOf({ outcome, answers, destinations, copies = [], retry }: Verdict, attempt: Attempt): readonly string[] {
  if (answers === undefined) return ['not routed']
  const statuses = answers.map(({ status }) =>
    status === 'closed' ? status : status < 400 ? 'redirected' : `answered ${status}`,
  )
  const isChanged = destinations.some(({ allowed, routed }) => allowed && routed?.host !== undefined)
  const isAllowed = destinations.some(({ allowed }) => allowed)
  const asked = attempt.kind === 'http' ? attempt.request.headers.find(([name]) => name === 'x-answer')?.[1] : undefined
  const kinds = {
    rewritten: isChanged,
    copied: isAllowed && copies.some((each) => each.destinations.some(({ allowed }) => allowed)),
    repeated: isAllowed && retry?.codes.includes(Number(asked)) === true,
    'by server name': isAllowed && attempt.kind === 'tcp' && (attempt.serverName ?? '') !== '',
  }
  const found = Object.entries(kinds).flatMap(([kind, is]) => (is ? [kind] : []))
  return [outcome, ...new Set(statuses), ...found]
}
