import { type Field, Flag, FrameType, fieldBlock, frame, headerFrames } from './raw-http2.js'

/** Frames of a request that one reader might understand otherwise than another. */
export interface Http2Case {
  readonly name: string
  readonly frames: (stream: number) => Uint8Array
  /** Targets that a careful reader may find. Nothing else must reach a server. */
  readonly targets: readonly string[]
  readonly isValid?: true
}

const AUTHORITY = 'store.shop:8080'
const none = Buffer.alloc(0)

/** Fields of a request. */
export function requestFields(
  target: string,
  more: readonly Field[] = [],
  method = 'GET',
  authority = AUTHORITY,
): readonly Field[] {
  return [[':method', method], [':scheme', 'https'], [':path', target], [':authority', authority], ...more]
}

const fields = (name: string, list: readonly Field[], targets = ['/open/a']): Http2Case => ({
  name,
  frames: (stream) => headerFrames(list, stream, true),
  targets,
})
const with_ = (name: string, more: readonly Field[]): Http2Case => fields(name, requestFields('/open/a', more))
const raw = (name: string, frames: (stream: number) => readonly Uint8Array[]): Http2Case => ({
  name,
  frames: (stream) => Buffer.concat(frames(stream)),
  targets: ['/open/a'],
})
/** The head of a request, which is all of it, or has more behind it. */
const whole = (stream: number, target = '/open/a'): Buffer => headerFrames(requestFields(target), stream, true)
const begun = (stream: number, more: readonly Field[] = [], target = '/open/a'): Buffer =>
  headerFrames(requestFields(target, more), stream, false)
/** The head of a request in two frames, with something between them. */
const cut = (stream: number, where: (block: Buffer) => number, between: readonly Uint8Array[] = []): Uint8Array[] => {
  const block = fieldBlock(requestFields('/open/a'))
  const flags = between.length === 0 ? Flag.endStream : 0
  return [
    frame(FrameType.headers, flags, stream, block.subarray(0, where(block))),
    ...between,
    frame(FrameType.continuation, Flag.endHeaders, stream, block.subarray(where(block))),
  ]
}
const body = (stream: number, text: string, flags: number = Flag.endStream): Buffer =>
  frame(FrameType.data, flags, stream, Buffer.from(text, 'latin1'))

const method: Field = [':method', 'GET']
const scheme: Field = [':scheme', 'https']
const open: Field = [':path', '/open/a']
const secret: Field = [':path', '/secret']
const authority: Field = [':authority', AUTHORITY]

const pseudoCases: readonly Http2Case[] = [
  fields('two paths, the open one first', [method, scheme, open, secret, authority]),
  fields('two paths, the closed one first', [method, scheme, secret, open, authority]),
  fields('two methods', [method, [':method', 'DELETE'], scheme, open, authority]),
  fields('two schemes', [method, scheme, [':scheme', 'http'], open, authority]),
  fields('two authorities', [method, scheme, open, authority, [':authority', 'other']]),
  fields('no method', [scheme, open, authority]),
  fields('no scheme', [method, open, authority]),
  fields('no path', [method, scheme, authority]),
  fields('no authority', [method, scheme, open]),
  fields('no authority, but a host', [method, scheme, open, ['host', AUTHORITY]]),
  fields('an authority and another host', [method, scheme, open, authority, ['host', 'other']]),
  fields('two hosts', [method, scheme, open, authority, ['host', AUTHORITY], ['host', 'other']]),
  fields('a pseudo-header behind a header', [method, scheme, open, ['a', 'b'], authority]),
  fields('the path behind a header', [method, scheme, authority, ['a', 'b'], secret]),
  fields('an unknown pseudo-header', [method, scheme, open, authority, [':evil', 'x']]),
  fields('a status in a request', [method, scheme, open, authority, [':status', '200']]),
  fields('a pseudo-header in upper case', [[':METHOD', 'GET'], scheme, open, authority]),
  fields('a protocol without CONNECT', [method, scheme, open, authority, [':protocol', 'websocket']]),
]

const methods = [
  'get',
  '',
  'GET /secret HTTP/1.1\r\nX:',
  'GE\tT',
  'GET ',
  ' GET',
  'GET\x00',
  'TRACE',
  'CONNECT',
  'PRI',
  'POST',
  'OPTIONS',
]
const schemes = ['', 'http', 'HTTPS', 'ftp', 'javascript:', 'http://other/secret?', 'https ', 'ht\x00tp']
const authorities = [
  '',
  'other',
  'store.shop/secret?',
  'user@store.shop',
  'store.shop, other',
  'store.shop\x00',
  'store.shop\r\nX: y',
  ' store.shop',
  '[::1',
  'a'.repeat(5000),
]
const lineCases: readonly Http2Case[] = [
  ...methods.map((each) => fields(`method ${JSON.stringify(each)}`, requestFields('/open/a', [], each))),
  ...schemes.map((each) => fields(`scheme ${JSON.stringify(each)}`, [method, [':scheme', each], open, authority])),
  ...authorities.map((each) =>
    fields(`authority ${JSON.stringify(each.slice(0, 30))}`, requestFields('/open/a', [], 'GET', each)),
  ),
]

const connectCases: readonly Http2Case[] = [
  fields('CONNECT to an address', [
    [':method', 'CONNECT'],
    [':authority', '127.0.0.1:15000'],
  ]),
  fields('CONNECT to the service', [[':method', 'CONNECT'], authority]),
  ...['websocket', 'connect-udp', 'connect-ip', 'tcp', ''].flatMap((protocol) =>
    ['/open/a', '/secret'].map((target) =>
      fields(
        `extended CONNECT of ${JSON.stringify(protocol)} on ${target}`,
        [[':method', 'CONNECT'], [':protocol', protocol], scheme, [':path', target], authority],
        ['/open/a'],
      ),
    ),
  ),
]

const names = ['X-Role', 'a b', 'a\nb', 'a\r\nb', 'a\x00b', 'a:b', ' a', 'a ', '', '\xff', 'a\tb']
const values = ['b\r\nc: d', 'b\nc: d', 'b\rc', 'b\x00c', ' b', 'b ', '\tb', '\xff', '\x7f', '']
const hopFields: readonly Field[] = [
  ['connection', 'close'],
  ['connection', 'x-token'],
  ['transfer-encoding', 'chunked'],
  ['keep-alive', 'timeout=5'],
  ['upgrade', 'websocket'],
  ['proxy-connection', 'close'],
  ['te', 'trailers'],
  ['te', 'gzip'],
]
const fieldCases: readonly Http2Case[] = [
  ...names.map((name) => with_(`a header called ${JSON.stringify(name)}`, [[name, 'x']])),
  ...values.map((value) => with_(`a header of value ${JSON.stringify(value)}`, [['a', value]])),
  ...hopFields.map(([name, value]) => with_(`${name}: ${value}`, [[name, value]])),
  with_('a length of a body that is not there', [['content-length', '5']]),
  with_('two lengths', [
    ['content-length', '0'],
    ['content-length', '5'],
  ]),
  with_('a length that is not a number', [['content-length', '+0']]),
  with_('cookies apart', [
    ['cookie', 'a=1'],
    ['cookie', 'b=2'],
  ]),
  with_(
    '1000 headers',
    Array.from({ length: 1000 }, (_, index): Field => [`x-${index}`, 'y']),
  ),
  with_('a header of 100 kilobytes', [['x-long', 'a'.repeat(100_000)]]),
  ...['/open/a HTTP/1.1\r\nX: y', '/open/a\r\n', '/open/a HTTP/1.1\n\nGET /secret', '/open/a \x00'].map((target) =>
    fields(`path ${JSON.stringify(target)}`, requestFields(target)),
  ),
]

const frameCases: readonly Http2Case[] = [
  raw('a body that is longer than its length', (stream) => [
    begun(stream, [['content-length', '1']]),
    body(stream, 'GET /secret HTTP/1.1\r\nHost: x\r\n\r\n'),
  ]),
  raw('a body that is shorter than its length', (stream) => [
    begun(stream, [['content-length', '9']]),
    body(stream, 'x'),
  ]),
  raw('trailers with another path', (stream) => [begun(stream), headerFrames([secret], stream, true)]),
  raw('trailers with a header of a rule', (stream) => [
    begun(stream, [], '/guarded'),
    headerFrames([['x-token', 'letmein']], stream, true),
  ]),
  raw('trailers that do not end the stream', (stream) => [begun(stream), headerFrames([['a', 'b']], stream, false)]),
  raw('a second request on a stream that has ended', (stream) => [whole(stream), whole(stream, '/secret')]),
  raw('a path in a frame of its own', (stream) => cut(stream, (block) => block.indexOf(':path'))),
  raw('a path that two frames share', (stream) => cut(stream, (block) => block.indexOf('/open') + 3)),
  raw('data between headers', (stream) => cut(stream, () => 10, [body(stream, 'x', 0)])),
  raw('a continuation of another stream', (stream) => {
    const block = fieldBlock(requestFields('/open/a'))
    return [
      frame(FrameType.headers, Flag.endStream, stream, block.subarray(0, 10)),
      frame(FrameType.continuation, Flag.endHeaders, stream + 2, block.subarray(10)),
    ]
  }),
  raw('data before headers', (stream) => [body(stream, 'x')]),
  raw('headers on stream 0', () => [whole(0)]),
  raw('headers on a stream of the server', (stream) => [whole(stream + 1)]),
  raw('padding that is longer than its frame', (stream) => [frame(FrameType.headers, 0x0d, stream, Buffer.of(255, 0))]),
  raw('a field block that ends too soon', (stream) => [frame(FrameType.headers, 5, stream, Buffer.of(0, 100, 1))]),
  raw('an index into an empty table', (stream) => [frame(FrameType.headers, 5, stream, Buffer.of(0xff, 0x10))]),
  raw('an empty field block', (stream) => [frame(FrameType.headers, 5, stream, none)]),
  raw('a push by the client', (stream) => [
    frame(5, Flag.endHeaders, stream, Buffer.concat([Buffer.of(0, 0, 0, 2), fieldBlock(requestFields('/secret'))])),
  ]),
  raw('a stream that depends on itself', (stream) => {
    const priority = Buffer.alloc(5)
    priority.writeUInt32BE(stream)
    return [frame(FrameType.headers, 0x25, stream, Buffer.concat([priority, fieldBlock(requestFields('/open/a'))]))]
  }),
  raw('settings that are not settings', (stream) => [
    frame(FrameType.settings, 0, 0, Buffer.of(1)),
    whole(stream, '/secret'),
  ]),
  {
    ...raw('a frame of an unknown type before the request', (stream) => [
      frame(0xbe, 0, 0, Buffer.from('GET /secret')),
      whole(stream),
    ]),
    isValid: true,
  },
  {
    ...raw('a body without a length', (stream) => [begun(stream), body(stream, 'GET /secret HTTP/1.1\r\n\r\n')]),
    isValid: true,
  },
  { ...fields('a plain request', requestFields('/open/a')), isValid: true },
]

/** Everything that is tried over HTTP/2. */
export const http2Cases: readonly Http2Case[] = [
  ...pseudoCases,
  ...lineCases,
  ...connectCases,
  ...fieldCases,
  ...frameCases,
]
