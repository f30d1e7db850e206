import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { DataPlane, type Attempt, type Outcome } from '../../../test/catalog/data-plane.js'
import { MeshFixture } from '../../../test/catalog/mesh-fixture.js'
import { anyMesh } from '../../../test/catalog/random-mesh.js'
import type { KindMap } from '../../spec/index.js'
import type { AccessDecision } from './decide.js'

type Instance = KindMap['WorkloadInstance']

const requests = fc.array(
  fc.record({
    path: fc.constantFrom('/a', '/b', '/b/c', '/x'),
    method: fc.constantFrom('GET', 'POST', 'DELETE'),
    headers: fc.constantFrom<Record<string, string>[]>(
      {},
      { 'x-user': 'root' },
      { 'x-user': 'rita' },
      { 'x-user': 'bob' },
    ),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Every client and service port of a mesh. */
function* pairs(
  fixture: MeshFixture,
): Generator<{ readonly client: Instance; readonly service: Attempt['service']; readonly port: number }> {
  const { catalog } = fixture
  const spec = catalog.getSMISpec()
  for (const client of fixture.snapshot.list('WorkloadInstance'))
    for (const {
      metadata: { namespace, name },
      spec: { ports },
    } of spec.listServices())
      for (const { port, protocol } of ports)
        if (protocol === 'TCP') yield { client, service: { namespace, name }, port }
}

describe('decide', () => {
  it('says what the policies of the proxies mean', () => {
    let compared = 0
    let allowed = 0
    fc.assert(
      fc.property(anyMesh, requests, (mesh, samples) => {
        const fixture = new MeshFixture()
        fixture.apply(mesh)
        const dataPlane = new DataPlane(fixture.documents())
        for (const { client, service, port } of pairs(fixture)) {
          const { namespace, name } = client.metadata
          for (const sample of samples) {
            const outcomes = dataPlane.outcomes(`${namespace}/${name}`, { service, port, ...sample })
            const from = { namespace, name: client.spec.serviceAccountName }
            const decision = fixture.catalog.decide({ from, to: service, port, ...sample })
            const context = { client: `${namespace}/${name}`, service, port, sample, decision, outcomes }
            // The own proxy offers nothing of a service that the mesh lets the client have no part of.
            if (outcomes === undefined)
              expect({ ...context, allowed: decision.allowed }).toEqual({ ...context, allowed: false })
            for (const outcome of outcomes ?? []) {
              compared += 1
              if (outcome.allowed) allowed += 1
              expect({ ...context, outcome, says: saysOf(fixture, decision, outcome) }).toEqual({
                ...context,
                outcome,
                says: outcome.allowed,
              })
            }
          }
        }
      }),
      { numRuns: 60 },
    )
    // Otherwise nothing was tested.
    expect(compared).toBeGreaterThan(200)
    expect(allowed).toBeGreaterThan(20)
    expect(allowed).toBeLessThan(compared)
  })
})

/** What a decision says of the workload that a request ended up at. */
function saysOf(fixture: MeshFixture, decision: AccessDecision, outcome: Outcome): boolean | undefined {
  const [service = ''] = outcome.upstream.split('|')
  const instance = fixture.snapshot
    .list('WorkloadInstance')
    .find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === outcome.proxy)
  // A proxy that has no part for the port serves nobody there.
  if (instance === undefined) return false
  const account = instance.spec.serviceAccountName
  const said = decision.decisions.filter(
    (entry) => `${entry.service.namespace}/${entry.service.name}` === service && entry.account.name === account,
  )
  const [first] = said
  if (first === undefined) return undefined
  // A named port may lead to several ports of one account's workloads, each with an answer of its own.
  return said.length === 1
    ? first.allowed
    : said.some(({ allowed }) => allowed === outcome.allowed)
      ? outcome.allowed
      : undefined
}
