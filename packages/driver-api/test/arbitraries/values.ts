import fc from 'fast-check'

import type { Principal, ServiceIdentity } from '../../src/index.js'
import { type Compare, compareText, type JsonValue, type PartHash, type Protocol } from '../../src/policy/index.js'

/** The trust domain that arbitrary identities belong to. */
export const TRUST_DOMAIN = 'cluster.local'

/** A list without duplicates in the order that the contract promises. */
export function sortedList<T>(
  item: fc.Arbitrary<T>,
  compare: Compare<T>,
  limits: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<readonly T[]> {
  return fc
    .uniqueArray(item, { maxLength: 3, ...limits, comparator: (a, b) => compare(a, b) === 0 })
    .map((items) => items.sort(compare))
}

/** Orders by one text member. */
export function by<K extends string>(key: K): Compare<Readonly<Record<K, string>>> {
  return (a, b) => compareText(a[key], b[key])
}

export const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,6}[a-z0-9])?$/)
export const port = fc.integer({ min: 1, max: 65_535 })
export const count = fc.integer({ min: 0, max: 1_000 })
export const positiveCount = fc.integer({ min: 1, max: 1_000 })
export const duration = fc.integer({ min: 1, max: 600_000 })
export const fraction = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100)
export const hash = fc.stringMatching(/^[A-Za-z0-9_-]{32}$/).map((text) => text as PartHash)
const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => bytes.join('.'))
const ipv6 = fc.tuple(fc.nat(0xffff), fc.nat(0xffff)).map(([a, b]) => `fd00::${a.toString(16)}:${b.toString(16)}`)
export const ip = fc.oneof(ipv4, ipv6)
export const cidr = fc.oneof(
  fc.tuple(ipv4, fc.nat(32)).map(([address, bits]) => `${address}/${bits}`),
  fc.tuple(ipv6, fc.nat(128)).map(([address, bits]) => `${address}/${bits}`),
)
export const host = fc.array(name, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'))
export const socketAddress = fc.record({ address: ip, port })
export const hostAddress = fc.record({ host: fc.oneof(host, ip), port })
export const protocol = fc.constantFrom<Protocol>('http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first')
export const httpProtocol = fc.constantFrom('http' as const, 'http2' as const, 'grpc' as const)
export const tcpProtocol = fc.constantFrom('https' as const, 'tcp' as const, 'tcp-server-first' as const)
export const locality = fc.record({ region: fc.string(), zone: fc.string(), subZone: fc.string() })
export const meshService = fc.record({
  namespace: name,
  name: fc.oneof(
    name,
    fc.tuple(name, name).map((labels) => labels.join('.')),
  ),
})

/** Service accounts hold dots now and then, since their names may. */
export const serviceAccount = fc.record({
  name: fc.array(name, { minLength: 1, maxLength: 2 }).map((labels) => labels.join('.')),
  namespace: name,
})
export const identity = serviceAccount.map((account) => `${account.name}.${account.namespace}` as ServiceIdentity)
export const principal = identity.map((text) => `${text}.${TRUST_DOMAIN}` as Principal)

export const credentialRef = fc.oneof(
  fc.constant({ kind: 'service' } as const),
  fc.record({ kind: fc.constant('egress' as const), name }),
  fc.record({ kind: fc.constant('secret' as const), namespace: name, name }),
)

export const jsonValue: fc.Arbitrary<JsonValue> = fc.jsonValue().map((value) => value as JsonValue)

const httpHeader = fc.record({
  name: fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,9}$/),
  value: fc.stringMatching(/^[ -~]{0,12}$/),
})
export const headers = fc.array(httpHeader, { maxLength: 3 })
