import { describe, expect, it } from '@jest/globals'

import type { OracleObject } from './objects.js'
import { Oracle, type Verdict } from './oracle.js'

const object = (kind: string, name: string, spec: unknown, labels = {}): OracleObject => {
  const [namespace = '', own = ''] = name.split('/')
  return { kind, metadata: { namespace, name: own, labels }, spec }
}
const server = (name: string): readonly OracleObject[] => {
  const [, own = ''] = name.split('/')
  return [
    object('Workload', name, { serviceAccountName: own, ports: [{ name: 'http', port: 8080 }] }, { app: own }),
    object('Service', name, {
      selector: { app: own },
      ports: [
        { name: 'http', port: 8080 },
        { name: 'tcp', port: 9000 },
      ],
    }),
  ]
}
const parentOf = (name: string) => {
  const [namespace, own] = name.split('/')
  return { group: '', kind: 'Service', namespace, name: own }
}
const route = (name: string, parent: string, rules: readonly unknown[]): OracleObject =>
  object('HTTPRoute', name, { parentRefs: [parentOf(parent)], rules })
const to = (name: string, more: object = {}) => ({ name, port: 8080, ...more })
const permissive = object('MeshConfig', 'osm-system/config', { traffic: { enablePermissiveTrafficPolicyMode: true } })
const mesh = [...server('shop/store'), ...server('shop/next'), ...server('depot/stock')]

function ask(
  objects: readonly OracleObject[],
  { target = '/', method = 'GET', headers = {}, from = 'shop/client', service = 'shop/store' } = {},
): Verdict {
  const ref = (text: string) => {
    const [namespace = '', name = ''] = text.split('/')
    return { namespace, name }
  }
  return new Oracle([...mesh, ...objects]).decide({
    from: ref(from),
    to: ref(service),
    port: 8080,
    request: { method, target, headers },
  })
}

/** Accounts that a request may end up at, and what may be answered before. */
function ends({ destinations, answers = [] }: Verdict): readonly (string | number)[] {
  return [...destinations.map(({ account }) => account.name), ...answers.map(({ status }) => status)]
}

describe('the oracle on HTTPRoutes', () => {
  const prefix = (value: string) => [{ path: { type: 'PathPrefix', value } }]

  it('takes the closest match of all routes', () => {
    const objects = [
      permissive,
      route('shop/a', 'shop/store', [
        { backendRefs: [to('store')] },
        { matches: prefix('/a'), backendRefs: [to('next')] },
        { matches: [{ path: { type: 'Exact', value: '/a/b' } }] },
      ]),
      route('shop/b', 'shop/store', [{ matches: prefix('/a/c'), backendRefs: [to('store')] }]),
      route('shop/c', 'shop/store', [
        { matches: [{ ...prefix('/a')[0], method: 'POST' }], backendRefs: [to('store')] },
      ]),
    ]
    const endOf = (target: string, method = 'GET') => ends(ask(objects, { target, method }))
    expect(endOf('/')).toEqual(['store'])
    expect(endOf('/a')).toEqual(['next'])
    expect(endOf('/ab')).toEqual(['store'])
    expect(endOf('/a/b')).toEqual([500])
    expect(endOf('/a/c/d')).toEqual(['store'])
    expect(endOf('/a', 'POST')).toEqual(['store'])
  })

  it('answers 404 to what no rule matches, and looks at no split', () => {
    const split = object('TrafficSplit', 'shop/s', { service: 'store', backends: [{ service: 'next', weight: 1 }] })
    const objects = [
      permissive,
      split,
      route('shop/a', 'shop/store', [{ matches: prefix('/a'), backendRefs: [to('store')] }]),
    ]
    expect(ask(objects)).toMatchObject({ outcome: 'answer', answers: [{ status: 404 }] })
    expect(ends(ask(objects, { target: '/a' }))).toEqual(['store'])
    expect(ends(ask([permissive, split]))).toEqual(['next'])
  })

  it('answers shares of what cannot be used, and no others', () => {
    const share = (backendRefs: readonly unknown[], more: readonly OracleObject[] = []) =>
      ends(ask([permissive, ...more, route('shop/a', 'shop/store', [{ backendRefs }])]))
    const empty = object('Service', 'shop/empty', { selector: { app: 'none' }, ports: [{ port: 8080 }] })
    expect(share([to('store'), to('missing')])).toEqual(['store', 500])
    expect(share([to('store'), to('missing', { weight: 0 })])).toEqual(['store'])
    expect(share([to('store', { port: 9000 })])).toEqual([500])
    expect(share([to('store'), to('empty')], [empty])).toEqual(['store', 503])
    expect(share([to('missing'), to('empty')], [empty])).toEqual([500, 500])
    expect(share([to('store', { weight: 0 })])).toEqual([500])
  })

  it('needs the consent of another namespace, which either kind gives', () => {
    const objects = [
      permissive,
      route('shop/a', 'shop/store', [{ backendRefs: [to('stock', { namespace: 'depot' })] }]),
    ]
    const grant = (apiVersion: string, kind = 'HTTPRoute'): OracleObject => ({
      apiVersion,
      ...object('ReferenceGrant', 'depot/shop', {
        from: [{ group: 'gateway.networking.k8s.io', kind, namespace: 'shop' }],
        to: [{ group: '', kind: 'Service' }],
      }),
    })
    expect(ends(ask(objects))).toEqual([500])
    expect(ends(ask([...objects, grant('gateway.networking.k8s.io/v1')]))).toEqual(['stock'])
    expect(ends(ask([...objects, grant('policy.openservicemesh.io/v1alpha1')]))).toEqual(['stock'])
    expect(ends(ask([...objects, grant('gateway.networking.k8s.io/v1', 'GRPCRoute')]))).toEqual([500])
  })

  it('sends no caller of an own service to a parent in another namespace that did not consent', () => {
    const both = object('HTTPRoute', 'shop/both', {
      parentRefs: [parentOf('shop/store'), parentOf('depot/stock')],
      rules: [{ backendRefs: [to('stock', { namespace: 'depot' })] }],
    })
    expect(ends(ask([permissive, both]))).toEqual([500])
    expect(ends(ask([permissive, both], { service: 'depot/stock' }))).toEqual(['stock'])
  })

  it('has routes of the namespace of a caller replace those of the service, for this caller', () => {
    const objects = [
      permissive,
      route('shop/a', 'shop/store', [{ backendRefs: [to('next')] }]),
      route('depot/a', 'shop/store', [{ backendRefs: [to('store', { namespace: 'shop' })] }]),
    ]
    expect(ends(ask(objects, { from: 'depot/client' }))).toEqual(['store'])
    expect(ends(ask(objects))).toEqual(['next'])
  })

  it('redirects, with the port of the scheme or the one that was called', () => {
    const location = (requestRedirect: object, target = '/old/a?b=c') =>
      ask(
        [
          permissive,
          route('shop/a', 'shop/store', [
            { matches: prefix('/old'), filters: [{ type: 'RequestRedirect', requestRedirect }] },
          ]),
        ],
        { target },
      ).answers?.[0]
    const replaced = (replacePrefixMatch: string) => ({ path: { type: 'ReplacePrefixMatch', replacePrefixMatch } })
    expect(location({ statusCode: 301 })).toEqual({ status: 301, location: 'http://store.shop:8080/old/a?b=c' })
    expect(location({ scheme: 'https' })?.location).toBe('https://store.shop:443/old/a?b=c')
    expect(location({ hostname: 'Example.com' })?.location).toBe('http://example.com:8080/old/a?b=c')
    expect(location({ port: 81, ...replaced('/new') })?.location).toBe('http://store.shop:81/new/a?b=c')
    expect(location(replaced('/new'), '/old')?.location).toBe('http://store.shop:8080/new')
    expect(location(replaced('/'), '/old')?.location).toBe('http://store.shop:8080/')
    expect(location({ statusCode: 200 })?.status).toBe(500)
  })

  it('lets in what arrives, as filters have changed it', () => {
    const objects = [
      object('HTTPRouteGroup', 'shop/g', {
        matches: [{ name: 'm', pathRegex: '/new/.*', headers: [{ 'x-user': 'root' }] }],
      }),
      object('TrafficTarget', 'shop/t', {
        destination: { name: 'store' },
        sources: [{ name: 'client' }],
        rules: [{ kind: 'HTTPRouteGroup', name: 'g' }],
      }),
      route('shop/a', 'shop/store', [
        {
          matches: prefix('/old'),
          filters: [
            { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'X-User', value: 'root' }] } },
            {
              type: 'URLRewrite',
              urlRewrite: {
                hostname: 'Api.example.com',
                path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new/' },
              },
            },
          ],
          backendRefs: [to('store')],
        },
        { backendRefs: [to('store')] },
      ]),
    ]
    const changed = ask(objects, { target: '/old/a?q', headers: { 'x-user': 'nobody' } })
    expect(changed).toMatchObject({
      outcome: 'allow',
      destinations: [{ routed: { target: '/new/a?q', host: 'api.example.com', headers: { 'x-user': 'root' } } }],
    })
    expect(ask(objects, { target: '/new/a', headers: { 'x-user': 'nobody' } }).outcome).toBe('deny')
    // What is refused is the path that arrives.
    expect(ask(objects, { target: '/old/../a', headers: { 'x-user': 'root' } }).outcome).toBe('deny')
    expect(ask(objects, { from: 'shop/thief', target: '/old/a' }).outcome).toBe('deny')
  })

  it.each([
    ['an unknown filter', [{ type: 'ExtensionRef' }]],
    [
      'a filter that is there twice',
      [1, 2].map(() => ({ type: 'URLRewrite', urlRewrite: { hostname: 'example.com' } })),
    ],
    ['a host name with a wildcard', [{ type: 'URLRewrite', urlRewrite: { hostname: '*.example.com' } }]],
    ['a redirect with backends', [{ type: 'RequestRedirect', requestRedirect: {} }]],
    ['a header that frames messages', [{ type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['Host'] } }]],
  ])('answers 500 to requests of a rule with %s', (_what, filters) => {
    const rules = [{ matches: prefix('/a'), filters, backendRefs: [to('store')] }, { backendRefs: [to('next')] }]
    const objects = [permissive, route('shop/a', 'shop/store', rules)]
    expect(ends(ask(objects, { target: '/a' }))).toEqual([500])
    expect(ends(ask(objects, { target: '/b' }))).toEqual(['next'])
  })
})
