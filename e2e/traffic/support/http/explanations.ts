import type { Difference } from '../compare.js'
import type { Explanation, Json, TrafficPair } from '../types.js'

/** The header that a difference is about, on the side of the answer or of the request as the server saw it; undefined for other things. */
function headerOf({ path }: Difference): { readonly side: 'answer' | 'request'; readonly name: string } | undefined {
  const [, request, name] = /^(?:\d+\.)?(request\.)?headers\.([^.]+)/.exec(path) ?? []
  if (name === undefined) return undefined
  return { side: request === undefined ? 'answer' : 'request', name }
}

const isAdded = (difference: Difference, side: 'answer' | 'request', names: readonly string[]): boolean => {
  const header = headerOf(difference)
  return difference.beside === undefined && header?.side === side && names.includes(header.name)
}

const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'te', 'http2-settings']

/** What differs through the mesh, and why. */
export const httpExplanations: readonly Explanation[] = [
  {
    id: 'case',
    what: 'header names are in lower case',
    reason:
      'header names are case-insensitive (RFC 9110, section 5.1), and HTTP/2 between sidecars uses only lower case',
    switch: 'none',
    explains: (difference) =>
      /(^|\.)(headers|trailers)\.[^.]+\.spelling$/.test(difference.path) &&
      textOf(difference.beside).toLowerCase() === textOf(difference.through).toLowerCase(),
  },
  {
    id: 'hop',
    what: 'hop-by-hop headers, such as `Connection` and `Keep-Alive`, are not forwarded',
    reason: 'they apply to the connection to the sidecar (RFC 9110, section 7.6.1)',
    switch: 'none',
    explains: (difference) => {
      const header = headerOf(difference)
      return header !== undefined && hopByHop.includes(header.name)
    },
  },
  {
    id: 'added',
    what: 'servers see `x-request-id` and `x-forwarded-proto`, clients see `x-envoy-upstream-service-time`',
    reason: 'traces and logs of sidecars need them',
    switch: 'none',
    explains: (difference) =>
      isAdded(difference, 'request', ['x-request-id', 'x-forwarded-proto']) ||
      isAdded(difference, 'answer', ['x-envoy-upstream-service-time']),
  },
  {
    id: 'expect',
    what: 'in class `pipy`, servers do not see `Expect: 100-continue`',
    reason: 'the sidecar of the client answers it, and forwards the body at once',
    switch: 'none',
    explains: (difference, _pair, sidecarClass) => {
      const header = headerOf(difference)
      return sidecarClass === 'pipy' && header?.side === 'request' && header.name === 'expect'
    },
  },
  {
    id: 'empty',
    what: 'in class `pipy`, an answer with an empty body in chunks has `Content-Length: 0` instead',
    reason: 'Pipy knows the length at the end of the body, and the meaning is the same',
    switch: 'none',
    explains: (difference, pair, sidecarClass) => {
      const header = headerOf(difference)
      if (sidecarClass !== 'pipy' || header?.side !== 'answer') return false
      return header.name === 'content-length'
        ? difference.beside === undefined && /"values":\["0"\]/.test(textOf(difference.through))
        : header.name === 'transfer-encoding' && difference.through === undefined && isEmptyAnswer(difference, pair)
    },
  },
  {
    id: 'slash',
    what: 'a path with an escaped slash, `%2F`, gets 400',
    reason: 'servers disagree on whether it separates segments, so path rules could be bypassed',
    switch: '`traffic.escapedSlashes: Keep` of the MeshConfig',
    explains: ({ exchange }) => exchange === 'escaped slash',
  },
  {
    id: 'length',
    what: 'a request without a body gets `Content-Length: 0`, if its method may have a body',
    reason: 'the meaning is the same (RFC 9110, section 8.6)',
    switch: 'none',
    explains: (difference) =>
      isAdded(difference, 'request', ['content-length']) ||
      (difference.path === 'request.headers.content-length.values.0' && difference.beside === ''),
  },
  {
    id: 'version',
    what: 'HTTP/1.0 on one side is HTTP/1.1 on the other',
    reason:
      'each connection has its own version: servers get HTTP/1.1 from their sidecar, clients the version of their request',
    switch: 'none',
    explains: ({ exchange, path, beside, through }, { protocol, server }) =>
      (/^(?:\d+\.)?(request\.)?version$/.test(path) &&
        [beside, through].every((version) => /^(HTTP\/)?1\.[01]$/.test(textOf(version)))) ||
      // nginx packs answers from HTTP/1.1 on.
      (exchange === 'gzip' && protocol === 'HTTP/1.0' && server.name === 'nginx'),
  },
  {
    id: 'kept',
    what: 'a connection is kept although the server has closed its own',
    reason: 'it ends at the sidecar, which has its own connections to servers',
    switch: 'none',
    explains: ({ path, beside, through }) =>
      (/^(?:\d+\.)?reused$/.test(path) && through === true) ||
      (/^(?:\d+\.)?connections$/.test(path) && Number(through) < Number(beside)) ||
      (path === 'Keep-Alive requests' && Number(through) > Number(beside)),
  },
  {
    id: 'reason',
    what: 'the reason phrase after a status is the standard one',
    reason: 'clients ignore it (RFC 9112, section 4), and HTTP/2 between sidecars has none',
    switch: 'none',
    explains: ({ path }) => /^(?:\d+\.)?reason$/.test(path),
  },
  {
    id: 'chunks',
    what: 'a body of an HTTP/1.0 server that ends with the connection arrives in chunks',
    reason: 'the connection of the client stays open, so the body needs another delimiter',
    switch: 'none',
    explains: (difference, { server }) =>
      isAdded(difference, 'answer', ['transfer-encoding']) && server.name === 'python',
  },
]

// Answers without a body that may come in chunks. A browser sends no cookies before it got some, and cookies are echoed.
function isEmptyAnswer({ exchange }: Difference, { client }: TrafficPair): boolean {
  return exchange === 'redirect' || (exchange === 'cookies' && client.name === 'chromium')
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}
