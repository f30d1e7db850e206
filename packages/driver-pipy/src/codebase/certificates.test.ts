import { describe, expect, it } from '@jest/globals'
import { testAuthority } from '@osm-ts/driver-testkit'

import { pemsOf } from '../../codebase/certificates.js'

describe('texts with certificates', () => {
  const [one, two] = [testAuthority('one').certificate, testAuthority('two').certificate]

  it.each([
    ['', []],
    ['nothing of the kind', []],
    [one, [one]],
    [one + two, [one, two]],
    [`# one\n${one}\n\n# two\n${two}\nthe end`, [one, two]],
    [one.slice(0, -5), []],
  ])('are taken apart', (text, parts) => {
    expect(pemsOf(text)).toEqual(parts)
  })
})
