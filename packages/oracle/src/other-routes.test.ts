import { describe, expect, it } from '@jest/globals'

import type { OracleObject } from './objects.js'
import { Oracle, type Verdict } from './oracle.js'

const GATEWAY = 'gateway.networking.k8s.io/v1'

const object = (kind: string, name: string, spec: unknown, more: Partial<OracleObject> = {}): OracleObject => {
  const [namespace = '', own = ''] = name.split('/')
  return { kind, ...more, metadata: { namespace, name: own, ...more.metadata }, spec }
}
const server = (name: string): readonly OracleObject[] => {
  const [namespace = '', own = ''] = name.split('/')
  const labels = { app: own }
  return [
    object('Workload', name, { serviceAccountName: own }, { metadata: { namespace, name: own, labels } }),
    object('Service', name, {
      selector: labels,
      ports: [
        { name: 'http', port: 8080 },
        { name: 'tcp', port: 9000 },
        { name: 'tcp-server-first', port: 9001 },
      ],
    }),
  ]
}
const parentOf = (name: string, port?: number) => {
  const [namespace, own] = name.split('/')
  return { group: '', kind: 'Service', namespace, name: own, ...(port === undefined ? {} : { port }) }
}
const route = (kind: string, name: string, parent: string, spec: object, creationTimestamp = ''): OracleObject => {
  const [namespace = '', own = ''] = name.split('/')
  const metadata = { namespace, name: own, creationTimestamp }
  return object(kind, name, { parentRefs: [parentOf(parent)], ...spec }, { apiVersion: GATEWAY, metadata })
}
const permissive = object('MeshConfig', 'osm-system/config', { traffic: { enablePermissiveTrafficPolicyMode: true } })
const mesh = [permissive, ...server('shop/store'), ...server('shop/next'), ...server('depot/stock')]
const ref = (text: string) => {
  const [namespace = '', name = ''] = text.split('/')
  return { namespace, name }
}

/** What becomes of a call, or of a connection. */
function ask(
  objects: readonly OracleObject[],
  { path = '', headers = {}, from = 'shop/client', port = 9000, serverName = '' } = {},
): Verdict {
  return new Oracle([...mesh, ...objects]).decide({
    from: ref(from),
    to: ref('shop/store'),
    ...(path === ''
      ? { port, ...(serverName === '' ? {} : { serverName }) }
      : { port: 8080, request: { method: 'POST', target: path, headers } }),
  })
}

function ends({ destinations, answers = [] }: Verdict): readonly (string | number)[] {
  return [...destinations.map(({ account }) => account.name), ...answers.map(({ status }) => status)]
}

describe('the oracle on GRPCRoutes', () => {
  const to = (name: string) => [{ name, port: 8080 }]
  const call = (method: object, more: object = {}) => [{ method, ...more }]
  const calls = (rules: readonly unknown[], name = 'shop/calls') => route('GRPCRoute', name, 'shop/store', { rules })

  it('takes the longest service, then the longest method, then the most headers', () => {
    const objects = [
      calls([
        { matches: call({ method: 'Get' }), backendRefs: to('store') },
        { matches: call({ service: 'shop.Books' }), backendRefs: to('next') },
        { matches: call({ service: 'shop.Books', method: 'Get' }) },
        {
          matches: call({ service: 'shop.Books', method: 'Get' }, { headers: [{ name: 'x-user', value: 'root' }] }),
          backendRefs: to('store'),
        },
        {
          matches: call({ type: 'RegularExpression', service: 'shop[.](Carts|Baskets)' }),
          backendRefs: to('next'),
        },
      ]),
    ]
    const endOf = (path: string, headers = {}) => ends(ask(objects, { path, headers }))
    expect(endOf('/shop.Other/Get')).toEqual(['store'])
    expect(endOf('/shop.Books/List')).toEqual(['next'])
    expect(endOf('/shop.Books/Get')).toEqual([503])
    expect(endOf('/shop.Books/Get', { 'x-user': 'root' })).toEqual(['store'])
    expect(endOf('/shop.Carts/Get')).toEqual(['next'])
    expect(endOf('/shop.CartsX/List')).toEqual([404])
  })

  it('holds before HTTPRoutes of its namespace, and not before routes of consumers', () => {
    const objects = [
      calls([{ backendRefs: to('store') }]),
      route('HTTPRoute', 'shop/a', 'shop/store', { rules: [{ backendRefs: to('next') }] }),
      route('HTTPRoute', 'depot/a', 'shop/store', { rules: [{ backendRefs: to('stock') }] }),
    ]
    expect(ends(ask(objects, { path: '/s.S/M' }))).toEqual(['store'])
    expect(ends(ask(objects, { path: '/s.S/M', from: 'depot/client' }))).toEqual(['stock'])
  })

  it('has no filters but changes of headers and copies', () => {
    const filtered = (type: string) => [calls([{ filters: [{ type, urlRewrite: {} }], backendRefs: to('store') }])]
    expect(ends(ask(filtered('URLRewrite'), { path: '/s.S/M' }))).toEqual([503])
    expect(ends(ask(filtered('ExtensionRef'), { path: '/s.S/M' }))).toEqual([503])
  })
})

describe('the oracle on copies and repetitions', () => {
  const requests = (rule: object) => [
    route('HTTPRoute', 'shop/a', 'shop/store', { rules: [{ backendRefs: [{ name: 'store', port: 8080 }], ...rule }] }),
  ]
  const mirror = (name: string, more: object = {}) => ({
    type: 'RequestMirror',
    requestMirror: { backendRef: { name, port: 8080 }, ...more },
  })
  const copies = (...filters: readonly object[]) =>
    ask(requests({ filters }), { path: '/' }).copies?.map(({ ofAll, destinations }) => [
      ofAll,
      ...destinations.map(({ account }) => account.name),
    ])

  it('says where copies go, and of which share', () => {
    expect(copies(mirror('next'))).toEqual([[true, 'next']])
    expect(copies(mirror('next'), mirror('store', { percent: 20 }))).toEqual([
      [true, 'next'],
      [false, 'store'],
    ])
    expect(copies(mirror('next', { fraction: { numerator: 5, denominator: 5 } }))).toEqual([[true, 'next']])
    expect(copies(mirror('next', { percent: 0 }))).toEqual([])
    expect(copies(mirror('none'))).toEqual([])
  })

  it('answers 500 where the share that is copied is said twice, or more than all', () => {
    const unusable = (more: object) => ends(ask(requests({ filters: [mirror('next', more)] }), { path: '/' }))
    expect(unusable({ percent: 20, fraction: { numerator: 1 } })).toEqual([500])
    expect(unusable({ fraction: { numerator: 101 } })).toEqual([500])
    expect(unusable({ fraction: { numerator: 100 } })).toEqual(['store'])
  })

  it('says after which statuses a request is sent again', () => {
    expect(ask(requests({ retry: { codes: [500] } }), { path: '/' }).retry).toEqual({ codes: [500], attempts: 1 })
    expect(ask(requests({ retry: { codes: [500], attempts: 3 } }), { path: '/' }).retry?.attempts).toBe(3)
    expect(ask(requests({}), { path: '/' }).retry).toBeUndefined()
  })
})

describe('the oracle on TCPRoutes and TLSRoutes', () => {
  const backend = (name: string, more: object = {}) => ({ name, port: 9000, ...more })
  const rules = (...backendRefs: readonly object[]) => ({ rules: [{ backendRefs }] })
  const tcp = (name: string, spec: object, at = '') => route('TCPRoute', name, 'shop/store', spec, at)
  const tls = (name: string, hostnames: readonly string[], to: string, at = '') =>
    route('TLSRoute', name, 'shop/store', { hostnames, ...rules(backend(to)) }, at)

  it('shares out connections, and closes the shares of what cannot be used', () => {
    const endOf = (...backends: readonly object[]) => ends(ask([tcp('shop/a', rules(...backends))]))
    expect(endOf(backend('store'), backend('next'))).toEqual(['store', 'next'])
    expect(endOf(backend('store'), backend('none'))).toEqual(['store', 'closed'])
    expect(endOf(backend('next', { port: 8080 }))).toEqual(['closed'])
    expect(endOf(backend('stock', { namespace: 'depot' }))).toEqual(['closed'])
    expect(endOf(backend('next', { weight: 0 }))).toEqual(['closed'])
    expect(endOf(backend('next', { port: 9001 }))).toEqual(['next'])
  })

  it('takes the oldest TCPRoute, and the first by name where ages are unknown', () => {
    const old = '2026-01-01T00:00:00Z'
    const young = '2026-01-02T00:00:00Z'
    expect(ends(ask([tcp('shop/a', rules(backend('store'))), tcp('shop/b', rules(backend('next')))]))).toEqual([
      'store',
    ])
    expect(
      ends(ask([tcp('shop/a', rules(backend('store')), young), tcp('shop/b', rules(backend('next')), old)])),
    ).toEqual(['next'])
  })

  it('takes the exact server name, then the longest wildcard, and closes the rest', () => {
    const objects = [
      tls('shop/a', ['a.example', '*.example'], 'store'),
      tls('shop/b', ['*.b.example', 'a.example'], 'next'),
      tcp('shop/c', rules(backend('next'))),
    ]
    const endOf = (serverName: string) => ends(ask(objects, { serverName }))
    expect(endOf('a.example')).toEqual(['store'])
    expect(endOf('A.Example')).toEqual(['store'])
    expect(endOf('x.b.example')).toEqual(['next'])
    expect(endOf('b.example')).toEqual(['store'])
    expect(endOf('example')).toEqual(['closed'])
    expect(endOf('')).toEqual(['closed'])
    // Where servers speak first there are no TLSRoutes.
    expect(ends(ask(objects, { serverName: 'a.example', port: 9001 }))).toEqual(['next'])
  })

  it('tells them from the TCPRoute of SMI, and needs a grant for the kind', () => {
    const far = tcp('shop/a', rules(backend('stock', { namespace: 'depot' })))
    const grant = (kind: string) =>
      object('ReferenceGrant', 'depot/shop', {
        from: [{ group: 'gateway.networking.k8s.io', kind, namespace: 'shop' }],
        to: [{ group: '', kind: 'Service' }],
      })
    expect(ends(ask([far, grant('HTTPRoute')]))).toEqual(['closed'])
    expect(ends(ask([far, grant('TCPRoute')]))).toEqual(['stock'])
    const smi = object(
      'TCPRoute',
      'shop/a',
      { matches: { ports: [9000] } },
      { apiVersion: 'specs.smi-spec.io/v1alpha4' },
    )
    expect(ends(ask([smi]))).toEqual(['store'])
  })
})
