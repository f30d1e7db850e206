import { beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import {
  endOrdinaryAnswer,
  expectAnswer,
  fieldsOf,
  makeAnswerHeads,
  makeOrdinaryAnswers,
  readOrdinaryAnswer,
  textOfAnswer,
} from '../../codebase/ordinary-answers.js'
import {
  beginOrdinary,
  endOfMessage,
  makeDecisions,
  ordinaryHead,
  ordinaryRequest,
  readOrdinary,
  recordOfRequest,
} from '../../codebase/ordinary-requests.js'
import { DataStandIn, MessageEndStandIn, MessageStartStandIn, StreamEndStandIn } from '../../test/pipy-data.js'

beforeAll(() => {
  Object.assign(globalThis, {
    Data: DataStandIn,
    StreamEnd: StreamEndStandIn,
    MessageStart: MessageStartStandIn,
    MessageEnd: MessageEndStandIn,
  })
})

const bytesOf = (text: string): DataStandIn => new DataStandIn([...Buffer.from(text, 'latin1')])

/** Events as a text: `<` and `>` are the ends of a message, `END` is that of the connection. */
function textOf(out: unknown): string {
  if (Array.isArray(out)) return out.map(textOf).join('')
  if (out instanceof DataStandIn) return String(out)
  if (out instanceof MessageStartStandIn) return '<'
  if (out instanceof MessageEndStandIn) return '>'
  return out === undefined ? '' : 'END'
}

interface Head {
  readonly path: string
}

interface Connection {
  ordinary: { isStrict: boolean }
}

/** A connection, and how often something was decided on a head. */
function connection() {
  const conn = {} as Connection
  const runtime = { ordinary: makeDecisions() as object }
  let decisions = 0
  const recordOf = (_conn: unknown, text: string): unknown => {
    decisions += 1
    const head = ordinaryHead(text) as Head | undefined
    const request = head === undefined || head.path === '/denied' ? undefined : (ordinaryRequest(head) as object)
    return request && recordOfRequest(text, head, request)
  }
  beginOrdinary(conn)
  return {
    conn,
    decided: () => decisions,
    read: (bytes: string) => textOf(readOrdinary(conn, bytesOf(bytes), runtime, 'name', recordOf)),
    answered: () => textOf(endOfMessage(conn.ordinary, new MessageEndStandIn())),
  }
}

const get = 'GET /a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n'
const written = 'GET /a HTTP/1.1\r\nhost: a\r\nx-a: 1\r\nconnection: keep-alive\r\n\r\n'
const post = 'POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n'

describe('ordinary requests', () => {
  it('are decided on once for each head, and continue as they are written by the sidecar', () => {
    const { read, answered, decided } = connection()
    expect(read(get)).toBe(`<${written}>`)
    expect(answered()).toBe('>')
    expect(read(get)).toBe(`<${written}>`)
    expect(decided()).toBe(1)
  })

  it('continue when their body has come as a whole', () => {
    const { read, conn } = connection()
    expect([read(post), read('ab'), read('cd')]).toEqual([
      '',
      '',
      `<${post.slice(0, -2)}connection: keep-alive\r\n\r\nabcd>`,
    ])
    expect(conn.ordinary.isStrict).toBe(false)
  })

  it('may have a body that is not ASCII', () => {
    const { read } = connection()
    expect(read(`${post}\xc3\xa9\xc3\xa9`)).toContain('\r\n\r\n\u00e9\u00e9>')
  })

  it.each([
    ['a transfer coding', 'POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['two lengths', 'POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    ['a length of 2^31', 'POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 2147483648\r\n\r\n'],
    ['a length of more than is kept', 'POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 65537\r\n\r\n'],
    ['an expectation', 'POST /a HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n'],
    ['two hosts', 'GET /a HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
    ['no host', 'GET /a HTTP/1.1\r\n\r\n'],
    ['an upgrade', 'GET /a HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'],
    ['a header that Connection names', 'GET /a HTTP/1.1\r\nhost: a\r\nx-a: 1\r\nconnection: x-a\r\n\r\n'],
    ['an end of the connection', 'GET /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'],
    ['HTTP/1.0', 'GET /a HTTP/1.0\r\nhost: a\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unusual method', 'PURGE /a HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a slash of two bytes', 'GET /a HTTP/1.1\r\nhost: a\r\nx-a: \xc0\xaf\r\n\r\n'],
    ['characters of two bytes', 'GET /a HTTP/1.1\r\nhost: a\r\nx-a: \xc3\xa9\r\n\r\n'],
    ['a line without CR', 'GET /a HTTP/1.1\r\nhost: a\nx-a: 1\r\n\r\n'],
    ['half of a head', 'GET /a HTTP/1.1\r\nhost: a\r\n'],
    ['a head that is not allowed', 'GET /denied HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['another request behind it', `${get}GET /b`],
  ])('are none with %s: the bytes continue as they are', (_what, bytes) => {
    const { read, conn, answered } = connection()
    expect(read(bytes)).toBe(`<${textOf(bytesOf(bytes))}`)
    expect([conn.ordinary.isStrict, read('more'), answered()]).toEqual([true, 'more', 'END'])
  })

  it('are none while another one has no answer', () => {
    const { read, answered } = connection()
    expect([read(get), read(get), answered(), answered()]).toEqual([`<${written}>`, `<${get}`, '>', 'END'])
  })
})

/** What continues of an answer that comes in pieces, and what is known of it. */
function answer(pieces: readonly string[], method = 'GET', end?: StreamEndStandIn) {
  const heads = makeAnswerHeads((head: object) => ({ written: textOfAnswer(head, fieldsOf(head)) })) as object
  const reader = makeOrdinaryAnswers(heads) as { isWhole: boolean; isRefused: boolean; at: string }
  expectAnswer(reader, method)
  const texts = pieces.map((piece) => textOf(readOrdinaryAnswer(reader, bytesOf(piece), heads)))
  return { text: texts.join('') + (end ? textOf(endOrdinaryAnswer(reader, end)) : ''), reader }
}

const ok = 'HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 4\r\n\r\n'
const okWritten = 'HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 4\r\nconnection: keep-alive\r\n\r\n'

describe('answers to ordinary requests', () => {
  it('are the same in any pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: ok.length + 3 }), { maxLength: 4 }), (cuts) => {
        const bytes = `${ok}abcd`
        const ends = [...new Set(cuts)].sort((a, b) => a - b)
        const pieces = [...ends, bytes.length].map((end, i) => bytes.slice(ends[i - 1] ?? 0, end))
        const { text, reader } = answer(pieces)
        expect([text, reader.isWhole, reader.at]).toEqual([`<${okWritten}abcd>`, true, 'idle'])
      }),
    )
  })

  it('end a connection that the server is about to close', () => {
    expect(answer([`HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na`]).text).toMatch(/a>END$/)
  })

  it('leave informational ones out', () => {
    expect(answer([`HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${ok}abcd`]).text).toBe(`<${okWritten}abcd>`)
  })

  it.each([
    ['HEAD', ok, `<${okWritten}>`],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n', '<HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n>'],
    [
      'GET',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 4\r\n\r\n',
      '<HTTP/1.1 304 Not Modified\r\ncontent-length: 4\r\nconnection: keep-alive\r\n\r\n>',
    ],
  ])('have no body where none may be (%s)', (method, bytes, expected) => {
    expect(answer([bytes], method).text).toBe(expected)
  })

  it('keep chunks and their trailers', () => {
    const { text } = answer(['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nX-T: 1\r\n\r\n'])
    expect(text).toBe(
      '<HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n2\r\nab\r\n0\r\nx-t: 1\r\n\r\n>',
    )
  })

  it('that end with their connection are written in chunks', () => {
    const { text, reader } = answer(['HTTP/1.1 200 OK\r\n\r\nabc'], 'GET', new StreamEndStandIn())
    expect(text).toMatch(/transfer-encoding: chunked\r\n[^]*\r\n3\r\nabc\r\n0\r\n\r\n>END$/)
    expect(reader.isWhole).toBe(true)
  })

  it('are none when they break off before more than a byte of the body', () => {
    expect(answer([ok, 'a'], 'GET', new StreamEndStandIn()).text).toBe('END')
  })

  it('are not whole when they break off later', () => {
    const { text, reader } = answer([`${ok}ab`], 'GET', new StreamEndStandIn())
    expect([text, reader.isWhole]).toEqual([`<${okWritten}abEND`, false])
  })

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    ['a status of 600', 'HTTP/1.1 600 No\r\ncontent-length: 0\r\n\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'],
    ['no HTTP', 'SSH-2.0\r\n\r\n'],
  ])('are refused with %s', (_what, bytes) => {
    const { text, reader } = answer([bytes])
    expect([text, reader.isRefused]).toEqual(['END', true])
  })

  it('end the connection when an answer comes that no request is waiting for', () => {
    const { text } = answer([`${ok}abcd`, ok])
    expect(text).toBe(`<${okWritten}abcd>END`)
    expect(answer([`${ok}abcd${ok}efgh`]).text).toBe(`<${okWritten}abcd>END`)
  })
})
