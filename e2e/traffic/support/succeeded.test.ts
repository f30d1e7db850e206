import { describe, expect, it } from '@jest/globals'

import { succeeded } from './succeeded.js'

describe('what an exchange has seen', () => {
  it('is right even where it tells of an error of the server', () => {
    const seen = { error: 'WRONGTYPE', code: 1 }
    expect(succeeded(seen)).toBe(seen)
    expect(succeeded('text')).toBe('text')
    expect(succeeded(null)).toBeNull()
  })

  it('is never right where the exchange itself failed', () => {
    expect(() => succeeded({ error: 'ECONNREFUSED' })).toThrow('an exchange failed: ECONNREFUSED')
  })
})
