import fc from 'fast-check'

/** What does not belong where a text, number, list or object is expected. */
const misfit: fc.Arbitrary<unknown> = fc.constantFrom<unknown[]>(
  -1,
  0,
  0.5,
  4_294_967_296,
  '',
  'ten',
  true,
  null,
  [],
  {},
  [1],
  {
    a: 1,
  },
)

/** Mostly what it says; rarely something of another type, or out of range. */
export function mostly<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 60, arbitrary }, { weight: 1, arbitrary: misfit })
}

/** Numbers of things, small and out of proportion. */
export const count: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1, max: 100_000 }),
  fc.constantFrom(1, 4_294_967_295),
)

export const duration: fc.Arbitrary<string> = fc.oneof(
  fc.integer({ min: 1, max: 5000 }).map((milliseconds) => `${milliseconds}ms`),
  fc.constantFrom('1h', '0s', '1ns', '9999999h', 'soon'),
)

/** Expressions, and what looks like one: of other dialects, too large for Envoy, or none at all. */
export const expression: fc.Arbitrary<string> = fc.oneof(
  fc.nat(9999).map((number) => `/r${number}/.*`),
  fc.constantFrom(
    '.*',
    '',
    '(',
    '[',
    '*',
    String.raw`(a)\1`,
    '(?=a)b',
    '(?<!a)b',
    '(?P<n>a)(?P<n>b)',
    'a{1001}',
    '((a{100}){100}){100}',
    '(?i)([a-zà-ÿ]{1,200}/){1,5}',
    String.raw`\p{Greek}{1,500}`,
    String.raw`\C`,
    '\u0000',
    '\ud800',
    'a'.repeat(5000),
    '/%ff/é',
  ),
)

/** Names of headers, and what is none. */
export const headerName: fc.Arbitrary<string> = fc.oneof(
  fc.nat(99).map((number) => `x-h${number}`),
  fc.constantFrom('Host', ':path', ':nonsense', 'a b', 'é', 'x\n', 'connection', 'x-envoy-retry-on', ''),
)

/** Values of headers, and what is none. */
export const headerValue: fc.Arbitrary<string> = fc.oneof(
  fc.nat(999).map(String),
  fc.constantFrom('', '%', '%REQ(x)%', '%NONSENSE%', 'a\r\nb: c', 'é', '\u0000', 'x'.repeat(20_000)),
)

/** Addresses, and what is none. No name that would have to be looked up. */
export const address: fc.Arbitrary<string> = fc.oneof(
  fc.nat(255).map((last) => `192.0.2.${last}`),
  fc.constantFrom('2001:db8::1', '::1', '127.0.0.1', '0.0.0.0', 'a b', '-', '1.2.3', '[::1]', '/run/socket'),
)

/** Ranges, and what is none. */
export const range: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(fc.nat(255), fc.constantFrom(8, 24, 32)).map(([second, bits]) => `10.${second}.0.0/${bits}`),
  fc.constantFrom('0.0.0.0/0', '::/0', '2001:db8::/32', '127.0.0.1', '10.0.0.0/33', '10.0.0/8', 'all'),
)

/** Names outside the mesh, inside it, and what is none. */
export const host: fc.Arbitrary<string> = fc.oneof(
  fc.nat(999).map((number) => `host-${number}.test`),
  fc.nat(99).map((number) => `*.wild-${number}.test`),
  fc.constantFrom(
    '*',
    'web.a',
    'web.a.svc.cluster.local',
    '*.svc.cluster.local',
    '192.0.2.1',
    'a..b',
    '*.*',
    '-',
    'a b',
    'é.test',
  ),
)
