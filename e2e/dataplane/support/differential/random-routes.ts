import fc from 'fast-check'

import type { Policy } from './question.js'
import { type Attempt, anyOpening, anyRouteGroup, anySplit, anyTarget, withoutDoubles } from './random-policy.js'
import { HTTP_PORT, TCP_PORT, clients, document, services } from './topology.js'

/*
 * Random HTTPRoutes over a mesh that stays, beside TrafficTargets and TrafficSplits. Names and paths come from small pools, so that several routes are
 * attached to one Service, match the same requests and contradict each other.
 */

const GATEWAY_API = 'gateway.networking.k8s.io'
const namespace = fc.constantFrom('a', 'b')

/** Selects workloads that do not exist. */
const hollow = document('v1', 'Service', 'a/hollow', {
  spec: { selector: { app: 'hollow' }, ports: [{ name: 'http', port: HTTP_PORT, appProtocol: 'http' }] },
})

/** Services by namespace and name: mostly those of the mesh. */
const anyService = (...names: readonly string[]) =>
  fc.constantFrom(...names).map((text) => {
    const [home = '', name = ''] = text.split('/')
    return { namespace: home, name }
  })

const parent = fc.oneof(
  {
    weight: 15,
    arbitrary: fc
      .tuple(
        anyService('a/web', 'a/web', 'a/twin', 'a/both', 'a/both', 'b/store', 'b/store', 'a/words', 'a/bare'),
        fc.constantFrom({}, {}, { port: HTTP_PORT }, { sectionName: 'http' }),
      )
      .map(([service, at]) => ({ group: '', kind: 'Service', ...service, ...at })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object[]>(
      { name: 'web' },
      { group: '', kind: 'Service', name: 'web', port: TCP_PORT },
      { group: '', kind: 'Service', name: 'web', port: HTTP_PORT, sectionName: 'tcp' },
      { group: '', kind: 'Service', name: 'legacy', namespace: 'a' },
      { group: '', kind: 'Service', name: 'none' },
    ),
  },
)

const path = fc.oneof(
  fc.record({ type: fc.constant('Exact'), value: fc.constantFrom('/a', '/a/b', '/', '/a/', '/A') }),
  fc.record(
    {
      type: fc.constant('PathPrefix'),
      value: fc.constantFrom('/', '/a', '/a', '/a/', '/a/b', '/b', '/b', '/a.b', 'a'),
    },
    { requiredKeys: ['value'] },
  ),
  fc.record({
    type: fc.constant('RegularExpression'),
    value: fc.constantFrom('/a', '/a.*', '/[ab]/.*', '/(a|b)', '(?i)/a', '(', '.*b'),
  }),
)
const headerCondition = fc.record(
  {
    type: fc.constantFrom('Exact', 'RegularExpression'),
    name: fc.constantFrom('x-user', 'X-User', 'x-role', 'serviceidentity', 'x user'),
    value: fc.constantFrom('root', 'r.*', '[a-z]+', '', 'root,rita'),
  },
  { requiredKeys: ['name', 'value'] },
)
const queryCondition = fc.record(
  {
    type: fc.constantFrom('Exact', 'RegularExpression'),
    name: fc.constantFrom('q', 'q', 'r', 'Q'),
    value: fc.constantFrom('1', '[12]', '', '.*'),
  },
  { requiredKeys: ['name', 'value'] },
)
const match = fc.record(
  {
    path,
    method: fc.constantFrom('GET', 'POST'),
    headers: fc.array(headerCondition, { minLength: 1, maxLength: 2 }),
    queryParams: fc.array(queryCondition, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: [] },
)

const headerValue = fc.constantFrom('root', 'rita', '100%', '')
const one = (name: string) => headerValue.map((value) => [{ name, value }])
const headerModifier = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record(
      { set: one('x-user'), add: one('X-Role'), remove: fc.constantFrom(['x-other'], ['x-added']) },
      { requiredKeys: [] },
    ),
  },
  {
    weight: 4,
    arbitrary: fc.record({ add: one('x-added'), remove: fc.constant(['X-User']) }, { requiredKeys: ['add'] }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('host', 'x-envoy-retry-on', 'serviceidentity', 'x role').map((name) => ({
      set: [{ name, value: '1' }],
    })),
  },
  { weight: 1, arbitrary: fc.record({ set: one('x-role'), add: one('X-Role') }) },
)
const pathModifier = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('/new', '/a', '/').map((path) => ({ type: 'ReplaceFullPath', replaceFullPath: path })),
  },
  {
    weight: 8,
    arbitrary: fc
      .constantFrom('/new', '/', '', '/a/', '/b')
      .map((prefix) => ({ type: 'ReplacePrefixMatch', replacePrefixMatch: prefix })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('new', '/a?b').map((path) => ({ type: 'ReplaceFullPath', replaceFullPath: path })),
  },
)
const requestRedirect = fc.record(
  {
    scheme: fc.constantFrom('http', 'https'),
    hostname: fc.constantFrom('example.com', 'example.com', 'Shop.example', 'Shop.example', '*.example.com'),
    port: fc.constantFrom(80, 443, 8443),
    statusCode: fc.constantFrom(301, 302, 303, 307, 308, 301, 302, 303, 307, 308, 300),
    path: pathModifier,
  },
  { requiredKeys: [] },
)
const urlRewrite = fc.record(
  {
    hostname: fc.constantFrom('api.example.com', 'api.example.com', 'api.example.com', '*.example.com'),
    path: pathModifier,
  },
  { requiredKeys: [] },
)
const ofBackend = fc.oneof(
  headerModifier.map((requestHeaderModifier) => ({ type: 'RequestHeaderModifier', requestHeaderModifier })),
  headerModifier.map((responseHeaderModifier) => ({ type: 'ResponseHeaderModifier', responseHeaderModifier })),
)
const filter = fc.oneof(
  { weight: 8, arbitrary: ofBackend },
  { weight: 6, arbitrary: urlRewrite.map((rewrite) => ({ type: 'URLRewrite', urlRewrite: rewrite })) },
  { weight: 3, arbitrary: requestRedirect.map((redirect) => ({ type: 'RequestRedirect', requestRedirect: redirect })) },
  { weight: 1, arbitrary: fc.constantFrom({ type: 'ExtensionRef' }, { type: 'URLRewrite' }) },
)

const backend = fc
  .tuple(
    anyService(
      'a/web',
      'a/web',
      'a/twin',
      'a/twin',
      'a/both',
      'b/store',
      'b/store',
      'b/store',
      'a/words',
      'a/bare',
      'a/hollow',
    ),
    fc.constantFrom<object[]>({}, {}, {}, { weight: 1 }, { weight: 3 }, { weight: 0 }),
    fc.option(
      fc.oneof(
        { weight: 3, arbitrary: fc.array(ofBackend, { minLength: 1, maxLength: 2 }).map((filters) => ({ filters })) },
        {
          weight: 2,
          arbitrary: fc.constantFrom<object[]>(
            { namespace: 'a', name: 'hollow' },
            { namespace: 'a', name: 'hollow' },
            { namespace: 'a', name: 'none' },
            { namespace: 'a', name: 'legacy' },
            { group: 'example.com' },
            { port: TCP_PORT },
            { port: 81 },
          ),
        },
      ),
      { freq: 2, nil: {} },
    ),
  )
  .map(([service, weight, more]) => ({ ...service, port: HTTP_PORT, ...weight, ...more }))

const rule = fc
  .record(
    {
      matches: fc.array(match, { minLength: 1, maxLength: 3 }),
      filters: fc.array(filter, { minLength: 1, maxLength: 1 }),
      backendRefs: fc.array(backend, { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: ['backendRefs'] },
  )
  .map(({ backendRefs, ...others }) => {
    const redirects = others.filters?.some(({ type }) => type === 'RequestRedirect') ?? false
    // Most redirects say nothing else.
    return redirects && backendRefs.length < 3 ? others : { ...others, backendRefs }
  })

const httpRoute = fc
  .tuple(
    namespace,
    fc.nat(6),
    fc.array(parent, { minLength: 1, maxLength: 2 }),
    fc.array(rule, { minLength: 1, maxLength: 4 }),
  )
  .map(([home, number, parentRefs, rules]) =>
    document(`${GATEWAY_API}/v1`, 'HTTPRoute', `${home}/r${number}`, { spec: { parentRefs, rules } }),
  )

const grant = fc
  .tuple(
    fc.constantFrom('gateway.networking.k8s.io/v1', 'policy.openservicemesh.io/v1alpha1'),
    namespace,
    fc.constantFrom('a', 'b', 'a', 'b', 'c'),
    fc.constantFrom('HTTPRoute', 'HTTPRoute', 'HTTPRoute', 'GRPCRoute'),
    fc.constantFrom(undefined, undefined, 'web', 'store'),
  )
  .map(([apiVersion, home, from, kind, name]) =>
    document(apiVersion, 'ReferenceGrant', `${home}/of-${from}`, {
      spec: {
        from: [{ group: GATEWAY_API, kind, namespace: from }],
        to: [{ group: '', kind: 'Service', ...(name === undefined ? {} : { name }) }],
      },
    }),
  )

/** Policies with HTTPRoutes. */
export const anyRoutedPolicy: fc.Arbitrary<Policy> = fc.record({
  permissive: fc.boolean(),
  plaintext: fc.constantFrom([], [], ['a'], ['*']),
  keepsEscapedSlashes: fc.boolean(),
  documents: fc
    .tuple(
      fc.array(httpRoute, { minLength: 3, maxLength: 8 }),
      fc.array(grant, { minLength: 1, maxLength: 5 }),
      fc.array(anyOpening, { minLength: 4, maxLength: 8 }),
      fc.array(fc.oneof(anyTarget, anySplit, anyRouteGroup), { maxLength: 6 }),
    )
    .map(([routes, grants, openings, others]) =>
      withoutDoubles([hollow, ...routes, ...grants, ...openings.flat(), ...others]),
    ),
})

const target = fc
  .tuple(
    fc.constantFrom(
      '/',
      '/a',
      '/a',
      '/a/',
      '/a/b',
      '/a/b/c',
      '/ab',
      '/b',
      '/b/c',
      '/A',
      '/a.b',
      '//a//b',
      '/a%2Fb',
      '/a/../b',
    ),
    fc.constantFrom('', '', '', '?', '?q=1', '?q=2&q=1', '?q', '?r=1&q=', '?Q=1', '?q=%31', '?q=1=2'),
  )
  .map(([where, query]) => `${where}${query}`)
const value = fc.constantFrom('root', 'rita', '', 'Root')
const headers = fc.oneof(
  fc.constant([]),
  value.map((user) => [['x-user', user] as const]),
  fc.tuple(value, value).map(([user, role]) => [['X-User', user] as const, ['x-role', role] as const]),
  fc.tuple(value, value).map(([one, two]) => [['x-user', one] as const, ['x-user', two] as const]),
  value.map((user) => [['serviceidentity', user] as const]),
)

/** Requests to services that routes are attached to. */
export const anyRoutedAttempt: fc.Arbitrary<Attempt> = fc.record({
  kind: fc.constant('http' as const),
  from: fc.constantFrom(...clients),
  to: fc.constantFrom('a/web', 'a/web', 'a/both', 'a/both', 'b/store', ...services),
  request: fc.record({ method: fc.constantFrom('GET', 'GET', 'POST', 'DELETE'), target, headers }),
})
