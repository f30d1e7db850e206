/** One request line and its headers, as somebody who looks for a way past a rule would write them. */
export interface Variant {
  readonly method: string
  /** Bytes of the target; characters above 255 do not occur. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
}

/** What rules of the corpus let in: reading below /open, and /guarded with a token. Everything else is closed, /secret above all. */
const allowed = ['/open', '/open/a', '/guarded']

/** Ways to write a slash, or something that a careless reader takes for one. */
const slashes = [
  '/',
  '//',
  '///',
  '%2f',
  '%2F',
  '%252f',
  '%5c',
  '%5C',
  '\\',
  '\\\\',
  '/./',
  '/.//',
  '%c0%af',
  '%e0%80%af',
  '\xc0\xaf',
  ';/',
  '%3b/',
  '/%00/',
  '/%20/',
  '%u2215',
  '\u00af',
]

/** Ways to write the folder above. */
const parents = [
  '..',
  '.%2e',
  '%2e.',
  '%2e%2e',
  '%2E%2E',
  '%2e%2E',
  '..;',
  '..;x=1',
  '%2e%2e;',
  '..%3b',
  '..%00',
  '.%00.',
  '...',
  '....',
  '%252e%252e',
  '%c0%ae%c0%ae',
  '\xc0\xae\xc0\xae',
  '%u002e%u002e',
  '..%20',
  '..%09',
  '.;/.',
  '.',
  '%2e',
  '.;',
  '. .',
  '%ff..',
  '..%ff',
]

/** Ways to end a path early, or to make it look like another. */
const endings = [
  '',
  '?',
  '?/../secret',
  '#',
  '#/secret',
  '%23',
  '%3f',
  ';',
  ';a=b',
  ';/../secret',
  '%3b',
  '.',
  '%20',
  '%09',
  '%0a',
  '%0d',
  '%00',
  '%0d%0aX:%20y',
  '%',
  '%4',
  '%zz',
  '%ff',
  '%80',
  '%c3',
  '%c3%a9',
  '\xc3\xa9',
  '\xff',
  '\x7f',
  '\x01',
  '~',
  '*',
  '|',
  '"',
  '<>',
  '^',
  '`',
  '{}',
  '[',
  ']',
  '@',
  ':80',
  '%ef%bf%bd',
  '%ed%a0%80',
  '%f4%90%80%80',
  '%e2%80%8b',
  '&',
  '=',
  '+',
  ',',
  '!',
  "'",
  '()',
  '$',
]

/** Ways to write a word. */
const words = [
  'secret',
  'Secret',
  'SECRET',
  '%73ecret',
  's%65cret',
  '%73%65%63%72%65%74',
  'secre%74',
  '%2573ecret',
  'secret/',
  'secret//',
  'secret/.',
  'secret/..',
  'secret%2f',
  'secret;a',
  'secret?',
  'secret#',
]

const targets: readonly string[] = [
  ...allowed,
  ...slashes.flatMap((slash) => [`/open${slash}secret`, `${slash}secret`, `/open/a${slash}..${slash}..${slash}secret`]),
  // Where an escaped slash is kept, rules look at it as a slash too.
  ...slashes.flatMap((slash) => [
    `/open/a${slash}b`,
    `/open/..${slash}secret`,
    `/open${slash}..${slash}secret`,
    `/open/a${slash}%2e%2e${slash}..;x/secret`,
    `/open/a${slash}`,
    `/open/a${slash}b?c=/d/`,
    `/single/a${slash}b`,
    `/single/a${slash}b?/c`,
    `/single/${slash}`,
    `/single${slash}a`,
    `/text/a${slash}b`,
  ]),
  ...parents.flatMap((parent) => [
    `/open/${parent}/secret`,
    `/open/${parent}`,
    `/open/a/${parent}/${parent}/secret`,
    `/${parent}/open`,
    `/open/${parent}//secret`,
  ]),
  ...endings.flatMap((ending) => [`/secret${ending}`, `/open${ending}`, `/open/a${ending}`]),
  ...words.map((word) => `/${word}`),
  ...words.map((word) => `/open/../${word}`),
  // Overlong: on both sides of what sidecars take for a request's head.
  ...[1000, 8000, 30_000, 59_000, 61_000, 70_000].flatMap((length) => [
    `/open/${'a'.repeat(length)}`,
    `/${'a/'.repeat(length / 2)}secret`,
    `/open/${'../'.repeat(length / 3)}secret`,
    `/secret?${'a'.repeat(length)}`,
  ]),
  // Other forms of a request's target.
  '*',
  '',
  '//',
  '///',
  '//?a',
  'open',
  'secret',
  'open/../secret',
  '//store.shop:8080/secret',
  'http://other.shop/open',
  '/http://store.shop:8080/open',
]

const odd = (headers: readonly (readonly [string, string])[], target = '/guarded', method = 'GET'): Variant => ({
  method,
  target,
  headers,
})

/** The token, as often as it has values. */
const tokens = (...values: readonly string[]): Variant => odd(values.map((value) => ['x-token', value] as const))

/** Ways to have a header, and not to. */
const headerVariants: readonly Variant[] = [
  odd([]),
  tokens('letmein'),
  odd([['X-TOKEN', 'letmein']]),
  tokens('LETMEIN'),
  tokens(''),
  tokens(' letmein'),
  tokens('letmein '),
  tokens('\tletmein'),
  tokens('letmein\t'),
  tokens('let mein'),
  tokens('"letmein"'),
  tokens('letmein, letmein'),
  tokens('letmein,'),
  tokens('letmein', 'letmein'),
  tokens('letmein', 'no'),
  tokens('no', 'letmein'),
  tokens('', 'letmein'),
  tokens('letmein\xff'),
  tokens('letmein\xc3\xa9'),
  tokens('letmein\x00'),
  odd([['x_token', 'letmein']]),
  odd([['x-token ', 'letmein']]),
  odd([[' x-token', 'letmein']]),
  odd([['x-tokens', 'letmein']]),
  tokens('letmein\r\n folded'),
  tokens(`letmein${'n'.repeat(5000)}`),
  odd([
    ['connection', 'x-token'],
    ['x-token', 'letmein'],
  ]),
  odd(
    [
      ['x-original-url', '/open'],
      ['x-rewrite-url', '/open'],
    ],
    '/secret',
  ),
  odd([['x-envoy-original-path', '/open']], '/secret'),
  odd([['x-http-method-override', 'GET']], '/open/a', 'POST'),
  odd([['x-forwarded-client-cert', 'URI=spiffe://cluster.local/client/shop']], '/secret'),
  odd([['serviceidentity', 'client.shop']], '/secret'),
  ...['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'get', 'Get', 'GETT', 'GE', 'FOO'].map((method) =>
    odd([], '/open/a', method),
  ),
]

/** Everything that is tried, each once. */
export const pathCorpus: readonly Variant[] = [
  ...[...new Set(targets)].map((target) => ({ method: 'GET', target, headers: [] })),
  ...headerVariants,
]
