import { describe, expect, it } from '@jest/globals'

import type { OracleObject } from './objects.js'
import { Oracle } from './oracle.js'
import type { OutsideCaller, OutsideVerdict } from './outside.js'

const shop = (kind: string, name: string, spec: unknown, labels = {}): OracleObject => ({
  kind,
  metadata: { name, namespace: 'shop', labels },
  spec,
})
const gateway: readonly OracleObject[] = [
  { kind: 'Service', metadata: { name: 'gateway', namespace: 'edge' }, spec: { selector: { app: 'gw' } } },
  {
    kind: 'Workload',
    metadata: { name: 'gateway', namespace: 'edge', labels: { app: 'gw' } },
    spec: { address: '192.0.2.7' },
  },
]
const mesh: readonly OracleObject[] = [
  ...gateway,
  shop('Service', 'store', { selector: { app: 'store' }, ports: [{ port: 80, targetPort: 8080 }] }),
  shop('Workload', 'store', { serviceAccountName: 'store' }, { app: 'store' }),
  shop('HTTPRouteGroup', 'reading', { matches: [{ name: 'books', pathRegex: '/books', methods: ['GET'] }] }),
  shop('HTTPRouteGroup', 'odd', { matches: [{ name: 'none', pathRegex: '(' }] }),
]
const range = { kind: 'IPRange', name: '203.0.113.0/24' }
const service = { kind: 'Service', name: 'gateway', namespace: 'edge' }
const principal = { kind: 'AuthenticatedPrincipal', name: 'Gateway.example.com' }
const matches = (name: string) => [{ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name }]

function access(
  kind: string,
  name: string,
  sources: readonly unknown[],
  {
    protocol = 'http',
    number = 8080,
    tls = {},
    ...more
  }: { protocol?: string; number?: number; tls?: object; matches?: readonly object[] } = {},
): OracleObject {
  return shop(kind, name, { backends: [{ name: 'store', port: { number, protocol }, tls }], sources, ...more })
}

function verdict(
  objects: readonly OracleObject[],
  caller: OutsideCaller,
  { target = '/books', method = 'GET', port = 80, to = 'store' } = {},
): OutsideVerdict {
  const request = { method, target, headers: {} }
  return new Oracle([...mesh, ...objects]).decideOutside({ caller, to: { namespace: 'shop', name: to }, port, request })
}

const inRange = { address: '203.0.113.9' }
const elsewhere = { address: '198.51.100.1' }

describe.each(['IngressBackend', 'AccessControl'])('the oracle on %s', (kind) => {
  const plain = access(kind, 'in', [range, service])

  it.each([
    ['an address in a range', inRange, 'allow'],
    ['an address in none', elsewhere, 'deny'],
    ['an endpoint of a service by its address', { address: '192.0.2.7' }, 'allow'],
    ['a service by its name', { service: { namespace: 'edge', name: 'gateway' } }, 'allow'],
    ['another service', { service: { namespace: 'edge', name: 'other' } }, 'deny'],
    ['a caller of whom no one knows more', {}, 'deny'],
  ])('answers for %s', (_what, caller, outcome) => {
    expect(verdict([plain], caller).outcome).toBe(outcome)
  })

  it('knows no service of a namespace that takes no part', () => {
    const request = { method: 'GET', target: '/', headers: {} }
    const caller = { service: { namespace: 'edge', name: 'gateway' } }
    const oracle = new Oracle([...mesh, plain], { participates: (namespace) => namespace !== 'edge' })
    expect(oracle.decideOutside({ caller, to: { namespace: 'shop', name: 'store' }, port: 80, request }).outcome).toBe(
      'deny',
    )
  })

  it('counts the addresses of a service in ranges', () => {
    const caller = { service: { namespace: 'edge', name: 'gateway' } }
    expect(verdict([access(kind, 'in', [{ kind: 'IPRange', name: '192.0.2.0/24' }])], caller).outcome).toBe('allow')
    expect(verdict([access(kind, 'in', [range])], caller).outcome).toBe('deny')
  })

  it('is about the port of the workloads, and about no one where it is not said', () => {
    expect(verdict([access(kind, 'in', [range], { number: 80 })], inRange).outcome).toBe('deny')
    expect(verdict([], inRange)).toMatchObject({ outcome: 'deny', reasons: [expect.stringContaining('port 8080')] })
    expect(verdict([plain], inRange, { port: 81 }).outcome).toBe('nowhere')
    expect(verdict([plain], inRange, { to: 'none' }).outcome).toBe('nowhere')
  })

  it('requests a certificate over TLS, and for an address where one is named', () => {
    const both = access(kind, 'in', [range, principal], { protocol: 'https' })
    const holder = { principals: ['gateway.example.com'] }
    expect(verdict([both], { ...inRange, ...holder }).outcome).toBe('allow')
    expect(verdict([both], inRange).outcome).toBe('deny')
    expect(verdict([both], { ...elsewhere, ...holder }).outcome).toBe('deny')
    expect(verdict([both], holder).outcome).toBe('deny')
    expect(verdict([access(kind, 'in', [principal], { protocol: 'https' })], holder).outcome).toBe('allow')
    expect(verdict([access(kind, 'in', [range], { protocol: 'https' })], { ...inRange, ...holder }).outcome).toBe(
      'deny',
    )
    // Without TLS no one shows a certificate.
    expect(verdict([access(kind, 'in', [principal])], holder).outcome).toBe('deny')
  })

  it('takes TLS without a certificate where it is not to request one', () => {
    const tls = { skipClientCertValidation: true, sniHosts: ['store.example.com', '*.shops.test'] }
    const named = access(kind, 'in', [range], { protocol: 'https', tls })
    expect(verdict([named], { ...inRange, serverName: 'Store.example.com' }).outcome).toBe('allow')
    expect(verdict([named], { ...inRange, serverName: 'a.shops.test' }).outcome).toBe('allow')
    expect(verdict([named], { ...inRange, serverName: 'shops.test' }).outcome).toBe('deny')
    expect(verdict([named], inRange).outcome).toBe('deny')
  })

  it('is limited by matches, of which one that leads nowhere lets nothing in', () => {
    const limited = access(kind, 'in', [range], { matches: matches('reading') })
    expect(verdict([limited], inRange)).toEqual({
      outcome: 'allow',
      reasons: [`${kind} shop/in lets it in`],
      by: [
        { kind, namespace: 'shop', name: 'in', field: 'spec.backends[0]' },
        { kind: 'HTTPRouteGroup', namespace: 'shop', name: 'reading', field: 'spec.matches[0]' },
      ],
    })
    expect(verdict([limited], inRange, { method: 'POST' }).outcome).toBe('deny')
    expect(verdict([limited], inRange, { target: '/books/../vault' }).outcome).toBe('refuse')
    for (const name of ['none', 'odd'])
      expect(verdict([access(kind, 'in', [range], { matches: matches(name) })], inRange).outcome).toBe('deny')
  })

  it('gives a port to the first object by name, and to none where the feature is off', () => {
    const first = access(kind, 'a', [{ kind: 'IPRange', name: '198.51.100.0/24' }])
    expect(verdict([first, plain], inRange).outcome).toBe('deny')
    expect(verdict([first, plain], elsewhere).outcome).toBe('allow')
    const featureFlags = { [`enable${kind}Policy`]: false }
    expect(verdict([shop('MeshConfig', 'm', { featureFlags }), plain], inRange).outcome).toBe('deny')
    const permissive = shop('MeshConfig', 'm', { traffic: { enablePermissiveTrafficPolicyMode: true } })
    expect(verdict([permissive], inRange).outcome).toBe('deny')
  })
})

describe('the oracle on objects of both kinds', () => {
  it('adds them up', () => {
    const other = { kind: 'IPRange', name: '198.51.100.0/24' }
    const both = [access('IngressBackend', 'i', [range]), access('AccessControl', 'a', [other])]
    for (const caller of [inRange, elsewhere]) expect(verdict(both, caller).outcome).toBe('allow')
    const matched = [
      access('IngressBackend', 'i', [range], { matches: matches('reading') }),
      access('AccessControl', 'a', [range]),
    ]
    expect(verdict(matched, inRange, { method: 'POST' }).outcome).toBe('allow')
  })

  it('lets the IngressBackend hold for callers on whom they differ', () => {
    const grpc = access('AccessControl', 'a', [range, { kind: 'IPRange', name: '198.51.100.0/24' }], {
      protocol: 'grpc',
    })
    const limited = access('IngressBackend', 'i', [range], { matches: matches('reading') })
    expect(verdict([limited, grpc], inRange, { method: 'POST' }).outcome).toBe('deny')
    expect(verdict([limited, grpc], elsewhere, { method: 'POST' }).outcome).toBe('allow')
  })

  it('never lets one caller request what another may', () => {
    const mine = { principals: ['gateway.example.com'] }
    const theirs = { principals: ['other.example.com'] }
    const other = { kind: 'AuthenticatedPrincipal', name: 'other.example.com' }
    const terms = { protocol: 'https', matches: matches('reading') }
    const objects = [
      access('IngressBackend', 'i', [principal], terms),
      access('AccessControl', 'a', [other], { protocol: 'https' }),
    ]
    expect(verdict(objects, mine).outcome).toBe('allow')
    expect(verdict(objects, mine, { method: 'POST' }).outcome).toBe('deny')
    expect(verdict(objects, theirs).outcome).toBe('deny')
    const alike = [access('IngressBackend', 'i', [principal], terms), access('AccessControl', 'a', [other], terms)]
    expect(verdict(alike, theirs).outcome).toBe('allow')
  })
})
