import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { readTarget } from './request-target.js'

describe('readTarget', () => {
  it.each([
    ['/', '/'],
    ['//a///b/', '/a/b/'],
    ['/a/...', '/a/...'],
    ['/.hidden', '/.hidden'],
    ['/a;v=1/b', '/a;v=1/b'],
    ['/%C3%A9', '/%C3%A9'],
    ['/%41', '/%41'],
    ['/a?x=/../%2f', '/a'],
  ])('reads %s as %s', (target, path) => {
    expect(readTarget(target)).toMatchObject({ refused: false, path })
  })

  it.each([
    '',
    'a',
    '*',
    '/..',
    '//',
    '///?a',
    '/.',
    '/a/./b',
    '/%2e%2E/b',
    '/a/.%2e',
    '/a/..;x=1/b',
    '/a/%2e%3bx/b',
    '/a%2fb',
    '/a%5Cb',
    '/a%00',
    String.raw`/a\b`,
    '/a#b',
    '/a?b#c',
    '/a b',
    '/a\tb',
    '/a\x7f',
    '/%',
    '/%4',
    '/%zz',
    '/%ff',
    '/%c0%af',
    '/%ed%a0%80',
  ])('refuses %j', (target) => {
    expect(readTarget(target).refused).toBe(true)
  })

  it('refuses bytes that are no text, and takes those that are', () => {
    expect(readTarget(Buffer.from([0x2f, 0xff])).refused).toBe(true)
    expect(readTarget(Buffer.from('/é'))).toMatchObject({ refused: false, path: '/é' })
  })

  it('reads what it has read again as it is', () => {
    fc.assert(
      fc.property(fc.webPath(), (target) => {
        const first = readTarget(target)
        if (!first.refused) expect(readTarget(first.path)).toMatchObject({ refused: false, path: first.path })
      }),
    )
  })
})
