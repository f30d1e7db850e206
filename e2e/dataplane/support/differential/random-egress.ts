import type { EgressQuestion } from '@osm-ts/oracle'
import fc from 'fast-check'

import { meshConfig, type Qualified, ref } from '../yaml.js'
import type { AskedRequest } from './policy-can.js'
import { anyMatch, groupReferences, numbered, routeGroups } from './random-names.js'
import { clients } from './topology.js'

/** This machine, without asking anybody for it. */
const here = ['localhost', '127.0.0.1'] as const
/** Names that a sidecar would have to look up, if it let a request out to them. */
const below = ['a.localhost', 'b.a.localhost'] as const
const named = fc.constantFrom(...here, ...below, 'LocalHost.', '*.localhost', '*.a.localhost', '*', 'elsewhere.test')

/** Protocols of a port. Only HTTP concerns requests by hosts; the rest must neither open nor close anything to them. */
const protocol = fc.constantFrom('http', 'http', 'http', 'HTTP', 'https', 'tcp', 'tcp-server-first')
const addresses = fc.constantFrom([], [], ['127.0.0.0/8'], ['198.51.100.0/24', '127.0.0.1/32'])

function egress(ports: readonly number[]): fc.Arbitrary<string> {
  const some = fc.subarray([...ports], { minLength: 1 })
  return numbered(
    'policy.openservicemesh.io/v1alpha1',
    'Egress',
    { name: 'e', last: 3 },
    fc.record({
      sources: fc
        .uniqueArray(fc.constantFrom(...clients), { minLength: 1 })
        .map((accounts) => accounts.map((account) => ({ kind: 'ServiceAccount', ...ref(account) }))),
      hosts: fc.uniqueArray(named, { minLength: 1, maxLength: 3 }),
      ipAddresses: addresses,
      ports: some.chain((numbers) =>
        fc.tuple(...numbers.map((number) => fc.record({ number: fc.constant(number), protocol }))),
      ),
      matches: groupReferences,
    }),
  )
}

/** Documents, some with one name, with one MeshConfig. */
export function anyEgress(ports: readonly number[]): fc.Arbitrary<readonly string[]> {
  return fc
    .tuple(
      fc.nat(3).map((number) => [meshConfig({ traffic: { enableEgress: number === 0 } })]),
      anyEgressPolicies(ports, 2),
    )
    .map((lists) => lists.flat())
}

/** Egress objects, at least so many, and route groups that they name. Some have one name. */
export function anyEgressPolicies(ports: readonly number[], minLength: number): fc.Arbitrary<readonly string[]> {
  return fc
    .tuple(
      fc.array(routeGroups(anyMatch, 3), { minLength: 1, maxLength: 4 }),
      fc.array(egress(ports), { minLength, maxLength: 6 }),
    )
    .map((lists) => lists.flat())
}

/** A request to a host outside. */
export interface EgressAttempt {
  readonly from: Qualified
  readonly host: string
  readonly port: number
  readonly method: string
  readonly target: string
  readonly user?: string
}

export function anyEgressAttempt(ports: readonly number[]): fc.Arbitrary<EgressAttempt> {
  return fc.record(
    {
      from: fc.constantFrom(...clients),
      host: fc.constantFrom(...here, ...here, ...below),
      port: fc.constantFrom(...ports),
      method: fc.constantFrom('GET', 'POST'),
      target: fc.constantFrom('/a', '/a/b', '/b', '/', '/a?q=/b'),
      user: fc.constantFrom('root', 'rita', 'bob'),
    },
    { requiredKeys: ['from', 'host', 'port', 'method', 'target'] },
  )
}

/** True if what becomes of the request depends on whom the sidecar may request addresses. */
export function needsLookup({ host }: EgressAttempt): boolean {
  return below.some((name) => name === host)
}

/** An attempt as the oracle is asked about it. */
export function egressQuestion({ from, host, port, method, target, user }: EgressAttempt): EgressQuestion {
  const headers = user === undefined ? {} : { 'x-user': user }
  return { protocol: 'http', from: ref(from), host, port, request: { method, target, headers } }
}

/** An attempt as the command line of `osm policy can` has it. */
export function askedOutside({ from, host, port, method, target, user }: EgressAttempt): AskedRequest {
  const headers = user === undefined ? {} : { 'x-user': user }
  return { from, to: `http://${host}:${port}`, method, target, headers }
}
