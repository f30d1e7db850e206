/** Bytes of a connection that one reader might understand otherwise than another. */
export interface Http1Case {
  readonly name: string
  readonly bytes: string
  /** Targets of requests that a careful reader may find in it. Nothing else must reach a server. */
  readonly targets: readonly string[]
  /** It is HTTP as RFC 9112 has it: what rules allow of it must be answered. */
  readonly isValid?: true
  /** The connection becomes one of another protocol, if anything. */
  readonly upgrades?: true
}

const HOST = 'Host: store.shop:8080\r\n'
/** What must never be read as its own request. */
const SMUGGLED = `GET /secret HTTP/1.1\r\n${HOST}\r\n`
/** The last request of every connection: that it is answered says that both sides have found the same end of what came before. */
export const LAST = '/open/last'
const lastRequest = `GET ${LAST} HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`

const head = (fields: string, line = 'GET /open/a HTTP/1.1'): string => `${line}\r\n${HOST}${fields}\r\n`
const quoted = (text: string): string => JSON.stringify(text)

/** A case whose first request is for /open/a. */
const odd = (name: string, bytes: string): Http1Case => ({
  name,
  bytes: bytes + lastRequest,
  targets: ['/open/a', LAST],
})
const valid = (name: string, bytes: string, targets: readonly string[] = ['/open/a']): Http1Case => ({
  name,
  bytes: bytes + lastRequest,
  targets: [...targets, LAST],
  isValid: true,
})

const codings = [
  'chunked',
  'Chunked',
  'CHUNKED',
  ' chunked',
  '\tchunked',
  'chunked ',
  'xchunked',
  'chunkedx',
  'chunked, identity',
  'identity, chunked',
  'chunked, chunked',
  'chunked,',
  ',chunked',
  '"chunked"',
  'chunked;q=1',
  'gzip, chunked',
  'identity',
  'gzip',
  '\x0bchunked',
  '\x0cchunked',
  'chunked\x00',
  'c\xfbunked',
  '',
]

/** Two lengths for one body: by coding, and in bytes. */
const codingCases: readonly Http1Case[] = codings.flatMap((coding) => [
  odd(
    `coding ${quoted(coding)} before a length that hides a request`,
    head(`Transfer-Encoding: ${coding}\r\nContent-Length: ${5 + SMUGGLED.length}\r\n`) + `0\r\n\r\n${SMUGGLED}`,
  ),
  odd(
    `coding ${quoted(coding)} behind a length that cuts it short`,
    head(`Content-Length: 5\r\nTransfer-Encoding: ${coding}\r\n`) + '0\r\n\r\n',
  ),
  odd(`coding ${quoted(coding)} alone`, head(`Transfer-Encoding: ${coding}\r\n`) + '0\r\n\r\n'),
])

const spellings = [
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'X: y\r\n Transfer-Encoding: chunked',
  'Transfer-Encoding\r\n : chunked',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding\x00: chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
]
const spellingCases: readonly Http1Case[] = spellings.map((spelling) =>
  odd(
    `a coding written ${quoted(spelling)}`,
    head(`${spelling}\r\nContent-Length: ${5 + SMUGGLED.length}\r\n`) + `0\r\n\r\n${SMUGGLED}`,
  ),
)

const hidden = String(SMUGGLED.length)
const lengths = [
  `+${hidden}`,
  '-0',
  '-1',
  `0x${SMUGGLED.length.toString(16)}`,
  `${hidden}, 0`,
  `0, ${hidden}`,
  `${hidden},${hidden}`,
  `${hidden} 0`,
  `${hidden}.0`,
  `${hidden}e0`,
  `0${hidden}`,
  '18446744073709551616',
  '\xb2',
  '',
  `${hidden}\x0b`,
  `0\r\nContent-Length: ${hidden}`,
  `${hidden}\r\nContent-Length: 0`,
]
const lengthCases: readonly Http1Case[] = [
  ...lengths.map((length) => odd(`a length of ${quoted(length)}`, head(`Content-Length: ${length}\r\n`) + SMUGGLED)),
  ...['Content-Length ', ' Content-Length', 'Content_Length', 'Content-Length\x00'].map((name) =>
    odd(`a length called ${quoted(name)}`, head(`${name}: ${hidden}\r\n`) + SMUGGLED),
  ),
  valid('a body with its length', head(`Content-Length: ${hidden}\r\n`) + SMUGGLED),
]

const chunks = [
  '5;x=y\r\nhello\r\n0\r\n\r\n',
  '5;x="\r\n\r\n"\r\nhello\r\n0\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  ' 5\r\nhello\r\n0\r\n\r\n',
  '+5\r\nhello\r\n0\r\n\r\n',
  '-5\r\nhello\r\n0\r\n\r\n',
  '0x5\r\nhello\r\n0\r\n\r\n',
  '5\nhello\r\n0\r\n\r\n',
  '5\rhello\r\n0\r\n\r\n',
  '5\r\nhello0\r\n\r\n',
  '5\r\nhello\n0\r\n\r\n',
  '5\r\nhell\r\n0\r\n\r\n',
  '5\r\nhelloo\r\n0\r\n\r\n',
  'fffffffffffffffff\r\nhello\r\n0\r\n\r\n',
  '10000000000000005\r\nhello\r\n0\r\n\r\n',
  'g\r\nhello\r\n0\r\n\r\n',
  '\r\n0\r\n\r\n',
  '5\r\nhello\r\n0;x\n\r\n',
  '0\n\n',
  '0\r\nContent-Length: 5\r\n\r\n',
  '0\r\nx-token: letmein\r\n\r\n',
  '0\r\nTransfer-Encoding: chunked\r\n\r\n',
  '0\r\n:path: /secret\r\n\r\n',
  '0\r\n GET /secret HTTP/1.1\r\n\r\n',
]
const chunkCases: readonly Http1Case[] = [
  ...chunks.map((body) => odd(`chunks ${quoted(body)}`, head('Transfer-Encoding: chunked\r\n') + body)),
  valid(
    'a body in chunks',
    head('Transfer-Encoding: chunked\r\n') + `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
  ),
]

const lines = [
  'GET /open/a HTTP/1.1\n',
  'GET /open/a HTTP/1.1\r',
  '\r\nGET /open/a HTTP/1.1\r\n',
  '\r\n\r\nGET /open/a HTTP/1.1\r\n',
  '\nGET /open/a HTTP/1.1\r\n',
  ' GET /open/a HTTP/1.1\r\n',
  '\x00GET /open/a HTTP/1.1\r\n',
  'GET  /open/a HTTP/1.1\r\n',
  'GET\t/open/a HTTP/1.1\r\n',
  'GET /open/a\tHTTP/1.1\r\n',
  'GET /open/a  HTTP/1.1\r\n',
  'GET /open/a HTTP/1.1 \r\n',
  'GET /open/a HTTP/1.1 x\r\n',
  'GET /open/a HTTP/1.2\r\n',
  'GET /open/a HTTP/2.0\r\n',
  'GET /open/a HTTP/0.9\r\n',
  'GET /open/a HTTP/11\r\n',
  'GET /open/a HTTP/01.1\r\n',
  'GET /open/a http/1.1\r\n',
  'GET /open/a HTP/1.1\r\n',
  'GET /open/a HTTPS/1.1\r\n',
  'GET /open/a\r\n',
  'GET /open/a /secret HTTP/1.1\r\n',
  'GET /secret /open/a HTTP/1.1\r\n',
  'G\x00ET /open/a HTTP/1.1\r\n',
  'GET\x0b/open/a HTTP/1.1\r\n',
  'GET /open/a\x00 HTTP/1.1\r\n',
  'GET /open/a\r HTTP/1.1\r\n',
]
const lineCases: readonly Http1Case[] = [
  ...lines.map((line) => odd(`a request line ${quoted(line)}`, `${line}${HOST}\r\n`)),
  // RFC 9112, section 2.2.
  valid('an empty line before the request', `\r\n${head('')}`),
  odd('HTTP/1.0 that asks for another request', head('Connection: keep-alive\r\n', 'GET /open/a HTTP/1.0')),
]

const methods = [
  'CONNECT',
  'TRACE',
  'OPTIONS',
  'PRI',
  'get',
  'GET/',
  'GE(T',
  'GET\xff',
  '',
  'G'.repeat(3000),
  'POST',
  'PUT',
]
const methodCases: readonly Http1Case[] = [
  ...methods.map((method) => odd(`method ${quoted(method.slice(0, 20))}`, head('', `${method} /open/a HTTP/1.1`))),
  ...['store.shop:8080', '127.0.0.1:15000', '/open/a', '*'].map((target) =>
    odd(`CONNECT to ${target}`, head('', `CONNECT ${target} HTTP/1.1`)),
  ),
  odd('the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  valid('PURGE where any method is allowed', head('', 'PURGE /any HTTP/1.1'), ['/any']),
  valid('DELETE where any method is allowed', head('', 'DELETE /any HTTP/1.1'), ['/any']),
]

const hosts = [
  '',
  'Host: \r\n',
  'Host: a\r\nHost: b\r\n',
  'Host: store.shop:8080\r\nHost: store.shop:8080\r\n',
  'Host: store.shop/secret?\r\n',
  'Host: store.shop@other\r\n',
  'Host: store.shop, other\r\n',
  'Host : store.shop\r\n',
  ' Host: store.shop\r\n',
  'Host: store.shop\r\n other\r\n',
  'Host: store.shop:99999\r\n',
  'Host: store.shop:8080:1\r\n',
  'Host: [::1\r\n',
  'Host: store.shop\x00\r\n',
  'Host: st\xffore\r\n',
  'X: y\rHost: store.shop\r\n',
]
const hostCases: readonly Http1Case[] = [
  ...hosts.map((host) => odd(`host ${quoted(host)}`, `GET /open/a HTTP/1.1\r\n${host}\r\n`)),
  ...[
    'http://store.shop:8080/secret',
    'http://other/secret',
    'https://store.shop/secret',
    'ftp://store.shop/secret',
    'store.shop/secret',
  ].map((target): Http1Case => ({
    name: `target ${target}`,
    bytes: `GET ${target} HTTP/1.1\r\n${HOST}\r\n${lastRequest}`,
    targets: [LAST],
  })),
  ...[
    'http://store.shop:8080/open/a',
    'http://other/open/a',
    'http://store.shop:8080@other/open/a',
    'http:///open/a',
  ].map((target) => odd(`target ${target}`, `GET ${target} HTTP/1.1\r\n${HOST}\r\n`)),
]

const upgrade = (name: string, fields: string, target: string): Http1Case => ({
  name,
  bytes: head(fields, `GET ${target} HTTP/1.1`) + SMUGGLED + lastRequest,
  // Anyone who does not change the protocol reads a request behind it, which is refused.
  targets: target === '/secret' ? [LAST] : [target, LAST],
  upgrades: true,
})
const upgradeCases: readonly Http1Case[] = [
  ...['/open/a', '/secret'].flatMap((target) => [
    upgrade(`WebSocket on ${target}`, 'Connection: Upgrade\r\nUpgrade: websocket\r\n', target),
    upgrade(`an unknown protocol on ${target}`, 'Connection: Upgrade\r\nUpgrade: tcp\r\n', target),
    upgrade(
      `HTTP/2 by upgrade on ${target}`,
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
      target,
    ),
    upgrade(`two protocols on ${target}`, 'Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n', target),
  ]),
  odd('WebSocket without a word in Connection', head('Upgrade: websocket\r\n')),
]

const otherCases: readonly Http1Case[] = [
  {
    name: 'a closed path between two open ones',
    bytes: head('') + SMUGGLED + lastRequest,
    targets: ['/open/a', LAST],
  },
  odd('a body that is announced', head('Expect: 100-continue\r\nContent-Length: 1\r\n') + 'x'),
  odd('a body that is announced in another way', head('Expect: 200-ok\r\nContent-Length: 1\r\n') + 'x'),
  odd(
    'a word of Connection that names Content-Length',
    head(`Connection: content-length\r\nContent-Length: ${hidden}\r\n`) + SMUGGLED,
  ),
  odd('a word of Connection that names Host', head('Connection: host\r\n')),
  valid(
    'trailers that are announced',
    head('TE: trailers\r\nTrailer: x-token\r\nTransfer-Encoding: chunked\r\n') + '0\r\nx-token: letmein\r\n\r\n',
  ),
  odd('a header without a name', head(': x\r\n')),
  odd('a header without a colon', head('x-token\r\n')),
  odd('1000 headers', head(Array.from({ length: 1000 }, (_, index) => `x-${index}: y\r\n`).join(''))),
  odd('a header of 100 kilobytes', head(`x-long: ${'a'.repeat(100_000)}\r\n`)),
]

/** Everything that is tried over HTTP/1.1. */
export const http1Cases: readonly Http1Case[] = [
  ...codingCases,
  ...spellingCases,
  ...lengthCases,
  ...chunkCases,
  ...lineCases,
  ...methodCases,
  ...hostCases,
  ...upgradeCases,
  ...otherCases,
]
