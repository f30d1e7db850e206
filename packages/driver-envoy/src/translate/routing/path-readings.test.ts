import { describe, expect, it } from '@jest/globals'

import { readingsPermission } from './path-readings.js'

describe('readingsPermission', () => {
  it.each([
    ['/a', '(?:/a)/'],
    [String.raw`\Q/a.b`, String.raw`(?:\Q/a.b\E)/`],
    [String.raw`\Q/a\E/b`, String.raw`(?:\Q/a\E/b)/`],
    [String.raw`/\\Qa`, String.raw`(?:/\\Qa)/`],
    [String.raw`\Q/a\\E/b`, String.raw`(?:\Q/a\\E/b)/`],
    [String.raw`\Q/a\E\Q/b`, String.raw`(?:\Q/a\E\Q/b\E)/`],
  ])('matches the readings of %s as a whole', (value, expected) => {
    expect(JSON.stringify(readingsPermission({ type: 'regex', value }))).toContain(JSON.stringify(expected))
  })

  it('asks nothing more of a path that is written out', () => {
    expect(readingsPermission({ type: 'exact', value: '/a' })).toBeUndefined()
  })
})
