import type { Exchange } from '../types.js'

/** What carries the pages of a browser. */
export type PageProtocol = 'pages, HTTP/1.1' | 'pages, HTTP/2 over TLS'

const common = [
  'page',
  'page by address',
  'form',
  'form with a file',
  'upload with progress',
  'streamed download',
  'download aborted',
  'server-sent events',
  'cookies',
  'redirect',
  'gzip',
  'kept in the cache',
  'beacon',
  'another origin, preflight',
  'another origin, not allowed',
  '50 at once',
]
/** Browsers stream uploads over HTTP/2 only. */
const own: Readonly<Record<PageProtocol, string>> = {
  'pages, HTTP/1.1': 'WebSocket',
  'pages, HTTP/2 over TLS': 'streamed upload',
}

/** What pages do in a browser: e2e/traffic/apps/chromium-client.mjs knows how. */
export function pageExchanges(protocol: PageProtocol): readonly Exchange[] {
  return [...common, own[protocol]].map((name) => ({ name }))
}
