import fc from 'fast-check'

import { type Qualified, ref } from '../yaml.js'
import { namespace, numbered, routeGroups } from './random-names.js'
import { type RawRequest } from './raw-request.js'
import { HTTP_PORT, TCP_PORT, clients, document, servers, services } from './topology.js'

/*
 * Random policies over a mesh that stays. Names come from small pools, so that objects often refer to each other, change each other's meaning, and
 * contradict each other.
 */

const accountOf = (name: Qualified) => ({ kind: 'ServiceAccount', ...ref(name) })
const accounts = [...clients, ...servers].map(accountOf)

const pathRegex = fc.constantFrom(
  '/a',
  '/a/.*',
  '/[ab]/c',
  '/a|/b',
  '.*',
  '/A',
  '(?i)/a',
  '/a/[^/]*',
  '/%41',
  '/a;x',
  '/.*c',
  '/',
  '/a/?',
  '/caf(é|%C3%A9)',
  '/a.b',
  String.raw`/a\.b`,
  '/(a/)*b',
  '/a{2}',
  '',
  '(',
)
const headerRegex = fc.constantFrom('root', 'r.*', '.*', 'root|rita', '', '[a-z]+', 'a,b', '.*,.*')

const httpMatch = fc.record(
  {
    name: fc.constantFrom('m0', 'm1', 'm2'),
    pathRegex,
    methods: fc.constantFrom(['GET'], ['*'], ['POST', 'GET'], ['DELETE'], []),
    headers: fc.oneof(
      headerRegex.map((pattern) => [{ 'x-user': pattern }]),
      fc.tuple(headerRegex, headerRegex).map(([one, two]) => [{ 'X-User': one }, { 'x-role': two }]),
      headerRegex.map((pattern) => [{ 'x-user': 'nobody' }, { 'X-USER': pattern }]),
      headerRegex.map((pattern) => [{ x_user: pattern }]),
      headerRegex.map((pattern) => [{ serviceidentity: pattern }]),
    ),
  },
  { requiredKeys: ['name'] },
)

/** HTTPRouteGroups that the others refer to. */
export const anyRouteGroup = routeGroups(httpMatch, 4)

/** TCPRoutes of SMI, for TrafficTargets. */
export const anyPortRoute = numbered(
  'specs.smi-spec.io/v1alpha4',
  'TCPRoute',
  { name: 't', last: 1 },
  fc.constantFrom<object[]>(
    {},
    { matches: { ports: [] } },
    { matches: { ports: [HTTP_PORT] } },
    { matches: { ports: [TCP_PORT, 1] } },
  ),
)

const rule = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      {
        kind: fc.constant('HTTPRouteGroup'),
        name: fc.constantFrom('g0', 'g1', 'g2'),
        matches: fc.subarray(['m0', 'm1', 'm2', 'm3']),
      },
      { requiredKeys: ['kind', 'name'] },
    ),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('TCPRoute'), name: fc.constantFrom('t0', 't1', 't2') }) },
)

/** TrafficTargets between accounts of the mesh. */
export const anyTarget = fc
  .tuple(
    fc.nat(7),
    fc.constantFrom(...accounts),
    // Now and then in the wrong place.
    fc.option(namespace, { freq: 8 }),
    fc.array(rule, { minLength: 1, maxLength: 2 }),
    fc.uniqueArray(fc.constantFrom(...accounts), { minLength: 1, maxLength: 3 }),
  )
  .map(([number, destination, elsewhere, rules, sources]) =>
    document('access.smi-spec.io/v1alpha3', 'TrafficTarget', `${elsewhere ?? destination.namespace}/tt${number}`, {
      spec: { destination, rules, sources },
    }),
  )

/** Objects that fit together, so that much of what they are about is let in. */
export const anyOpening = fc
  .tuple(
    fc.nat(5),
    fc.constantFrom(...servers),
    fc.subarray([...clients], { minLength: 1 }),
    fc.oneof(pathRegex, fc.constantFrom('.*', '/.*', '/a/.*', '/[^/]*')),
  )
  .map(([number, server, callers, path]) => {
    const { namespace } = ref(server)
    const own = `open${number}`
    const sources = callers.map(accountOf)
    const rules = [{ kind: 'HTTPRouteGroup', name: own, matches: ['m0'] }]
    return [
      document('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', `${namespace}/${own}`, {
        spec: { matches: [{ name: 'm0', pathRegex: path, methods: ['*'] }] },
      }),
      document('access.smi-spec.io/v1alpha3', 'TrafficTarget', `${namespace}/${own}`, {
        spec: { destination: accountOf(server), rules, sources },
      }),
    ]
  })

const backend = fc.record({ service: fc.constantFrom('web', 'twin', 'both', 'store', 'none'), weight: fc.nat(3) })
/** TrafficSplits between services of the mesh. */
export const anySplit = numbered(
  'split.smi-spec.io/v1alpha4',
  'TrafficSplit',
  { name: 'sp', last: 2 },
  fc.record(
    {
      service: fc.constantFrom('web', 'twin', 'both', 'store', 'both.a', 'web.b', 'both.a.svc.cluster.local'),
      backends: fc.array(backend, { minLength: 1, maxLength: 3 }),
      matches: fc.constantFrom([{ kind: 'HTTPRouteGroup', name: 'g0' }], [{ kind: 'HTTPRouteGroup', name: 'g2' }]),
    },
    { requiredKeys: ['service', 'backends'] },
  ),
)

/** A policy over the mesh that stays. */
export interface Policy {
  readonly permissive: boolean
  /** Namespaces in which a missing sidecar means plaintext. */
  readonly plaintext: readonly string[]
  /** `traffic.escapedSlashes` is `Keep`. */
  readonly keepsEscapedSlashes: boolean
  readonly documents: readonly string[]
}

/** Documents of a policy, no two of one name. */
export const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  permissive: fc.nat(5).map((number) => number === 0),
  plaintext: fc.constantFrom([], ['a'], ['*'], ['b']),
  keepsEscapedSlashes: fc.boolean(),
  documents: fc
    .tuple(
      fc.array(anyRouteGroup, { minLength: 2, maxLength: 4 }),
      fc.array(anyPortRoute, { maxLength: 3 }),
      fc.array(anyTarget, { minLength: 2, maxLength: 8 }),
      fc.array(anySplit, { maxLength: 3 }),
      fc.array(anyOpening, { maxLength: 3 }).map((openings) => openings.flat()),
    )
    .map((lists) => withoutDoubles(lists.flat())),
})

/** Policies that sidecars of a class can carry out: class pipy reaches no endpoints without a sidecar, and says so. */
export function policiesOf(sidecarClass: string): typeof anyPolicy {
  return sidecarClass === 'pipy' ? anyPolicy.map((policy) => ({ ...policy, plaintext: [] })) : anyPolicy
}

/** The last document of each name. */
export function withoutDoubles(documents: readonly string[]): readonly string[] {
  const byName = new Map(
    documents.map((text) => {
      const { apiVersion, kind, metadata } = JSON.parse(text) as {
        readonly apiVersion: string
        readonly kind: string
        readonly metadata: { readonly namespace: string; readonly name: string }
      }
      return [`${apiVersion} ${kind} ${metadata.namespace}/${metadata.name}`, text] as const
    }),
  )
  return [...byName.values()]
}

/** One thing that a client tries. */
export type Attempt = { readonly from: Qualified; readonly to: Qualified } & (
  | {
      readonly kind: 'tcp'
      /** Of a connection with TLS; empty: TLS without a name. */
      readonly serverName?: string
    }
  | { readonly kind: 'http'; readonly request: RawRequest }
)

const segment = fc.constantFrom(
  'a',
  'b',
  'c',
  'A',
  'aa',
  'a.b',
  'axb',
  '%41',
  '%61',
  'a;x',
  '',
  '..',
  '.',
  '%2e%2e',
  '..;',
  '%2f',
  'a%2Fc',
  'a%5cb',
  'caf%C3%A9',
  '%ff',
  '%',
  '*',
  '~',
  'a=b&c',
)
const target = fc
  .tuple(fc.array(segment, { maxLength: 4 }), fc.constantFrom('', '', '', '?', '?q=/../', '?%2f', '/'))
  .map(([segments, end]) => `/${segments.join('/')}${end}`)
const userValue = fc.constantFrom('root', 'rita', 'bob', '', 'Root', 'root ', 'a,b')
const headers = fc.oneof(
  fc.constant([]),
  userValue.map((value) => [['x-user', value] as const]),
  fc.tuple(userValue, userValue).map(([one, two]) => [['x-user', one] as const, ['X-Role', two] as const]),
  fc.tuple(userValue, userValue).map(([one, two]) => [['x-user', one] as const, ['X-User', two] as const]),
  fc.tuple(userValue, userValue).map(([one, two]) => [['x-user', one] as const, ['X_User', two] as const]),
  fc.tuple(userValue, userValue).map(([one, two]) => [['x_user', one] as const, ['serviceidentity', two] as const]),
)

export const anyAttempt: fc.Arbitrary<Attempt> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant('http' as const),
      from: fc.constantFrom(...clients),
      to: fc.constantFrom(...services),
      request: fc.record({ method: fc.constantFrom('GET', 'GET', 'POST', 'DELETE'), target, headers }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('tcp' as const),
      from: fc.constantFrom(...clients),
      to: fc.constantFrom(...services),
    }),
  },
)
