import type { Json } from '../types.js'

type Fields = Readonly<Record<string, Json>>
type HeaderList = readonly (readonly [name: string, value: string])[]

/** Their values are the moment's or the mesh's own. */
const anyValue = new Set([
  'date',
  'x-request-id',
  'traceparent',
  'x-b3-traceid',
  'x-b3-spanid',
  'x-envoy-upstream-service-time',
  'expires',
  'last-modified',
  'etag',
])

/**
 * What one request has led to, with headers by name. Servers that answer with what they have seen of a request are read too: the length of
 * such a body says nothing of its own.
 */
export function canonicalHttp(seen: Json): Json {
  // Whether a connection is kept is seen by requests that follow one another; the first has that of another exchange, or none.
  if (Array.isArray(seen))
    return (seen as readonly Json[]).map((each, i) => (i === 0 ? canonicalHttp(each) : canonicalAnswer(each)))
  if (!isFields(seen)) return seen
  const { reused: _, connections: __, ...rest } = seen
  return canonicalAnswer(rest)
}

function canonicalAnswer(seen: Json): Json {
  if (!isFields(seen)) return seen
  const { headers = [], trailers = [], text, bytes = 0, sha256 = '', ...rest } = seen
  const byName = headersByName(headers as unknown as HeaderList)
  const request = typeof text === 'string' ? parseSeen(text) : undefined
  return {
    ...rest,
    headers: request === undefined ? byName : withoutLength(byName, bytes),
    trailers: headersByName(trailers as unknown as HeaderList),
    ...(request === undefined ? { bytes, sha256 } : { request }),
  }
}

/** The request as a server has seen it, if the text is one. */
function parseSeen(text: string): Json | undefined {
  if (!text.startsWith('{"seen":')) return undefined
  const { seen } = JSON.parse(text) as { readonly seen: Fields }
  return { ...seen, headers: headersByName((seen.headers ?? []) as unknown as HeaderList) }
}

function headersByName(list: HeaderList): Readonly<Record<string, Json>> {
  const names = [...new Set(list.map(([name]) => name.toLowerCase()))].sort()
  return Object.fromEntries(
    names.map((name) => {
      const own = list.filter(([each]) => each.toLowerCase() === name)
      const values = own.map(([, value]) => (anyValue.has(name) ? '(any)' : value))
      return [name, { spelling: own[0]?.[0] ?? '', values }]
    }),
  )
}

function withoutLength(headers: Readonly<Record<string, Json>>, bytes: Json): Readonly<Record<string, Json>> {
  const length = headers['content-length']
  if (!isFields(length ?? null)) return headers
  const isRight = JSON.stringify((length as Fields).values) === JSON.stringify([JSON.stringify(bytes)])
  return {
    ...headers,
    'content-length': { ...(length as Fields), values: [isRight ? '(bytes of the body)' : 'wrong'] },
  }
}

function isFields(value: Json): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
