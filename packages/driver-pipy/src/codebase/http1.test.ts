import { beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { endAnswers, makeAnswerReader, readAnswers, requestSent, writeRequest } from '../../codebase/http1-answers.js'
import { CONTINUE, continueHead, settleHead } from '../../codebase/http1-head.js'
import { beginAnswer, makeAnswerWriter, writeAnswer } from '../../codebase/http1-output.js'
import { makeRequestReader, readRequests, requestAnswered } from '../../codebase/http1-requests.js'
import { answerEnded, makeExchange, requestEnded } from '../../codebase/one-end.js'
import { DataStandIn, StreamEndStandIn } from '../../test/pipy-data.js'

beforeAll(() => {
  Object.assign(globalThis, { Data: DataStandIn, StreamEnd: StreamEndStandIn })
})

const bytesOf = (text: string): DataStandIn => new DataStandIn([...Buffer.from(text, 'latin1')])

/** What of a reader's output continues; `END` where the connection ends. */
function textOf(out: unknown): string {
  if (Array.isArray(out)) return out.map(textOf).join('')
  if (out instanceof DataStandIn) return String(out)
  return out === undefined ? '' : 'END'
}

/** What Pipy gets to see of the bytes of a caller that come in pieces. */
function requests(bytes: string, sizes: readonly number[] = []): string {
  const reader = makeRequestReader() as object
  const data = bytesOf(bytes)
  const pieces = sizes.map((size) => data.shift(size))
  return [...pieces, data].map((piece) => textOf(readRequests(reader, piece))).join('')
}

/** The same of a server that is asked once. */
function answers(bytes: string, head: object = { method: 'GET', headers: {} }, end?: StreamEndStandIn): string {
  const reader = makeAnswerReader() as object
  requestSent(reader, head)
  const text = textOf(readAnswers(reader, bytesOf(bytes)))
  return end === undefined ? text : text + textOf(endAnswers(reader, end))
}

const refused = (status: number): string =>
  `GET / HTTP/1.1\r\nhost: invalid\r\nosm-sidecar-framing: refused ${status}\r\nconnection: close\r\n\r\n`
const badGateway =
  'HTTP/1.1 502 Bad Gateway\r\nosm-sidecar-framing: refused 502\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'
const head = (fields: string, line = 'POST /a HTTP/1.1'): string => `${line}\r\nHost: a\r\n${fields}\r\n`

describe('requests over HTTP/1.1', () => {
  it('keep values that are not ASCII, without the spaces around them', () => {
    expect(requests(head('x-a: \t \xc3\xa9t\xc3\xa9 \t\r\n', 'GET /a HTTP/1.1'))).toContain(
      '\r\nx-a: \u00e9t\u00e9\r\n',
    )
  })

  it.each([
    ['a slash of two bytes', '\xc0\xaf'],
    ['half of a pair', '\xed\xa0\x80'],
    ['a code beyond the last', '\xf4\x90\x80\x80'],
    ['a byte that begins nothing', '\xff'],
  ])('are refused with %s', (_what, value) => {
    expect(requests(head(`x-a: ${value}\r\n`, 'GET /a HTTP/1.1'))).toBe(refused(400))
  })

  it('are refused at once where a line ends without CR, however the bytes are split', () => {
    for (const lines of ['GET / HTTP/1.1\nHost: a\n\n', 'GET / HTTP/1.1\r\nHost: a\n', 'GET / HTTP/1.1\r\nx-a: \xff\n'])
      for (const size of [1, 3, 14, 15, 16, 1000]) expect(requests(lines, [size])).toBe(refused(400))
    for (let size = 1; size < 28; size += 1)
      expect(requests('GET / HTTP/1.1\r\nHost: a\r\n\r\n', [size, 1, 1])).toContain('host: a')
    expect(answers('HTTP/1.1 200 OK\n\n')).toBe(`${badGateway}END`)
  })

  it('may have headers with names that objects have', () => {
    const text = requests(head('__proto__: a\r\ntoString: b\r\nconstructor: c\r\n', 'GET /a HTTP/1.1'))
    for (const line of ['tostring: b', 'constructor: c']) expect(text).toContain(`\r\n${line}\r\n`)
  })

  it('are rewritten: one value a header, no headers of one hop, no trailers, no extensions', () => {
    expect(
      requests(
        head(
          'X-Vip: no\r\nx-vip:  yes\t\r\nCookie: a=1\r\nCookie: b=2\r\nConnection: x-hop, keep-alive\r\nX-Hop: 1\r\nTE: gzip\r\nTransfer-Encoding: Chunked\r\n',
        ) + '5;a=b\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n',
      ),
    ).toBe(
      'POST /a HTTP/1.1\r\nhost: a\r\nx-vip: no,yes\r\ncookie: a=1; b=2\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    )
  })

  it('are the same in whatever pieces they come', () => {
    const bytes = `\r\n${head('content-length: 3\r\n')}\xff\r\n${head('transfer-encoding: chunked\r\nx: \xc3\xa9\r\n')}4\r\nbody\r\n0\r\n\r\n${head('', 'GET /b HTTP/1.1')}`
    const contentOf = (text: string): string => text.replaceAll(/[0-9a-f]+\r\n([^\r]*)\r\n(?=[0-9a-f]+\r\n)/g, '$1')
    const whole = contentOf(requests(bytes.replace('\xff', 'x')))
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 12 }), (sizes) => {
        expect(contentOf(requests(bytes.replace('\xff', 'x'), sizes))).toBe(whole)
      }),
    )
    expect(requests(bytes)).not.toContain('refused')
  })

  it.each([
    [413, head('content-length: 2147483648\r\n')],
    [413, head('content-length: 99999999999999999999\r\n')],
    [400, head('content-length: +5\r\n')],
    [400, head('content-length: 5\r\ncontent-length: 5\r\n')],
    [400, head('content-length: 5\r\ntransfer-encoding: chunked\r\n')],
    [501, head('transfer-encoding: gzip, chunked\r\n')],
    [501, head('transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n')],
    [400, head('transfer-encoding : chunked\r\n')],
    [400, head('transfer-encoding: chunked\r\n', 'POST /a HTTP/1.0')],
    [400, head('host: b\r\n')],
    [400, 'GET /a HTTP/1.1\r\n\r\n'],
    [400, head('x\0y: 1\r\n')],
    [400, head('x: a\0b\r\n')],
    [400, head('x: a\rb\r\n')],
    [400, head('x: 1\r\n y: 2\r\n')],
    [400, head(': 1\r\n')],
    [400, head('x: \xff\r\n')],
    [400, head('connection: host\r\n')],
    [417, head('expect: 200-ok\r\n')],
    [431, head(`x: ${'y'.repeat(270_000)}\r\n`)],
    [431, head(Array.from({ length: 1_001 }, (_, index) => `x-${index}: y\r\n`).join(''))],
    [501, head('', 'get /a HTTP/1.1')],
    [400, head('', 'CONNECT a:1 HTTP/1.1')],
    [400, head('', 'GET  /a HTTP/1.1')],
    [505, head('', 'GET /a HTTP/2.0')],
    [400, 'hello\r\n\r\n'],
  ])('are answered by %d where they are not HTTP, and nothing behind them is read', (status, bytes) => {
    expect(requests(`${bytes}${head('', 'GET /secret HTTP/1.1')}`)).toBe(refused(status))
  })

  it.each([
    'g\r\n',
    '0x5\r\n',
    '5\nhello',
    '5\r\nhelloo\r\n',
    'fffffffffffffffff\r\n',
    '80000000\r\n',
    '\r\n',
    `5${' '.repeat(2_000)}`,
  ])('end their connection on an invalid chunk (%j)', (chunk) => {
    expect(requests(`${head('transfer-encoding: chunked\r\n')}${chunk}${head('', 'GET /secret HTTP/1.1')}`)).toBe('END')
  })

  it('keep what callers must not say to the sidecar itself', () => {
    for (const own of ['framing: method DELETE', 'length: 5', 'long: 1'])
      expect(requests(head(`osm-sidecar-${own}\r\n`))).not.toContain('osm-sidecar')
    const own = { protocol: 'HTTP/1.1', method: 'POST', headers: { 'osm-sidecar-framing': 'method PURGE' } }
    expect(settleHead(own)).toBeUndefined()
    expect(own).toEqual({ protocol: 'HTTP/1.1', method: 'PURGE', headers: {} })
  })

  it('pass as HTTP/2 behind its whole preface only', () => {
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
    expect(requests(`${preface}\0\0`, [1, 3, 20])).toBe(`${preface}\0\0`)
    expect(requests(preface.replace('SM', 'SN'))).toBe(refused(505))
  })

  it('are followed by bytes of a WebSocket only once the answer says so', () => {
    const upgrade = head('Connection: Upgrade\r\nUpgrade: WebSocket\r\n', 'GET /a HTTP/1.1')
    for (const [status, expected] of [
      [101, 'raw'],
      [403, ''],
    ] as const) {
      const reader = makeRequestReader() as object
      expect(textOf(readRequests(reader, bytesOf(upgrade)))).toContain('upgrade: websocket\r\nconnection: upgrade\r\n')
      requestAnswered(reader, status)
      expect(textOf(readRequests(reader, bytesOf('raw')))).toBe(expected)
    }
    expect(requests(`${upgrade}raw`)).toBe('END')
  })
})

describe('answers over HTTP/1.1', () => {
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: keep-alive\r\n\r\n'

  it('leave out informational ones, and end the connection with whatever was not requested', () => {
    expect(answers(`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine`)).toBe(
      `${ok}mine`,
    )
    expect(answers(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmineHTTP/1.1 200 OK\r\n\r\n`)).toBe(`${ok}mineEND`)
    expect(textOf(readAnswers(makeAnswerReader(), bytesOf(ok)))).toBe('END')
  })

  it.each([
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    'HTTP/1.1 700 Odd\r\n\r\n',
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/2 200\r\n\r\n',
    'SSH-2.0\r\n\r\n',
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(270_000)}\r\n\r\n`,
  ])('are refused where they cannot be passed on (%#)', (bytes) => {
    expect(answers(bytes)).toBe(`${badGateway}END`)
  })

  it('that end with their connection get chunks, whose end stays away where the connection breaks', () => {
    const begun = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n4\r\nmine\r\n'
    const bytes = 'HTTP/1.1 200 OK\r\n\r\nmine'
    expect(answers(bytes, undefined, new StreamEndStandIn())).toBe(`${begun}0\r\n\r\nEND`)
    expect(answers(bytes, undefined, new StreamEndStandIn('ConnectionReset'))).toBe(`${begun}END`)
  })

  it('to HEAD have no body', () => {
    expect(answers('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n', { method: 'HEAD' })).toBe(ok)
  })
})

describe('answers that Pipy writes in chunks', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nx: y\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n'
  const write = (headers: object, isOld: boolean, sizes: readonly number[]): string => {
    const writer = makeAnswerWriter() as object
    beginAnswer(writer, { headers }, isOld)
    const chunks = sizes.map((size) => `${size.toString(16).toUpperCase()}\r\n${'x'.repeat(size)}\r\n`)
    return [chunked, ...chunks, '0\r\n\r\n'].map((text) => textOf(writeAnswer(writer, new DataStandIn(text)))).join('')
  }
  const sizes = [1, 15, 16, 255, 256, 4_095, 4_096, 65_535, 65_536]

  it('go out with their length where it is known, and without chunks to HTTP/1.0', () => {
    const body = 'x'.repeat(sizes.reduce((sum, size) => sum + size, 0))
    expect(write({ 'content-length': body.length }, false, sizes)).toBe(
      `HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: ${body.length}\r\nconnection: keep-alive\r\n\r\n${body}`,
    )
    expect(write({}, true, [3])).toBe('HTTP/1.1 200 OK\r\nx: y\r\nconnection: close\r\n\r\nxxx')
    expect(write({}, false, [3])).toBe(`${chunked}3\r\nxxx\r\n0\r\n\r\n`)
  })
})

describe('what Pipy does not pass on itself', () => {
  it('a request that expects 100 Continue follows one that requests it, where that is answered', () => {
    const bytes = head('Expect: 100-continue\r\nContent-Length: 1\r\n') + 'x'
    const passed = 'POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\nx'
    const asked = 'GET / HTTP/1.1\r\nhost: invalid\r\nosm-sidecar-framing: continue\r\nconnection: keep-alive\r\n\r\n'
    expect(textOf(readRequests(makeRequestReader(true) as object, bytesOf(bytes)))).toBe(asked + passed)
    expect(requests(bytes)).toBe(passed)
    const waiting = { protocol: 'HTTP/1.1', method: 'GET', headers: { 'osm-sidecar-framing': 'continue' } }
    expect(settleHead(waiting)).toBe(CONTINUE)
    const writer = makeAnswerWriter() as object
    beginAnswer(writer, continueHead(), false)
    expect(textOf(writeAnswer(writer, new DataStandIn('HTTP/1.1 200 OK\r\n\r\n')))).toBe(
      'HTTP/1.1 100 Continue\r\n\r\n',
    )
  })

  it('trailers of answers pass, except those that would change what the answer means', () => {
    const reader: { trailers: object | undefined } = makeAnswerReader()
    requestSent(reader, { method: 'GET', headers: {} })
    const trailers = 'X-Sum: 1\r\nContent-Length: 4\r\nosm-sidecar-framing: continue\r\nx-sum: 2\r\n'
    const bytes = `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers}\r\n`
    expect(textOf(readAnswers(reader, bytesOf(bytes)))).toContain('trailer: X-Sum\r\n')
    expect(reader.trailers).toEqual({ 'x-sum': '1,2' })
    expect(answers(bytes.replace('X-Sum: 1', 'X Sum: 1'))).toContain('END')
    const writer = makeAnswerWriter() as object
    const answer = { status: 200, headers: {}, trailers: { 'x-sum': '1' } }
    beginAnswer(writer, answer, false)
    const pieces = ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n', '0\r\n\r\n']
    expect(pieces.map((text) => textOf(writeAnswer(writer, new DataStandIn(text)))).join('')).toMatch(
      /0\r\nx-sum: 1\r\n\r\n$/,
    )
  })

  it('a 304 with a length ends with its head, and keeps the length', () => {
    const bytes = 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n'
    expect(answers(bytes)).toBe('HTTP/1.1 304 Not Modified\r\nosm-sidecar-length: 5\r\nconnection: keep-alive\r\n\r\n')
    expect(answers(bytes, { method: 'HEAD', headers: {} })).toContain('\r\ncontent-length: 5\r\n')
    const answer = { protocol: 'HTTP/1.1', status: 304, headers: { 'osm-sidecar-length': '5' } }
    expect(settleHead(answer)).toBeUndefined()
    const writer = makeAnswerWriter() as object
    beginAnswer(writer, answer, false)
    const text = 'HTTP/1.1 304 Not Modified\r\netag: a\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n'
    expect(textOf(writeAnswer(writer, new DataStandIn(text)))).toBe(
      text.replace('content-length: 0', 'content-length: 5'),
    )
  })

  it('a 304 without a length stays without one, and a request with a length of 0 keeps it', () => {
    const writer = makeAnswerWriter() as object
    beginAnswer(writer, { status: 304, headers: {} }, false)
    const text = 'HTTP/1.1 304 Not Modified\r\netag: a\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n'
    expect(textOf(writeAnswer(writer, new DataStandIn(text)))).toBe(text.replace('content-length: 0\r\n', ''))
    const asked = (method: string, length?: string): string => {
      const reader = makeAnswerReader() as object
      requestSent(reader, { method, headers: length === undefined ? {} : { 'content-length': length } })
      return textOf(writeRequest(reader, new DataStandIn('X\r\n\r\n')))
    }
    expect([asked('DELETE', '0'), asked('DELETE'), asked('POST', '0'), asked('HEAD', '0')]).toEqual([
      'X\r\ncontent-length: 0\r\n\r\n',
      'X\r\n\r\n',
      'X\r\n\r\n',
      'X\r\n\r\n',
    ])
  })

  it('connections of HTTP/1.0 are kept for callers that request it', () => {
    const old = 'GET /a HTTP/1.0\r\nHost: a\r\n'
    expect(requests(`${old}Connection: Keep-Alive\r\n\r\n${old}\r\n${old}\r\n`)).toBe(
      'GET /a HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\nGET /a HTTP/1.0\r\nhost: a\r\nconnection: close\r\n\r\n',
    )
  })
})

describe('the end of an answer', () => {
  it('waits for the end of its request, and nothing follows it', async () => {
    const exchange = makeExchange(true) as object
    // A try that was given up ends before there is an answer.
    expect(answerEnded(exchange, 'end', undefined)).toBeUndefined()
    const end = answerEnded(exchange, 'end', 200) as Promise<string>
    expect(exchange).toMatchObject({ isEnded: false })
    requestEnded(exchange)
    await expect(end).resolves.toBe('end')
    expect(exchange).toMatchObject({ isEnded: true })
    expect(answerEnded(exchange, 'end', 200) as unknown).toBeUndefined()
  })

  it('waits for nothing over HTTP/2, and what follows an upgrade passes', () => {
    expect(answerEnded(makeExchange(false), 'end', 200)).toBe('end')
    const upgraded = makeExchange(true) as object
    expect(answerEnded(upgraded, 'end', 101)).toBe('end')
    expect(upgraded).toMatchObject({ isEnded: false })
  })
})
