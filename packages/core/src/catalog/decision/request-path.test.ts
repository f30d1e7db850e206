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
    expect(requestPath(target)).toEqual({ ok: true, path })
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
    ['/a%2fb', 'encoded slash'],
    ['/a%5Cb', 'encoded slash, backslash'],
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

  it('gives paths that it takes again as they are', () => {
    fc.assert(
      fc.property(fc.webPath(), (target) => {
        const first = requestPath(target)
        if (first.ok) expect(requestPath(first.path)).toEqual(first)
      }),
    )
  })
})
