import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { connectRequest, makeConnectRequest } from '../../codebase/connect-request.js'
import { isDestination, makeSocksAnswer, readSocksAnswer } from '../../codebase/gateway-words.js'

const PREFACE = [...Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')]
const frame = (type: number, payload: readonly number[], stream = 0): readonly number[] => [
  0,
  payload.length >> 8,
  payload.length & 255,
  type,
  type === 1 ? 4 : 0,
  0,
  0,
  0,
  stream,
  ...payload,
]
const SETTINGS = frame(4, [0, 2, 0, 0, 0, 0])
const authority = (text: string): readonly number[] => [1, text.length, ...Buffer.from(text)]
const METHOD = [2, 7, ...Buffer.from('CONNECT')]
const written = (text: string): readonly number[] => frame(1, [...METHOD, 134, 132, ...authority(text)], 1)
const sent = (text: string): readonly number[] => frame(1, [...METHOD, ...authority(text)], 1)

describe('requests for tunnels of HTTP/2', () => {
  it('go out without scheme and path, however they come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', '.', '1'), { minLength: 1, maxLength: 300 }),
        fc.array(fc.nat(60), { maxLength: 8 }),
        (letters, cuts) => {
          const host = `${letters.join('')}:443`.slice(0, 120)
          const bytes = [...PREFACE, ...SETTINGS, ...written(host), ...frame(0, [9, 9], 1)]
          const request = makeConnectRequest() as { readonly isSent: boolean }
          const out: number[] = []
          let rest = bytes
          for (const cut of [...cuts, bytes.length]) {
            const part = rest.slice(0, cut)
            rest = rest.slice(cut)
            out.push(...(request.isSent ? part : (connectRequest(request, part) as number[])))
          }
          expect(out).toEqual([...PREFACE, ...SETTINGS, ...sent(host), ...frame(0, [9, 9], 1)])
        },
      ),
    )
  })

  it('do not go out where they are others than those that are known', () => {
    for (const head of [
      [...METHOD, ...authority('a:1')],
      [130, 134, 132],
      [...METHOD, 135, 132],
    ]) {
      const request = makeConnectRequest()
      expect(connectRequest(request, [...PREFACE, ...SETTINGS, ...frame(1, head, 1)])).toBeUndefined()
    }
  })
})

describe('what gateways are told', () => {
  it('is a host and a port in letters that everybody reads alike', () => {
    for (const text of ['books.test:80', '10.0.0.1:443', '[fe80::1]:80', 'a_b-c.d:1'])
      expect([text, isDestination(text)]).toEqual([text, true])
    for (const text of ['', ':80', 'a b:80', 'a\0.test:80', 'a@b:80', 'a/b:80', 'é.test:80', 'a%2e:80', 'a\n:80'])
      expect([text, isDestination(text)]).toEqual([text, false])
  })
})

describe('answers of SOCKS', () => {
  const read = (...parts: readonly (readonly number[])[]): unknown => {
    const answer = makeSocksAnswer()
    return parts.map((part) => readSocksAnswer(answer, part)).find((word) => word !== undefined)
  }

  it('are read in whatever parts they come', () => {
    expect(read([5, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])).toBe('opened')
    expect(read([5], [0, 5], [0])).toBe('opened')
    expect(read([5, 0], [5, 4, 0, 1])).toBe('refused')
    expect(read([5, 0], [5])).toBeUndefined()
    expect(read([])).toBeUndefined()
  })

  it('are none without a method that is known, or of another version', () => {
    expect([read([5, 255]), read([5, 2]), read([4, 0]), read([72, 84]), read([5, 0], [4, 0])]).toEqual(
      Array.from({ length: 5 }, () => 'failed'),
    )
  })
})
