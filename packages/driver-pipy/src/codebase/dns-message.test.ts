import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import {
  answerOf,
  failureOf,
  findName,
  FORMAT_ERROR,
  isAnswerTo,
  makeNames,
  NOT_IMPLEMENTED,
  readQuestion,
  SERVER_FAILURE,
  serversIn,
} from '../../codebase/dns-message.js'

const A = 1
const AAAA = 28
const ANY = 255

interface Question {
  readonly id: number
  readonly name: string
  readonly type: number
  readonly isInternet: boolean
  readonly isRecursive: boolean
  readonly end: number
  readonly size: number
  readonly hasOptions: boolean
  readonly error: number
}

function wordOf(value: number): readonly number[] {
  return [value >> 8, value & 255]
}

/** A question by hand. */
function asked(name: string, { type = A, kind = 1, flags = 1, questions = 1, size = 0 } = {}): readonly number[] {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)])
  const options = size === 0 ? [] : [0, 0, 41, ...wordOf(size), 0, 0, 0, 0, 0, 0]
  const head = [0x12, 0x34, flags, 0, ...wordOf(questions), 0, 0, 0, 0, 0, size === 0 ? 0 : 1]
  return [...head, ...labels, 0, ...wordOf(type), ...wordOf(kind), ...options]
}

const read = (bytes: readonly number[]): Question | undefined => readQuestion(bytes) as Question | undefined

function answered(bytes: readonly number[], addresses: readonly (readonly number[])[], first = 0): readonly number[] {
  return answerOf(bytes, read(bytes), addresses, 600, first) as readonly number[]
}

describe('questions of DNS', () => {
  it('are read', () => {
    expect(read(asked('Store.Shop', { type: AAAA }))).toEqual({
      id: 0x1234,
      name: 'store.shop',
      type: AAAA,
      isInternet: true,
      isRecursive: true,
      end: 28,
      size: 512,
      hasOptions: false,
      error: 0,
    })
    expect(read(asked('a', { size: 4_096, flags: 0 }))).toMatchObject({
      size: 1_232,
      hasOptions: true,
      isRecursive: false,
    })
    expect(read(asked('a', { size: 100 }))?.size).toBe(512)
    expect(read(asked('a', { size: 600 }))?.size).toBe(600)
    expect(read(asked('a', { kind: 3 }))?.isInternet).toBe(false)
    // No name has such letters, and no two of those that have it are taken for one.
    expect(read([...asked('ab').slice(0, 13), 46, 0, ...asked('ab').slice(15)])?.name).toBe('??')
  })

  it('that are missing or wrong are reported', () => {
    expect(read([])).toBeUndefined()
    expect(read(asked('a', { flags: 0x81 }))).toBeUndefined()
    expect(read(asked('a', { flags: 0x28 }))?.error).toBe(NOT_IMPLEMENTED)
    expect(read(asked('a', { questions: 2 }))?.error).toBe(FORMAT_ERROR)
    expect(read(asked('abc').slice(0, -1))?.error).toBe(FORMAT_ERROR)
    expect(read(asked('abc').slice(0, 14))?.error).toBe(FORMAT_ERROR)
    // A name that refers to another, and one that is too long.
    expect(read([...asked('a').slice(0, 12), 0xc0, 12, 0, 1, 0, 1])?.error).toBe(FORMAT_ERROR)
    expect(read(asked(Array.from({ length: 50 }, () => 'label').join('.')))?.error).toBe(FORMAT_ERROR)
  })

  it('of any kind are read to their end, and what answers them is no longer than they allow', () => {
    const bytes = fc.array(fc.nat({ max: 255 }), { maxLength: 80 })
    const likely = fc.tuple(fc.constantFrom(...[0, 12, 16, 20, 28].map((n) => asked('store.shop').slice(0, n))), bytes)
    fc.assert(
      fc.property(
        fc.oneof(
          bytes,
          likely.map(([head, rest]) => [...head, ...rest]),
        ),
        (message) => {
          const question = read(message)
          if (question === undefined) return
          expect(question.end).toBeLessThanOrEqual(message.length)
          expect(failureOf(message, question, SERVER_FAILURE)).toHaveLength(
            question.end + (question.hasOptions ? 11 : 0),
          )
          const many = Array.from({ length: 100 }, (_, i) => [10, 0, 0, i])
          const answer = answerOf(message, question, many, 600, 3) as readonly number[]
          expect(answer.length).toBeLessThanOrEqual(question.size)
          for (const byte of answer) expect(Number.isInteger(byte) && byte >= 0 && byte < 256).toBe(true)
        },
      ),
    )
  })
})

describe('answers of DNS', () => {
  const addresses = [
    [10, 0, 0, 1],
    [10, 0, 0, 2],
  ]

  it('have the addresses, each in its turn', () => {
    const question = asked('store.shop')
    const [head, body] = [question.slice(0, 12), question.slice(12)]
    const record = (last: number) => [192, 12, 0, 1, 0, 1, 0, 0, 2, 88, 0, 4, 10, 0, 0, last]
    expect(answered(question, addresses)).toEqual([
      ...head.slice(0, 2),
      ...[0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0],
      ...body,
      ...record(1),
      ...record(2),
    ])
    expect(answered(question, addresses, 1).slice(-32)).toEqual([...record(2), ...record(1)])
    expect(answered(asked('store.shop', { type: ANY }), addresses)[7]).toBe(2)
  })

  it('say that there is nothing of another kind, rather than that there is no such name', () => {
    for (const other of [{ type: AAAA }, { type: 16 }, { kind: 3 }]) {
      const answer = answered(asked('store.shop', other), addresses)
      expect([answer[3], answer[7]]).toEqual([0x80, 0])
    }
  })

  it('have as many addresses as there is room for', () => {
    const many = Array.from({ length: 100 }, (_, i) => [10, 0, 0, i])
    expect(answered(asked('store.shop'), many)[7]).toBe(30)
    expect(answered(asked('store.shop', { size: 1_232 }), many)[7]).toBe(74)
    expect(answered(asked('store.shop', { size: 1_232 }), many).slice(-11)).toEqual([
      0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0,
    ])
  })

  it('of servers are told from what somebody else sends', () => {
    const question = asked('store.shop')
    const parsed = read(question)
    const answer = [0x12, 0x34, 0x81, 0x80, ...asked('STORE.shop').slice(4), 1, 2, 3]
    expect(isAnswerTo(answer, question, parsed)).toBe(true)
    expect(isAnswerTo([0x12, 0x35, ...answer.slice(2)], question, parsed)).toBe(false)
    expect(isAnswerTo(question, question, parsed)).toBe(false)
    expect(isAnswerTo(answer.slice(0, 20), question, parsed)).toBe(false)
    expect(isAnswerTo([...answer.slice(0, 4), ...asked('other.shop').slice(4)], question, parsed)).toBe(false)
  })
})

it('servers are found in the file of resolvers', () => {
  const text =
    '# nameserver 1.1.1.1\nsearch a b\nnameserver 127.0.0.153\n nameserver\t 10.96.0.10 # x\nnameserver fd00::a\nnameserver\n'
  expect(serversIn(text)).toEqual(['127.0.0.153', '10.96.0.10', 'fd00::a'])
})

describe('names', () => {
  const names: unknown = makeNames([
    { name: 'store.shop', addresses: ['10.0.0.1'] },
    { name: '*.shop', addresses: ['10.0.0.2'] },
    { name: '*.a.shop', addresses: [] },
  ])
  const find = (name: string) => (findName(names, name) as { addresses: readonly unknown[] } | undefined)?.addresses

  it('are found by themselves, or by the closest pattern', () => {
    expect(find('store.shop')).toEqual([[10, 0, 0, 1]])
    expect(find('other.shop')).toEqual([[10, 0, 0, 2]])
    expect(find('x.a.shop')).toEqual([])
    for (const name of ['shop', 'store', '', 'constructor', 'store.shop.example']) expect(find(name)).toBeUndefined()
  })
})
