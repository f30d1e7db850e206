import { describe, expect, it } from '@jest/globals'

import { allBut } from './upgrade-types.js'

describe('an expression for all but some words', () => {
  const matches = (words: readonly string[], text: string): boolean => new RegExp(`^${allBut(words)}$`, 's').test(text)

  it.each([
    [['websocket', 'tcp'], 'websocket', false],
    [['websocket', 'tcp'], 'WebSocket', false],
    [['websocket', 'tcp'], 'TCP', false],
    [['websocket', 'tcp'], 'websocke', true],
    [['websocket', 'tcp'], 'websockets', true],
    [['websocket', 'tcp'], 'TLS/1.2', true],
    [['websocket', 'tcp'], 'h2c', true],
    [['websocket', 'tcp'], '', true],
    [['SPDY/3.1'], 'spdy/3.1', false],
    [['SPDY/3.1'], 'SPDY/3x1', true],
    [['a', 'ab'], 'a', false],
    [['a', 'ab'], 'ab', false],
    [['a', 'ab'], 'abc', true],
    [['a', 'ab'], 'b', true],
    [['a-b]'], 'A-B]', false],
    [['a-b]'], 'a-b', true],
  ])('for %j decides on "%s": %s', (words, text, expected) => {
    expect(matches(words, text)).toBe(expected)
  })
})
