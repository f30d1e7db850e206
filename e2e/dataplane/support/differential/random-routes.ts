import fc from 'fast-check'

import { anyConnectionRoutes, anyRoutedConnection, greeter } from './random-connection-routes.js'
import {
  type Attempt,
  type Policy,
  anyOpening,
  anyPortRoute,
  anyRouteGroup,
  anySplit,
  anyTarget,
  withoutDoubles,
} from './random-policy.js'
import { anyRoutedCall, grpcRoute } from './random-call-routes.js'
import { GATEWAY_API, namespace, numbered } from './random-names.js'
import { backend, headerCondition, headers, mirror, ofBackend, parent } from './random-route-parts.js'
import { HTTP_PORT, clients, document, services } from './topology.js'

/*
 * Random routes of the Gateway API over a mesh that stays, beside TrafficTargets and TrafficSplits. Names and paths come from small pools, so that several routes are
 * attached to one Service, match the same requests and contradict each other.
 */

/** Selects workloads that do not exist. */
const hollow = document('v1', 'Service', 'a/hollow', {
  spec: { selector: { app: 'hollow' }, ports: [{ name: 'http', port: HTTP_PORT, appProtocol: 'http' }] },
})

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
const filter = fc.oneof(
  { weight: 8, arbitrary: ofBackend },
  { weight: 6, arbitrary: urlRewrite.map((rewrite) => ({ type: 'URLRewrite', urlRewrite: rewrite })) },
  { weight: 6, arbitrary: requestRedirect.map((redirect) => ({ type: 'RequestRedirect', requestRedirect: redirect })) },
  { weight: 1, arbitrary: fc.constantFrom({ type: 'ExtensionRef' }, { type: 'URLRewrite' }) },
)

const retry = fc.record(
  {
    codes: fc.constantFrom([500, 503, 429], [429, 500, 503], [500], [429, 503], []),
    attempts: fc.constantFrom(1, 2, 3),
    backoff: fc.constant('1ms'),
  },
  { requiredKeys: ['codes', 'backoff'] },
)

const rule = fc
  .record(
    {
      matches: fc.array(match, { minLength: 1, maxLength: 3 }),
      filters: fc.oneof(
        { weight: 6, arbitrary: fc.tuple(filter) },
        { weight: 6, arbitrary: fc.tuple(mirror) },
        { weight: 2, arbitrary: fc.tuple(filter, mirror) },
        { weight: 2, arbitrary: fc.tuple(mirror, mirror) },
      ),
      backendRefs: fc.array(backend, { minLength: 1, maxLength: 3 }),
      retry,
    },
    { requiredKeys: ['backendRefs', 'retry'] },
  )
  .map(({ backendRefs, ...others }) => {
    const redirects = others.filters?.some(({ type }) => type === 'RequestRedirect') ?? false
    // Most redirects say nothing else.
    return redirects && backendRefs.length < 3 ? others : { ...others, backendRefs }
  })

const httpRoute = numbered(
  `${GATEWAY_API}/v1`,
  'HTTPRoute',
  { name: 'r', last: 6 },
  fc.record({
    parentRefs: fc.array(parent, { minLength: 1, maxLength: 2 }),
    rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
  }),
)

const grant = fc
  .tuple(
    fc.constantFrom('gateway.networking.k8s.io/v1', 'policy.openservicemesh.io/v1alpha1'),
    namespace,
    fc.constantFrom('a', 'b', 'a', 'b', 'c'),
    fc.constantFrom('HTTPRoute', 'HTTPRoute', 'HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute'),
    fc.constantFrom(undefined, undefined, 'web', 'store'),
  )
  .map(([apiVersion, home, from, kind, name]) =>
    document(apiVersion, 'ReferenceGrant', `${home}/of-${from}-${kind.toLowerCase()}`, {
      spec: {
        from: [{ group: GATEWAY_API, kind, namespace: from }],
        to: [{ group: '', kind: 'Service', ...(name === undefined ? {} : { name }) }],
      },
    }),
  )

/** Gives routes an age, of few. */
function aged(ages: readonly string[]): (text: string, index: number) => string {
  return (text, index) => {
    const creationTimestamp = ages[index % Math.max(1, ages.length)]
    if (creationTimestamp === undefined) return text
    const { metadata, ...others } = JSON.parse(text) as { readonly metadata: object }
    return `${JSON.stringify({ ...others, metadata: { ...metadata, creationTimestamp } })}\n`
  }
}

/** Policies with routes of the Gateway API. Half of them have no GRPCRoutes, which hold before HTTPRoutes. All routes have an age, or none has. */
export const anyRoutedPolicy: fc.Arbitrary<Policy> = fc.record({
  permissive: fc.boolean(),
  plaintext: fc.constantFrom([], [], ['a'], ['*']),
  keepsEscapedSlashes: fc.boolean(),
  documents: fc
    .tuple(
      fc.array(httpRoute, { minLength: 3, maxLength: 8 }),
      fc.oneof(fc.constant([]), fc.array(grpcRoute, { minLength: 1, maxLength: 4 })),
      anyConnectionRoutes,
      fc.constantFrom<(readonly string[])[]>(
        [],
        ['2026-01-03T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'],
      ),
      fc.array(grant, { minLength: 1, maxLength: 6 }),
      fc.array(anyOpening, { minLength: 4, maxLength: 8 }),
      fc.array(fc.oneof(anyTarget, anySplit, anyRouteGroup, anyPortRoute), { maxLength: 6 }),
    )
    .map(([requests, calls, connections, ages, grants, openings, others]) =>
      withoutDoubles([
        hollow,
        greeter,
        ...[...requests, ...calls, ...connections].map(aged(ages)),
        ...grants,
        ...openings.flat(),
        ...others,
      ]),
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
/** Requests to services that routes are attached to. Some ask for the status of the answer. */
const anyRoutedRequest: fc.Arbitrary<Attempt> = fc
  .record({
    from: fc.constantFrom(...clients),
    to: fc.constantFrom('a/web', 'a/web', 'a/both', 'a/both', 'b/store', ...services),
    method: fc.constantFrom('GET', 'GET', 'POST', 'DELETE'),
    target,
    headers,
    answer: fc.constantFrom(undefined, '200', '500', '500', '503', '429'),
  })
  .map(({ from, to, method, answer, ...request }) => ({
    kind: 'http' as const,
    from,
    to,
    request: { method, ...request, headers: [...request.headers, ...asking(answer)] },
  }))

function asking(answer: string | undefined): readonly (readonly [string, string])[] {
  return answer === undefined ? [] : [['x-answer', answer]]
}

/** What clients try at services that routes are attached to. */
export const anyRoutedAttempt: fc.Arbitrary<Attempt> = fc.oneof(
  { weight: 6, arbitrary: anyRoutedRequest },
  { weight: 3, arbitrary: anyRoutedCall },
  { weight: 3, arbitrary: anyRoutedConnection },
)
