import { describe, expect, it } from '@jest/globals'
import { Oracle } from '@osm-ts/oracle'
import fc from 'fast-check'

import { policyCan } from './support/differential/policy-can.js'
import {
  anyIngress,
  anyIngressAttempt,
  askedFromOutside,
  ingressTopology,
} from './support/differential/random-ingress.js'
import { withoutDoubles } from './support/differential/random-policy.js'
import { parsed } from './support/differential/topology.js'

describe('osm policy can and the oracle, on callers outside the mesh', () => {
  it('agree on the effect of random IngressBackends and AccessControls on random requests', async () => {
    const counts = new Map<string, number>()
    const attempts = fc.array(anyIngressAttempt, { minLength: 40, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(anyIngress, attempts, async (all, tried) => {
        const documents = [...ingressTopology, ...withoutDoubles(all)]
        const oracle = new Oracle(parsed(documents))
        const can = await policyCan(documents)
        for (const attempt of tried) {
          const { caller, to, method, target, user } = attempt
          const headers = user === undefined ? {} : { 'x-user': user }
          const { outcome, reasons } = oracle.decideOutside({
            caller,
            to: { namespace: 'shop', name: to },
            port: 80,
            request: { method, target, headers },
          })
          counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
          const { allowed, said } = await can(askedFromOutside(attempt))
          const about = { attempt, documents, reasons, said }
          expect({ ...about, allowed }).toEqual({ ...about, allowed: outcome === 'allow' })
        }
      }),
      { numRuns: 60 },
    )
    // A comparison in which hardly anything was allowed, or denied, would show little.
    for (const outcome of ['allow', 'deny', 'refuse']) expect(counts.get(outcome)).toBeGreaterThan(100)
  })
})
