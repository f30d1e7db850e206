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

  it.each([
    ['/a%2fb', ['/a/b', '/a/b']],
    ['//a/%2F/b%5C?%2f', ['/a///b/', '/a/b/']],
    ['/a%252f', []],
  ])('reads %s in every way where escaped slashes are kept', (target, readings) => {
    expect(readTarget(target, true)).toMatchObject({ refused: false, readings })
  })

  it.each(['/a/..%2fb', '/a%2f..', '/a%2f%2e%2E%5cb', '/a%5c..;x/b', '/a%2f.%3bx', '/a%2f%00', '/%2f%ff'])(
    'refuses %s even where escaped slashes are kept',
    (target) => {
      expect(readTarget(target, true).refused).toBe(true)
    },
  )

  it('refuses bytes that are not text, and takes those that are', () => {
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
