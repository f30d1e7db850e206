import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { requestPath } from './request-path.js'

describe('requestPath', () => {
  it.each([
    ['/', '/'],
    ['/a/b?c=/../d', '/a/b'],
    ['//a///b', '/a/b'],
    ['/a/...', '/a/...'],
    ['/.hidden/a.b', '/.hidden/a.b'],
    ['/%C3%A9', '/%C3%A9'],
  ])('takes %s as %s', (target, path) => {
    expect(requestPath(target)).toEqual({ ok: true, path, readings: [] })
  })

  it.each([
    ['', 'slash'],
    ['a', 'slash'],
    ['/a/../b', 'dot segment'],
    ['/a/.', 'dot segment'],
    ['/a/%2e%2E/b', 'dot segment'],
    ['/a/.%2e', 'dot segment'],
    ['/a/..;x=1/b', 'dot segment'],
    ['//', 'slashes'],
    ['///?a', 'slashes'],
    ['/a/%2e%3B', 'dot segment'],
    ['/a%2fb', 'escapedSlashes: Keep'],
    ['/a%5Cb', 'encoded slash or backslash'],
    ['/a\\b', 'backslash'],
    ['/a#b', '#'],
    ['/a%00', 'NUL'],
    ['/%ff', 'UTF-8'],
    ['/%', 'UTF-8'],
  ])('refuses %s', (target, reason) => {
    const result = requestPath(target)
    expect(result.ok).toBe(false)
    expect(!result.ok && result.reason).toContain(reason)
  })

  it.each([
    ['/a%2Fb?c', '/a%2Fb', ['/a/b', '/a/b']],
    ['/a//%2f/b%5C', '/a/%2f/b%5C', ['/a///b/', '/a/b/']],
    ['/a/b%252f', '/a/b%252f', []],
  ])('keeps the escaped slashes of %s, and says how else it may be read', (target, path, readings) => {
    expect(requestPath(target, 'Keep')).toEqual({ ok: true, path, readings })
  })

  it.each(['/a/..%2fb', '/a%2f..', '/a%2f%2e%2E%5cb', '/a%5c..;x/b', '/a%2f.%3bx', '/a%00', String.raw`/a\b`])(
    'refuses %s even where escaped slashes are kept',
    (target) => {
      expect(requestPath(target, 'Keep').ok).toBe(false)
    },
  )

  it('gives paths that it takes again as they are', () => {
    fc.assert(
      fc.property(fc.webPath(), (target) => {
        const first = requestPath(target)
        if (first.ok) expect(requestPath(first.path)).toEqual(first)
      }),
    )
  })
})
