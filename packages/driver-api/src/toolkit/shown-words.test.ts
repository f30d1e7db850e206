import { describe, expect, it } from '@jest/globals'

import { MAX_SHOWN_WORDS, printable, shownWords } from './shown-words.js'

describe('text to print', () => {
  it('steers no terminal and keeps letters of every script', () => {
    expect(printable('a\u001B[2Jb\u009Bc\u202Ed\ne\u{E0041}f')).toBe('a·[2Jb·c·d·e·f')
    expect(printable('é 中 "x" 🙂')).toBe('é 中 "x" 🙂')
  })
})

describe('words of a proxy', () => {
  it.each([
    'bad -----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY----- key',
    'cut off -----BEGIN PRIVATE KEY-----\nMIGH',
    'one cut off -----BEGIN PRIVATE KEY-----\nA\n-----END and another -----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----',
  ])('are shown without the key in %j', (words) => {
    expect(shownWords(words)).not.toContain('MIGH')
    expect(shownWords(words)).toContain('[redacted]')
  })

  it('are cut', () => {
    expect(shownWords('x'.repeat(10_000))).toHaveLength(MAX_SHOWN_WORDS)
  })
})
