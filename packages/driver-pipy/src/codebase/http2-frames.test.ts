import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { settleHead } from '../../codebase/http1-head.js'
import { makeFrameReader, makeFrameWriter, passFrames } from '../../codebase/http2-frames.js'
import { fieldOf, makeHeaderTable, readHeaderBlock, textOf, writeHeaderBlock } from '../../codebase/http2-headers.js'
import { DataStandIn, StreamEndStandIn } from '../../test/pipy-data.js'

beforeAll(() => {
  Object.assign(globalThis, { Data: DataStandIn, StreamEnd: StreamEndStandIn })
})

type Pair = readonly [name: string, value: string]

const hex = (text: string): DataStandIn => new DataStandIn(text.replaceAll(' ', ''), 'hex')

/** The fields of a block, or why there are none. */
function read(table: unknown, block: DataStandIn, maxBytes = 262_144): readonly Pair[] | string {
  const fields = readHeaderBlock(table, block, maxBytes) as readonly { readonly name: string }[] | 'large' | undefined
  if (fields === undefined || fields === 'large') return fields ?? 'invalid'
  return fields.map((field) => [field.name, String(textOf(field))])
}

function frame(type: number, flags: number, stream: number, payload: DataStandIn): DataStandIn {
  const { size } = payload
  return new DataStandIn([size >> 16, (size >> 8) & 255, size & 255, type, flags, 0, 0, 0, stream]).push(payload)
}

const block = (...pairs: readonly Pair[]): DataStandIn =>
  writeHeaderBlock(pairs.map(([name, value]) => fieldOf(name, value) as object)) as DataStandIn

const request = (...pairs: readonly Pair[]): DataStandIn =>
  block([':method', 'GET'], [':scheme', 'http'], [':path', '/'], [':authority', 'a'], ...pairs)

/** What continues, frame by frame: `type flags stream fields`, or the payload in hex; `END` where the connection ends. */
function framesOf(out: unknown): readonly string[] {
  if (Array.isArray(out)) return [...framesOf(out[0]), 'END']
  if (out === undefined) return []
  const data = new DataStandIn(out as DataStandIn)
  const found: string[] = []
  while (data.size > 0) {
    const [a = 0, b = 0, c = 0, type = 0, flags = 0, , , , stream = 0] = data.shift(9).toArray()
    const payload = data.shift(a * 65_536 + b * 256 + c)
    const shown =
      type === 1 && flags >= 4
        ? JSON.stringify(read(makeHeaderTable(), payload))
        : payload.size > 50
          ? String(payload.size)
          : payload.toString('hex')
    found.push(`${type} ${flags} ${stream} ${shown}`)
  }
  return found
}

const refusedAs = (status: number): string =>
  `[[":method","GET"],[":scheme","http"],[":path","/"],[":authority","invalid"],["osm-sidecar-framing","refused ${status}"]]`

describe('frames of HTTP/2', () => {
  const pass = (...pieces: readonly DataStandIn[]): readonly string[] => {
    const reader = makeFrameReader('answer', undefined) as object
    return pieces.flatMap((piece) => framesOf(passFrames(reader, piece)))
  }

  it('go on when they are whole, because Pipy reads the rest of one from the next connection', () => {
    const data = frame(0, 1, 1, hex('010203'))
    const first = data.shift(10)
    expect(pass(new DataStandIn(first))).toEqual([])
    expect(pass(first, data)).toEqual(['0 1 1 010203'])
  })

  it.each([
    ['data of more than 16 kB', frame(0, 0, 1, new DataStandIn(Array.from({ length: 16_385 }, () => 0)))],
    ['a reset of three bytes', frame(3, 0, 1, hex('010203'))],
    ['a priority of four bytes', frame(2, 0, 1, hex('01020304'))],
  ])('end the connection where Pipy would stop reading: %s', (_what, bytes) => {
    expect(pass(bytes)).toEqual(['END'])
  })
})

describe('header blocks of HTTP/2', () => {
  it('are those of RFC 7541, appendix C.3, without codes for characters', () => {
    const table = makeHeaderTable() as object
    expect(read(table, hex('8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d'))).toEqual([
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ])
    expect(read(table, hex('8286 84be 5808 6e6f 2d63 6163 6865'))).toContainEqual(['cache-control', 'no-cache'])
    expect(read(table, hex('8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65'))).toEqual([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ])
    expect(table).toMatchObject({ bytes: 164 })
  })

  it('are those of RFC 7541, appendix C.4, with codes for characters', () => {
    const table = makeHeaderTable() as object
    expect(read(table, hex('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'))).toContainEqual([
      ':authority',
      'www.example.com',
    ])
    expect(read(table, hex('8286 84be 5886 a8eb 1064 9cbf'))).toContainEqual(['cache-control', 'no-cache'])
    expect(read(table, hex('8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf'))).toContainEqual([
      'custom-key',
      'custom-value',
    ])
    expect(table).toMatchObject({ bytes: 164 })
  })

  it('evict what a smaller table has no room for, and refuse references to it', () => {
    const table = makeHeaderTable() as object
    read(table, hex('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'))
    expect(read(table, hex('20'))).toEqual([])
    expect(read(table, hex('be'))).toBe('invalid')
  })

  it.each(['80', 'ff', '00', '0001', '000161', '0001610562', '3fe21f', '000181ff0161', '7f ff ff ff ff ff'])(
    'refuse %s, which is not a block',
    (bytes) => {
      expect(read(makeHeaderTable(), hex(bytes))).toBe('invalid')
    },
  )

  it('are bounded by what they say, not by what was sent', () => {
    const table = makeHeaderTable() as object
    read(table, hex('4001 61 64').push('v'.repeat(100)))
    expect(read(table, hex('be'.repeat(100)), 5_000)).toBe('large')
  })

  it('hold what was written, and no bytes break the reader', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,200}$/), fc.string({ maxLength: 300 }))), (pairs) => {
        expect(read(makeHeaderTable(), block(...pairs))).toEqual(pairs)
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(read(makeHeaderTable(), new DataStandIn([...bytes]))).toBeDefined()
      }),
    )
  })
})

describe('heads that come over HTTP/2', () => {
  let reader: object
  const pass = (...frames: readonly DataStandIn[]): readonly string[] => {
    const data = new DataStandIn()
    for (const each of frames) data.push(each)
    return framesOf(passFrames(reader, data))
  }
  beforeEach(() => {
    reader = makeFrameReader('request', undefined)
    passFrames(reader, new DataStandIn('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
  })

  it('have one value a name: lists with commas, and cookies', () => {
    expect(
      pass(
        frame(1, 5, 1, request(['x-vip', 'no'], ['cookie', 'a=1'], ['x-vip', 'yes'], ['cookie', 'b=2'], ['host', 'b'])),
      ),
    ).toEqual([
      '1 5 1 [[":method","GET"],[":scheme","http"],[":path","/"],[":authority","a"],["x-vip","no,yes"],["cookie","a=1; b=2"]]',
    ])
  })

  it('have fields by the names of properties that every object has', () => {
    const names = ['constructor', '__proto__', 'hasownproperty'] as const
    const pairs = names.flatMap((name): Pair[] => [
      [name, '1'],
      [name, '2'],
    ])
    expect(pass(frame(1, 5, 1, request(...pairs)))).toEqual([
      `1 5 1 ${JSON.stringify([[':method', 'GET'], [':scheme', 'http'], [':path', '/'], [':authority', 'a'], ...names.map((name) => [name, '1,2'])])}`,
    ])
  })

  it('keep the length of their own message aside', () => {
    expect(pass(frame(1, 4, 3, request(['content-length', '5'])))).toEqual([
      expect.stringContaining('["osm-sidecar-length","5"]'),
    ])
    const head = { headers: { 'osm-sidecar-length': '5' } }
    expect(settleHead(head)).toBeUndefined()
    expect(head.headers).toEqual({ 'content-length': '5' })
  })

  it('are the same in whatever pieces they come, without padding and priority', () => {
    const whole = request(['x-a', 'b'.repeat(200)])
    const [first, second] = [whole.shift(20), whole]
    const padded = new DataStandIn([3, 0, 0, 0, 0, 0]).push(first).push(new DataStandIn([0, 0, 0]))
    const bytes = frame(1, 41, 1, padded)
      .push(frame(9, 4, 1, second))
      .push(frame(0, 1, 1, new DataStandIn('body')))
    const [head, body] = pass(new DataStandIn(bytes))
    expect(head).toContain(`["x-a","${'b'.repeat(200)}"]`)
    expect(body).toBe('0 1 1 626f6479')
    for (const size of [1, 7, 50]) {
      reader = makeFrameReader('request', undefined)
      passFrames(reader, new DataStandIn('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
      const data = new DataStandIn(bytes)
      const out = new DataStandIn()
      while (data.size > 0) out.push(passFrames(reader, data.shift(size)) as DataStandIn)
      expect(framesOf(out)).toEqual([head, body])
    }
  })

  it.each<readonly [string, number, readonly Pair[]]>([
    ['a name in capitals', 400, [['X-A', 'b']]],
    ['a name that is no token', 400, [['x a', 'b']]],
    ['a header of one hop', 400, [['transfer-encoding', 'chunked']]],
    [
      'two lengths',
      400,
      [
        ['content-length', '1'],
        ['content-length', '1'],
      ],
    ],
    ['a length that is not a number', 400, [['content-length', '-1']]],
    ['a length of 2^31', 413, [['content-length', '2147483648']]],
    [
      'a pseudo header behind others',
      400,
      [
        ['x-a', 'b'],
        [':path', '/b'],
      ],
    ],
    ['two paths', 400, [[':path', '/b']]],
    ['the status of an answer', 400, [[':status', '200']]],
    ['more than 1,000 headers', 431, Array.from({ length: 1_001 }, (_, i): Pair => [`x-${i}`, ''])],
    [
      'more than 256 KiB',
      431,
      [
        ['x-a', 'a'.repeat(140_000)],
        ['x-b', 'b'.repeat(140_000)],
      ],
    ],
  ])('are refused with %s', (_, status, pairs) => {
    const whole = request(...pairs)
    const sent = [whole.shift(16_000)]
    while (whole.size > 0) sent.push(whole.shift(16_000))
    const frames = sent.map((piece, i) =>
      frame(i === 0 ? 1 : 9, (i === 0 ? 1 : 0) + (i === sent.length - 1 ? 4 : 0), 1, piece),
    )
    expect(pass(...frames)).toEqual([`1 5 1 ${refusedAs(status)}`])
    expect(settleHead({ headers: { 'osm-sidecar-framing': `refused ${status}` } })).toBe(status)
  })

  it('that wait for 100 Continue get it for the ping that follows them, and no other ping is touched', () => {
    const waiting = makeFrameReader('request', 0.5) as object
    const writer = makeFrameWriter(false, waiting) as object
    passFrames(waiting, new DataStandIn('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
    const head = frame(1, 4, 7, request(['expect', '100-continue']))
    const [request1, ping, ...others] = framesOf(passFrames(waiting, new DataStandIn(head)))
    expect(request1).not.toContain('expect')
    expect(ping).toBe('6 0 0 8000000000000007')
    expect(others).toEqual([])
    expect(framesOf(passFrames(writer, frame(6, 1, 0, hex('8000000000000007'))))).toEqual(['1 4 7 [[":status","100"]]'])
    expect(framesOf(passFrames(writer, frame(6, 1, 0, hex('8000000100000007'))))).toEqual(['6 1 0 8000000100000007'])
    expect(pass(new DataStandIn(head))).toHaveLength(1)
  })

  it('cannot say what scripts say to themselves', () => {
    const [head] = pass(frame(1, 5, 1, request(['osm-sidecar-framing', 'method X'], ['osm-sidecar-length', '7'])))
    expect(head).not.toContain('osm-')
    expect(settleHead({ path: '/', authority: 'a', headers: { 'x-a': 'b\u0000' } })).toBe(400)
    expect(settleHead({ path: '/\u0001', headers: {} })).toBe(400)
    expect(settleHead({ path: '/', authority: 'a b', headers: {} })).toBe(400)
    expect(settleHead({ path: '/', headers: { cookie: ['a', 'b'] } })).toBeUndefined()
  })

  it.each<readonly [string, () => readonly DataStandIn[]]>([
    ['another frame within a head', () => [frame(1, 0, 1, hex('82')), frame(0, 0, 1, new DataStandIn('x'))]],
    ['a head that goes on for another stream', () => [frame(1, 0, 1, hex('82')), frame(9, 4, 3, hex('84'))]],
    ['more padding than there are bytes', () => [frame(1, 13, 1, hex('09 82'))]],
    ['an invalid block', () => [frame(1, 5, 1, hex('80'))]],
    ['trailers with a name in capitals', () => [frame(1, 5, 1, block(['X-A', 'b']))]],
  ])('end the connection with %s', (_, frames) => {
    expect(pass(...frames())).toContain('END')
    expect(pass(frame(0, 0, 1, new DataStandIn('x')))).toEqual([])
  })
})

describe('answers that come over HTTP/2', () => {
  const pass = (...frames: readonly DataStandIn[]): readonly string[] => {
    const data = new DataStandIn()
    for (const each of frames) data.push(each)
    return framesOf(passFrames(makeFrameReader('answer', undefined), data))
  }

  it('keep cookies apart, and leave out informational ones', () => {
    expect(
      pass(
        frame(1, 4, 1, block([':status', '103'], ['link', 'a'])),
        frame(1, 4, 1, block([':status', '200'], ['set-cookie', 'a'], ['set-cookie', 'b'], ['x-a', '1'], ['x-a', '2'])),
        frame(1, 5, 1, block(['grpc-status', '0'], ['x-many', '1'], ['x-many', '2'])),
      ),
    ).toEqual([
      '1 4 1 [[":status","200"],["set-cookie","a"],["set-cookie","b"],["x-a","1,2"]]',
      '1 5 1 [["grpc-status","0"],["x-many","1,2"]]',
    ])
  })

  it('are 502 where they are invalid', () => {
    expect(pass(frame(1, 5, 1, block([':status', '200'], ['connection', 'close'])))).toEqual([
      '1 5 1 [[":status","502"],["osm-sidecar-framing","refused 502"]]',
    ])
  })
})

describe('what Pipy writes over HTTP/2', () => {
  it('has its heads in as few pieces as may be', () => {
    const bytes = new DataStandIn('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    const whole = request(['x-a', 'a'.repeat(20_000)])
    bytes.push(frame(1, 1, 1, whole.shift(1_024)))
    while (whole.size > 1_024) bytes.push(frame(9, 0, 1, whole.shift(1_024)))
    bytes.push(frame(9, 4, 1, whole))
    const out = passFrames(makeFrameWriter(true, undefined), bytes) as DataStandIn
    out.shift(24)
    expect(framesOf(out).map((each) => each.slice(0, 12))).toEqual([
      '1 1 1 16384',
      expect.stringMatching(/^9 4 1 \d{4}$/),
    ])
  })

  it('asks peers not to use a table of header fields', () => {
    const settings = frame(4, 0, 0, hex('0001 00001000 0004 0000ffff'))
    expect(framesOf(passFrames(makeFrameWriter(false, undefined), settings))).toEqual([
      '4 0 0 00010000000000040000ffff',
    ])
    expect(framesOf(passFrames(makeFrameWriter(false, undefined), frame(4, 1, 0, new DataStandIn())))).toEqual([
      '4 1 0 ',
    ])
  })
})
