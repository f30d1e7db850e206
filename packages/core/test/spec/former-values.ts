import fc from 'fast-check'

/** Values that fields of the definitions of OSM 1.2 and osm-edge 1.3 take. */
export const text = fc.oneof(
  fc.constantFrom('', '*', 'web', 'http-httpbin', 'Bookstore_v1', 'a.b.svc.cluster.local'),
  fc.string(),
)
export const integer = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
export const count = fc.integer({ min: 0, max: 2 ** 31 - 1 })
export const positive = fc.integer({ min: 1, max: 2 ** 31 - 1 })
export const duration = fc.constantFrom('1s', '500ms', '1m30s', '0s', '5h')
export const several = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> => fc.array(item, { maxLength: 3 })
export const some = <T extends object>(
  members: { readonly [K in keyof T]: fc.Arbitrary<T[K]> },
  ...required: readonly (keyof T)[]
) => fc.record(members, { requiredKeys: [...required] as never[] })
export const account = fc.record({ kind: fc.constant('ServiceAccount'), name: text, namespace: text })
export const matches = several(fc.record({ apiGroup: text, kind: text, name: text }))
