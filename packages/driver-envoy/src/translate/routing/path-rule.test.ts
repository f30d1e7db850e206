import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { AMBIGUOUS_PATH, ESCAPED_SLASH, UTF8_PATH } from './path-rule.js'

/** RE2 matches whole values, and has an escape for any byte; all else means the same here. */
function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern.replaceAll(String.raw`\C`, String.raw`[\s\S]`)})$`)
}

const ambiguous = whole(AMBIGUOUS_PATH)
const escaped = whole(ESCAPED_SLASH)
const utf8 = whole(UTF8_PATH)

describe('the path rule', () => {
  it.each([
    '/..',
    '/.',
    '/a/../b',
    '/a/./b',
    '/a/%2e%2E/b',
    '/a/.%2e',
    '/%2e',
    '/a/..%2fb',
    '/a%2F..',
    '/a%5c%2e%2E%5Cb',
    '/a%2f.;x',
    String.raw`/a\b`,
    '/a%00b',
    '/a/..\xff/%2e%2e/',
    '/a/..;/b',
    '//',
    '/a/.;x=1',
    '/a/%2e%2e%3Bx/b',
  ])('refuses %j', (path) => {
    expect(ambiguous.test(path)).toBe(true)
  })

  it.each(['/a%2fb', '/a%2Fb', '/a%5cb', '/a%5Cb', '/%2f'])('knows that %j has an escaped slash', (path) => {
    expect(escaped.test(path)).toBe(true)
    expect(ambiguous.test(path)).toBe(false)
  })

  it.each([
    '/',
    '/a',
    '/...',
    '/.a',
    '/a.',
    '/a..b',
    '/..a/b',
    '/%2e%2e%2e',
    '/a%20b',
    '/a/b.html',
    '/%2eb',
    '/a;..',
    '/...;a',
    '*',
  ])('lets %j pass', (path) => {
    expect(ambiguous.test(path)).toBe(false)
    expect(escaped.test(path)).toBe(false)
    expect(utf8.test(path)).toBe(true)
  })

  it.each([
    '/%ff',
    '/%c3',
    '/%c3%28',
    '/%e2%82',
    '/%ed%a0%80',
    '/%f5%80%80%80',
    '/%c0%af',
    '/%',
    '/%4',
    '/%zz',
    '/a\0',
  ])('refuses %j, which is not UTF-8', (path) => {
    expect(utf8.test(path)).toBe(false)
  })

  it('takes for UTF-8 whatever is encoded as it should be, and leaves queries alone', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(text, (value) => {
        const path = `/${encodeURIComponent(value)}`
        expect(utf8.test(path)).toBe(true)
        expect(utf8.test(`${path}?q=%ff&100%`)).toBe(true)
      }),
    )
  })

  it('decides about encoded bytes as a decoder does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 6 }), (bytes) => {
        const path = `/${[...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')}`
        const isValid = (): boolean => {
          try {
            decodeURIComponent(path)
            return true
          } catch {
            return false
          }
        }
        expect(utf8.test(path)).toBe(isValid())
      }),
      { numRuns: 2000 },
    )
  })
})
