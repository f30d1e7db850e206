import type { OutsideCaller } from '@osm-ts/oracle'
import fc from 'fast-check'

import { meshConfig } from '../yaml.js'
import type { AskedRequest } from './policy-can.js'
import { anyMatch, groupReferences, routeGroups } from './random-names.js'
import { document } from './topology.js'

/** Two services with workloads, one of them with a named port, and two gateways outside the mesh of which one has an endpoint. */
export const ingressTopology: readonly string[] = [
  ...['store', 'stock'].flatMap((name) => [
    document('v1', 'ServiceAccount', `shop/${name}`, { spec: {} }),
    document('standalone.openservicemesh.io/v1alpha1', 'Workload', `shop/${name}-1`, {
      metadata: { labels: { app: name } },
      spec: { serviceAccountName: name, command: [name], ports: [{ name: 'web', port: 8080 }] },
    }),
  ]),
  document('v1', 'Service', 'shop/store', {
    spec: { selector: { app: 'store' }, ports: [{ port: 80, targetPort: 8080 }] },
  }),
  document('v1', 'Service', 'shop/stock', {
    spec: { selector: { app: 'stock' }, ports: [{ port: 80, targetPort: 'web' }] },
  }),
  document('v1', 'Service', 'edge/gateway', { spec: { selector: { app: 'gateway' }, ports: [{ port: 80 }] } }),
  document('v1', 'Service', 'edge/other', { spec: { selector: { app: 'other' }, ports: [{ port: 80 }] } }),
]

const source = fc.constantFrom(
  { kind: 'IPRange', name: '203.0.113.0/24' },
  { kind: 'IPRange', name: '203.0.0.0/16' },
  { kind: 'IPRange', name: '0.0.0.0/0' },
  { kind: 'Service', name: 'gateway', namespace: 'edge' },
  { kind: 'Service', name: 'none', namespace: 'edge' },
  { kind: 'AuthenticatedPrincipal', name: 'one.example.com' },
  { kind: 'AuthenticatedPrincipal', name: 'Two.example.com' },
)
const backend = fc.record({
  name: fc.constantFrom('store', 'stock'),
  port: fc.record({
    number: fc.constantFrom(8080, 8080, 8080, 80),
    protocol: fc.constantFrom('http', 'HTTP', 'https', 'https', 'grpc', 'tcp'),
  }),
  tls: fc.record({
    skipClientCertValidation: fc.boolean(),
    sniHosts: fc.uniqueArray(fc.constantFrom('a.example.com', '*.example.com', 'b.example.com'), { maxLength: 2 }),
  }),
})
const access = fc
  .tuple(
    fc.constantFrom('IngressBackend', 'AccessControl'),
    fc.nat(2),
    fc.record({
      backends: fc.uniqueArray(backend, {
        minLength: 1,
        maxLength: 3,
        selector: ({ name, port }) => `${name} ${port.number}`,
      }),
      sources: fc.array(source, { minLength: 1, maxLength: 4 }),
      matches: groupReferences,
    }),
  )
  .map(([kind, number, spec]) => document('policy.openservicemesh.io/v1alpha1', kind, `shop/i${number}`, { spec }))

/** Objects that open services to callers outside, with one MeshConfig. Some have one name. */
export const anyIngress: fc.Arbitrary<readonly string[]> = fc
  .tuple(
    fc.record({ spellings: fc.boolean(), plaintext: fc.nat(9) }).map(({ spellings, plaintext }) => [
      meshConfig({
        traffic: {
          escapedSlashes: spellings ? 'Keep' : 'Reject',
          enablePermissiveTrafficPolicyMode: plaintext < 2,
          plaintextNamespaces: plaintext === 0 ? ['shop'] : [],
        },
      }),
    ]),
    fc.array(routeGroups(anyMatch, 3, fc.constant('shop')), { minLength: 1, maxLength: 3 }),
    fc.array(access, { minLength: 1, maxLength: 5 }),
  )
  .map((lists) => lists.flat())

/** A request of a caller outside the mesh. */
export interface IngressAttempt {
  readonly caller: OutsideCaller
  readonly to: 'store' | 'stock'
  readonly method: string
  readonly target: string
  readonly user?: string
}

export const anyIngressAttempt: fc.Arbitrary<IngressAttempt> = fc.record(
  {
    caller: fc
      .tuple(
        fc.constantFrom<OutsideCaller>(
          { address: '203.0.113.9' },
          { address: '203.0.7.7' },
          { address: '198.51.100.1' },
          { service: { namespace: 'edge', name: 'gateway' } },
          { service: { namespace: 'edge', name: 'other' } },
        ),
        fc.subarray(['one.example.com', 'two.example.com']),
        fc.constantFrom(undefined, 'a.example.com', 'b.example.com', 'c.example.com', 'A.Example.com', 'example.com'),
      )
      .map(([caller, principals, serverName]) => ({
        ...caller,
        principals,
        ...(serverName !== undefined && { serverName }),
      })),
    to: fc.constantFrom('store', 'stock'),
    method: fc.constantFrom('GET', 'POST'),
    target: fc.constantFrom('/a', '/a/b', '/b', '/', '/a?q=/b', '//a', '/a/../b', '/a%2Fb'),
    user: fc.constantFrom('root', 'rita', 'bob'),
  },
  { requiredKeys: ['caller', 'to', 'method', 'target'] },
)

/** An attempt as the command line of `osm policy can` has it. */
export function askedFromOutside({ caller, to, method, target, user }: IngressAttempt): AskedRequest {
  const { address = '', service, principals = [], serverName } = caller
  return {
    from: service === undefined ? address : `service:${service.namespace}/${service.name}`,
    to: `shop/${to}:80`,
    method,
    target,
    headers: user === undefined ? {} : { 'x-user': user },
    principals,
    ...(serverName !== undefined && { serverName }),
  }
}
