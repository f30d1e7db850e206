import type { Exchange } from '../types.js'

/** One request of a client, and what it does with its connection. The programs below `apps` read this form. */
export interface HttpExchange extends Exchange {
  readonly method: string
  readonly path: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** That many bytes, by `Content-Length` or in chunks. */
  readonly body?: { readonly bytes: number; readonly framing: 'length' | 'chunked' }
  /** `Host` instead of that of the URL. */
  readonly host?: string
  /** The URL has the address of the Service instead of its name. */
  readonly byAddress?: boolean
  /** `Expect: 100-continue` before the body. */
  readonly expectsContinue?: boolean
  /** Most of the body waits until the answer has come, which is then complete. */
  readonly holdsBody?: boolean
  /** That many times one after another on one connection, if the client keeps it. */
  readonly times?: number
  /** What a client must be able to do. */
  readonly needs: readonly HttpFeature[]
}

/** What some clients or servers can't do, or do in their own way only. */
export type HttpFeature =
  | 'chunked request'
  | 'foreign host'
  | 'expect'
  | 'large headers'
  | 'many headers'
  | 'methods'
  | 'long URL'
  | 'escaped slash'
  | 'echo'
  | 'gzip'
  | 'range'
  | 'cookies'
  | 'events'
  | 'trailers'
  | 'slow'
  | 'early'
  | 'reuse'
  | 'headers'
  | 'conditional'
  | 'errors'
  | 'by address'
  | 'closing'
  | 'request body'

const KIB = 1024
const many = (count: number, bytes: number): readonly (readonly [string, string])[] =>
  Array.from({ length: count }, (_, i) => [`X-Many-${i}`, 'v'.repeat(bytes)])

const bytes = (count: number, framing: 'length' | 'chunked' = 'length') => ({ body: { bytes: count, framing } })

function exchange(
  method: string,
  name: string,
  path: string,
  needs: readonly HttpFeature[],
  more: Omit<HttpExchange, 'name' | 'method' | 'path' | 'needs'> = {},
): HttpExchange {
  return { name, method, path, needs, ...more }
}

/** With one header. */
function got(
  name: string,
  path: string,
  header: readonly [string, string],
  needs: readonly HttpFeature[],
): HttpExchange {
  return exchange('GET', name, path, [...needs, 'headers'], { headers: [header] })
}

function posted(name: string, body: object, needs: readonly HttpFeature[] = []): HttpExchange {
  return exchange('POST', name, '/echo', ['request body', 'echo', ...needs], body)
}

/** What every client does with every server, as far as both can. */
export const httpExchanges: readonly HttpExchange[] = [
  got('GET', '/echo?x=1&y=%20', ['X-Test', 'One, Two'], ['echo']),
  exchange('GET', 'plain GET', '/text', []),
  exchange('HEAD', 'HEAD', '/text', ['methods']),
  exchange('DELETE', 'DELETE', '/echo', ['echo', 'methods']),
  exchange('OPTIONS', 'OPTIONS', '/echo', ['echo', 'methods']),
  posted('POST', bytes(1000)),
  posted('POST chunked', bytes(100_000, 'chunked'), ['chunked request']),
  posted('POST empty', bytes(0)),
  exchange('PUT', 'PUT 1 MiB', '/echo', ['request body', 'echo', 'methods'], bytes(KIB * KIB)),
  posted('POST expecting 100', { ...bytes(2000), expectsContinue: true }, ['expect']),
  exchange('GET', 'status 204', '/status/204', ['errors']),
  exchange('GET', 'status 304', '/status/304', ['conditional', 'headers', 'errors'], {
    headers: [['If-None-Match', '"corpus"']],
  }),
  exchange('GET', 'status 404', '/status/404', ['errors']),
  exchange('GET', 'status 500', '/status/500', ['errors']),
  exchange('GET', 'status 503', '/status/503', ['errors']),
  exchange('GET', 'redirect', '/redirect', ['errors']),
  got('gzip', '/gzip', ['Accept-Encoding', 'gzip'], ['gzip']),
  got('range', '/bytes', ['Range', 'bytes=100-199'], ['range']),
  got('cookies', '/cookies', ['Cookie', 'a=1; b="two"; c=3'], ['cookies']),
  exchange('GET', '60 KB of headers', '/echo', ['echo', 'large headers', 'headers'], { headers: many(8, 7_600) }),
  exchange('GET', '100 headers', '/echo', ['echo', 'many headers', 'headers'], { headers: many(90, 8) }),
  exchange('GET', '40 KB of headers in the answer', '/large-headers', ['large headers']),
  exchange('GET', 'long URL', `/echo/${'long/'.repeat(1_200)}`, ['echo', 'long URL']),
  exchange('GET', 'escaped slash', '/echo/group%2Fproject', ['echo', 'escaped slash']),
  exchange('GET', 'unusual path', "/echo/a:b@c;d=e,f/!$&'()*+~%C3%A4?q=a/b?c", ['echo']),
  exchange('GET', 'by address', '/echo', ['echo', 'by address'], { byAddress: true }),
  exchange('GET', 'foreign host', '/echo', ['echo', 'foreign host'], { host: 'www.example.com' }),
  exchange('GET', 'kept alive', '/text', ['reuse'], { times: 3 }),
  got('connection: close', '/echo', ['Connection', 'close'], ['closing', 'echo']),
  exchange('GET', 'server closes', '/close', ['closing']),
  exchange('GET', 'server-sent events', '/events', ['events']),
  got('trailers', '/trailers', ['TE', 'trailers'], ['trailers']),
  exchange('GET', 'slow answer', '/slow', ['slow']),
  exchange('POST', 'early answer', '/early', ['request body', 'early'], { ...bytes(200_000), holdsBody: true }),
]
