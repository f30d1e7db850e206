import fc from 'fast-check'

import { anyService } from './random-names.js'
import { HTTP_PORT, TCP_PORT } from './topology.js'

/* What random HTTPRoutes and GRPCRoutes are made of. */

export const parent = fc.oneof(
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

export const headerCondition = fc.record(
  {
    type: fc.constantFrom('Exact', 'RegularExpression'),
    name: fc.constantFrom('x-user', 'X-User', 'x-role', 'serviceidentity', 'x user'),
    value: fc.constantFrom('root', 'r.*', '[a-z]+', '', 'root,rita'),
  },
  { requiredKeys: ['name', 'value'] },
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
export const ofBackend = fc.oneof(
  headerModifier.map((requestHeaderModifier) => ({ type: 'RequestHeaderModifier', requestHeaderModifier })),
  headerModifier.map((responseHeaderModifier) => ({ type: 'ResponseHeaderModifier', responseHeaderModifier })),
)
/** Where copies go: mostly to what can be used. */
export const mirror = fc
  .tuple(
    anyService('a/web', 'a/twin', 'a/both', 'b/store', 'a/bare'),
    fc.constantFrom<object[]>(
      {},
      {},
      {},
      { percent: 100 },
      { percent: 0 },
      { percent: 50 },
      { fraction: { numerator: 2, denominator: 2 } },
      { fraction: { numerator: 100 } },
      { fraction: { numerator: 3, denominator: 2 } },
      { percent: 100, fraction: { numerator: 1 } },
    ),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant({}) },
      {
        weight: 1,
        arbitrary: fc.constantFrom<object[]>({ name: 'none' }, { port: TCP_PORT }, { namespace: 'a', name: 'hollow' }),
      },
    ),
  )
  .map(([service, share, more]) => ({
    type: 'RequestMirror',
    requestMirror: { backendRef: { ...service, port: HTTP_PORT, ...more }, ...share },
  }))

export const backend = fc
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

const value = fc.constantFrom('root', 'rita', '', 'Root')
export const headers = fc.oneof(
  fc.constant([]),
  value.map((user) => [['x-user', user] as const]),
  fc.tuple(value, value).map(([user, role]) => [['X-User', user] as const, ['x-role', role] as const]),
  fc.tuple(value, value).map(([one, two]) => [['x-user', one] as const, ['x-user', two] as const]),
  value.map((user) => [['serviceidentity', user] as const]),
)
