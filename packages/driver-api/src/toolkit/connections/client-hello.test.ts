import { describe, expect, it } from '@jest/globals'

import { isAnswerable } from './client-hello.js'

const record = (length: number): Buffer =>
  Buffer.concat([Buffer.from([0x16, 3, 1, length >> 8, length & 0xff]), Buffer.alloc(length)])
const inPieces = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))

describe('the first bytes of a connection', () => {
  it.each([1, 3, 5, 700])('are answerable when the first record is complete, in pieces of %d bytes', (size) => {
    const hello = record(600)
    expect(isAnswerable(inPieces(hello, size))).toBe(true)
    expect(isAnswerable(inPieces(hello.subarray(0, -1), size))).toBe(false)
  })

  it.each([1, 2, 4, 5])('are not answerable with %d bytes of a header', (length) => {
    expect(isAnswerable([record(600).subarray(0, length)])).toBe(false)
  })

  it('are answerable when they are plain HTTP, so that the handshake fails with its reason', () => {
    expect(isAnswerable([Buffer.from('GET / HTTP/1.1\r\n')])).toBe(true)
    expect(isAnswerable([Buffer.from('GET ')])).toBe(false)
  })
})
