import fc from 'fast-check'

import { type Manifest, type Place, randomPolicies as policies, anyObject } from '@osm-ts/kubernetes/testing'
import { withoutDoubles } from './random-policy.js'
import { CANARY, clients, servers, services } from './topology.js'

/** Sorts before every namespace of the mesh. */
const ATTACKER = 'aaa'

/**
 * Documents that the owner of a namespace beside those of the mesh may write: of every kind, about anybody, and called as others call theirs. Pods are
 * for clusters.
 *
 * @param ports - of servers outside the mesh
 */
export function anyAttack(ports: readonly number[]): fc.Arbitrary<readonly string[]> {
  const [canary = ''] = CANARY.split('/')
  const ownName = (name: string): string => name.slice(name.indexOf('/') + 1)
  const place: Place = {
    home: ATTACKER,
    named: [ATTACKER, 'a', 'b', canary],
    services: [...new Set([...services, CANARY].map(ownName))],
    accounts: [...new Set([...clients, ...servers, CANARY].map(ownName))],
    hosts: ['localhost', '127.0.0.1', '*.localhost', '*'],
    ports,
  }
  // What counts for others by their consent only, about clients that exist: pure chance hardly ever names one of them.
  const aimed: Place = {
    ...place,
    named: ['a', 'b'],
    accounts: clients.map(ownName),
    services: [CANARY, ...servers].map(ownName),
  }
  return fc
    .tuple(
      fc.array(anyObject(place, new Set(['Pod'])), { minLength: 10, maxLength: 20 }),
      fc.array(policies.anyEgress(aimed), { minLength: 8, maxLength: 12 }),
      fc.array(policies.anyEgressGateway(aimed), { minLength: 1, maxLength: 2 }),
      fc.array(policies.anyUpstreamSetting(aimed), { minLength: 2, maxLength: 4 }),
    )
    .map(([random, ...directed]) => [...random, ...directed.flatMap((list) => list.map(numberedApart))])
    .map((objects) => withoutDoubles(objects.map((object) => `${JSON.stringify(object)}\n`)))
}

/** Under its own name. */
function numberedApart(object: Manifest, index: number): Manifest {
  const { metadata } = object
  return { ...object, metadata: { ...metadata, name: `${metadata.name}-${String(index)}` } }
}
