import type { EgressQuestion } from '@osm-ts/oracle'
import fc from 'fast-check'

import { meshConfig } from '../yaml.js'
import type { AskedRequest } from './policy-can.js'
import { clients, document } from './topology.js'

/** This machine, without asking anybody for it. */
const here = ['localhost', '127.0.0.1'] as const
/** Names that a sidecar would have to look up, if it let a request out to them. */
const below = ['a.localhost', 'b.a.localhost'] as const
const named = fc.constantFrom(...here, ...below, 'LocalHost.', '*.localhost', '*.a.localhost', '*', 'elsewhere.test')
const namespace = fc.constantFrom('a', 'b')

const match = fc.record(
  {
    name: fc.constantFrom('m0', 'm1'),
    // Nothing that is no expression: the last good version of such an object stays in force, and the oracle knows no earlier ones.
    pathRegex: fc.constantFrom('/a', '/a/.*', '.*', '/b', ''),
    methods: fc.constantFrom(['GET'], ['*'], ['POST'], []),
    headers: fc.constantFrom([{ 'x-user': 'r.*' }], [{ 'X-User': 'root' }, { 'x-user': 'rita' }], [{ 'a b': '.*' }]),
  },
  { requiredKeys: ['name'] },
)
const routeGroup = fc
  .tuple(namespace, fc.nat(1), fc.array(match, { minLength: 1, maxLength: 3 }))
  .map(([home, number, matches]) =>
    document('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', `${home}/g${number}`, { spec: { matches } }),
  )
const reference = fc.constantFrom('g0', 'g1', 'none').map((name) => ({
  apiGroup: 'specs.smi-spec.io/v1alpha4',
  kind: 'HTTPRouteGroup',
  name,
}))

/** Protocols of a port. Only HTTP concerns requests by hosts; the rest must neither open nor close anything to them. */
const protocol = fc.constantFrom('http', 'http', 'http', 'HTTP', 'https', 'tcp', 'tcp-server-first')
const addresses = fc.constantFrom([], [], ['127.0.0.0/8'], ['198.51.100.0/24', '127.0.0.1/32'])

function egress(ports: readonly number[]): fc.Arbitrary<string> {
  return fc
    .tuple(
      namespace,
      fc.nat(3),
      fc.record({
        sources: fc.uniqueArray(fc.constantFrom(...clients), { minLength: 1 }).map((accounts) =>
          accounts.map((account) => {
            const [home = '', name = ''] = account.split('/')
            return { kind: 'ServiceAccount', namespace: home, name }
          }),
        ),
        hosts: fc.uniqueArray(named, { minLength: 1, maxLength: 3 }),
        ipAddresses: addresses,
        ports: fc
          .subarray([...ports], { minLength: 1 })
          .chain((numbers) =>
            fc.tuple(...numbers.map((number) => fc.record({ number: fc.constant(number), protocol }))),
          ),
        matches: fc.oneof(fc.constant([]), fc.array(reference, { minLength: 1, maxLength: 2 })),
      }),
    )
    .map(([home, number, spec]) =>
      document('policy.openservicemesh.io/v1alpha1', 'Egress', `${home}/e${number}`, { spec }),
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
    .tuple(fc.array(routeGroup, { minLength: 1, maxLength: 4 }), fc.array(egress(ports), { minLength, maxLength: 6 }))
    .map((lists) => lists.flat())
}

/** A request to a host outside. */
export interface EgressAttempt {
  readonly from: string
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
  const [namespaceOf = '', name = ''] = from.split('/')
  const headers = user === undefined ? {} : { 'x-user': user }
  return { protocol: 'http', from: { namespace: namespaceOf, name }, host, port, request: { method, target, headers } }
}

/** An attempt as the command line of `osm policy can` has it. */
export function askedOutside({ from, host, port, method, target, user }: EgressAttempt): AskedRequest {
  const headers = user === undefined ? {} : { 'x-user': user }
  return { from, to: `http://${host}:${port}`, method, target, headers }
}
