import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { DataPlane, type Attempt, type Outcome } from '../../../test/catalog/data-plane.js'
import { MeshFixture } from '../../../test/catalog/mesh-fixture.js'
import { anyMesh } from '../../../test/catalog/random-mesh.js'
import type { KindMap } from '../../spec/index.js'
import type { AccessDecision } from './access-decision.js'

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
            const decision = fixture.catalog.decisions.access({ from, to: service, port, ...sample })
            const context = { client: `${namespace}/${name}`, service, port, sample, decision, outcomes }
            // The own proxy offers nothing of a service that the mesh lets the client have no part of.
            if (outcomes === undefined)
              expect({ ...context, allowed: decision.allowed }).toEqual({ ...context, allowed: false })
            for (const outcome of outcomes ?? []) {
              compared += 1
              if (outcome.allowed) allowed += 1
              const ask = (to: Attempt['service'], at: number) =>
                fixture.catalog.decisions.access({ from, to, port: at, ...sample })
              const says = saysOf(fixture, decision, outcome, ask)
              expect({ ...context, outcome, says }).toEqual({ ...context, outcome, says: outcome.allowed })
            }
          }
        }
      }),
      { numRuns: 60 },
    )
    // Otherwise nothing was tested; a fifth of the runs has to do where an answer is wanted quickly.
    expect(compared).toBeGreaterThan(100)
    expect(allowed).toBeGreaterThan(10)
    expect(allowed).toBeLessThan(compared)
  })
})

/** What a decision says of the workload that a request ended up at. */
function saysOf(
  fixture: MeshFixture,
  decision: AccessDecision,
  outcome: Outcome,
  ask: (service: Attempt['service'], port: number) => AccessDecision,
): boolean | undefined {
  const [id = ''] = outcome.upstream.split('|')
  const instances = fixture.snapshot.list('WorkloadInstance')
  const instance = instances.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === outcome.proxy)
  // A proxy that has no part for the port serves no one there.
  if (instance === undefined) return false
  const said = ({ decisions }: AccessDecision): readonly boolean[] =>
    decisions
      .filter(
        ({ service, account }) =>
          `${service.namespace}/${service.name}` === id && account.name === instance.spec.serviceAccountName,
      )
      .map(({ allowed }) => allowed)
  const answers = said(decision)
  if (answers.length === 0) {
    // Ports that lead to one target port share an upstream, so that a call to a named port may end up at a workload that serves another of them.
    const [namespace = '', name = ''] = id.split('/')
    const ports = fixture.snapshot.get('Service', namespace, name)?.spec.ports ?? []
    return ports.flatMap(({ port }) => said(ask({ namespace, name }, port))).includes(outcome.allowed)
      ? outcome.allowed
      : undefined
  }
  // A named port may lead to several ports of one account's workloads, each with its own answer.
  return answers.includes(outcome.allowed) ? outcome.allowed : undefined
}
