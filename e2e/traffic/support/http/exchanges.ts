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

/** What every client does with every server, as far as both can. */
export const httpExchanges: readonly HttpExchange[] = [
  {
    name: 'GET',
    method: 'GET',
    path: '/echo?x=1&y=%20',
    headers: [['X-Test', 'One, Two']],
    needs: ['echo', 'headers'],
  },
  { name: 'plain GET', method: 'GET', path: '/text', needs: [] },
  { name: 'HEAD', method: 'HEAD', path: '/text', needs: ['methods'] },
  { name: 'DELETE', method: 'DELETE', path: '/echo', needs: ['echo', 'methods'] },
  { name: 'OPTIONS', method: 'OPTIONS', path: '/echo', needs: ['echo', 'methods'] },
  {
    name: 'POST',
    method: 'POST',
    path: '/echo',
    body: { bytes: 1000, framing: 'length' },
    needs: ['request body', 'echo'],
  },
  {
    name: 'POST chunked',
    method: 'POST',
    path: '/echo',
    body: { bytes: 100_000, framing: 'chunked' },
    needs: ['request body', 'echo', 'chunked request'],
  },
  {
    name: 'POST empty',
    method: 'POST',
    path: '/echo',
    body: { bytes: 0, framing: 'length' },
    needs: ['request body', 'echo'],
  },
  {
    name: 'PUT 1 MiB',
    method: 'PUT',
    path: '/echo',
    body: { bytes: KIB * KIB, framing: 'length' },
    needs: ['request body', 'echo', 'methods'],
  },
  {
    name: 'POST expecting 100',
    method: 'POST',
    path: '/echo',
    body: { bytes: 2000, framing: 'length' },
    expectsContinue: true,
    needs: ['request body', 'echo', 'expect'],
  },
  { name: 'status 204', method: 'GET', path: '/status/204', needs: ['errors'] },
  {
    name: 'status 304',
    method: 'GET',
    path: '/status/304',
    headers: [['If-None-Match', '"corpus"']],
    needs: ['conditional', 'headers', 'errors'],
  },
  { name: 'status 404', method: 'GET', path: '/status/404', needs: ['errors'] },
  { name: 'status 500', method: 'GET', path: '/status/500', needs: ['errors'] },
  { name: 'status 503', method: 'GET', path: '/status/503', needs: ['errors'] },
  { name: 'redirect', method: 'GET', path: '/redirect', needs: ['errors'] },
  { name: 'gzip', method: 'GET', path: '/gzip', headers: [['Accept-Encoding', 'gzip']], needs: ['gzip', 'headers'] },
  { name: 'range', method: 'GET', path: '/bytes', headers: [['Range', 'bytes=100-199']], needs: ['range', 'headers'] },
  {
    name: 'cookies',
    method: 'GET',
    path: '/cookies',
    headers: [['Cookie', 'a=1; b="two"; c=3']],
    needs: ['cookies', 'headers'],
  },
  {
    name: '60 KB of headers',
    method: 'GET',
    path: '/echo',
    headers: many(8, 7_600),
    needs: ['echo', 'large headers', 'headers'],
  },
  {
    name: '100 headers',
    method: 'GET',
    path: '/echo',
    headers: many(90, 8),
    needs: ['echo', 'many headers', 'headers'],
  },
  { name: '40 KB of headers in the answer', method: 'GET', path: '/large-headers', needs: ['large headers'] },
  { name: 'long URL', method: 'GET', path: `/echo/${'long/'.repeat(1_200)}`, needs: ['echo', 'long URL'] },
  { name: 'escaped slash', method: 'GET', path: '/echo/group%2Fproject', needs: ['echo', 'escaped slash'] },
  { name: 'unusual path', method: 'GET', path: "/echo/a:b@c;d=e,f/!$&'()*+~%C3%A4?q=a/b?c", needs: ['echo'] },
  { name: 'by address', method: 'GET', path: '/echo', byAddress: true, needs: ['echo', 'by address'] },
  { name: 'foreign host', method: 'GET', path: '/echo', host: 'www.example.com', needs: ['echo', 'foreign host'] },
  { name: 'kept alive', method: 'GET', path: '/text', times: 3, needs: ['reuse'] },
  {
    name: 'connection: close',
    method: 'GET',
    path: '/echo',
    headers: [['Connection', 'close']],
    needs: ['closing', 'echo', 'headers'],
  },
  { name: 'server closes', method: 'GET', path: '/close', needs: ['closing'] },
  { name: 'server-sent events', method: 'GET', path: '/events', needs: ['events'] },
  { name: 'trailers', method: 'GET', path: '/trailers', headers: [['TE', 'trailers']], needs: ['trailers', 'headers'] },
  { name: 'slow answer', method: 'GET', path: '/slow', needs: ['slow'] },
  {
    name: 'early answer',
    method: 'POST',
    path: '/early',
    body: { bytes: 200_000, framing: 'length' },
    holdsBody: true,
    needs: ['request body', 'early'],
  },
]
