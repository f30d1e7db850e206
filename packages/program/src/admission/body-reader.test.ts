import { Readable } from 'node:stream'

import { describe, expect, it } from '@jest/globals'

import { BodyReader } from './body-reader.js'

const sent = (...parts: readonly string[]): Readable => Readable.from(parts.map((part) => Buffer.from(part)))
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

describe('BodyReader', () => {
  it('reads bodies whose length is announced, and those whose length is not', async () => {
    const reader = new BodyReader(100)
    expect(textOf((await reader.read(sent('ab', 'c'), 3)).bytes)).toBe('abc')
    expect(textOf((await reader.read(sent('x'.repeat(60), 'y', 'z'.repeat(39)))).bytes)).toHaveLength(100)
    expect((await reader.read(sent(), 0)).bytes).toHaveLength(0)
  })

  it('uses memory again that was given back, and no other', async () => {
    const reader = new BodyReader(100)
    const first = await reader.read(sent('first'), 5)
    const second = await reader.read(sent('other'), 5)
    expect(textOf(first.bytes)).toBe('first')
    first.giveBack()
    const third = await reader.read(sent('3'), 1)
    expect(third.bytes.buffer).toBe(first.bytes.buffer)
    expect(textOf(third.bytes)).toBe('3')
    expect(textOf(second.bytes)).toBe('other')
  })

  it.each([
    ['is announced as too large', sent('x'), 101, 413],
    ['is too large without saying so', sent('x'.repeat(60), 'x'.repeat(60)), undefined, 413],
    ['is shorter than announced', sent('x'), 2, 400],
    ['is longer than announced', sent('xyz'), 2, 400],
  ])('refuses a body that %s', async (_what, body, announced, statusCode) => {
    await expect(new BodyReader(100).read(body, announced)).rejects.toMatchObject({ statusCode })
  })
})
