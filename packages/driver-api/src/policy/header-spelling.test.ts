import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import {
  allSpellings,
  isIdentityHeader,
  isOrderHeader,
  namedHeaders,
  otherSpellings,
  withheldHeaders,
} from './header-spelling.js'

const isMatched = (expressions: readonly string[], name: string): boolean =>
  expressions.some((expression) => new RegExp(`^(?:${expression})$`).test(name))

describe('spellings of header names', () => {
  it('finds the headers that matches name, without parts of the request line', () => {
    const header = (name: string) => ({ name, match: { type: 'present' as const } })
    expect(
      namedHeaders([{ headers: [header('x-b'), header(':authority')] }, {}, { headers: [header('x-a')] }]),
    ).toEqual(['x-a', 'x-b'])
  })

  it('matches other spellings of a name and not the name itself', () => {
    const expressions = otherSpellings(['x-user-role'])
    for (const name of ['x_user_role', 'x-user_role', 'x_user-role']) expect(isMatched(expressions, name)).toBe(true)
    for (const name of ['x-user-role', 'x-user-roles', 'xx_user_role', 'x.user.role'])
      expect(isMatched(expressions, name)).toBe(false)
  })

  it('leaves a name without separators, and names that rules name in all spellings, alone', () => {
    expect(otherSpellings(['host', 'x-a', 'x_a'])).toEqual([])
  })

  it('withholds headers for identities and orders to proxies in every spelling, and no others', () => {
    for (const name of ['x-envoy-retry-on', 'x_envoy_max-retries', 'serviceidentity', 'x_forwarded-client-cert']) {
      expect(isMatched(withheldHeaders(), name)).toBe(true)
      expect([isIdentityHeader(name), isOrderHeader(name.toUpperCase())].filter(Boolean)).toHaveLength(1)
    }
    for (const name of ['x-envoyage', 'my-x-envoy-a', 'x-forwarded-for']) {
      expect(isMatched(withheldHeaders(), name)).toBe(false)
      expect(isIdentityHeader(name) || isOrderHeader(name)).toBe(false)
    }
  })

  it('matches exactly the names that fold to a given one and are not given', () => {
    const name = fc
      .tuple(
        fc.constantFrom('a', 'a.b', 'a+'),
        fc.array(fc.tuple(fc.constantFrom('-', '_'), fc.constantFrom('a', 'b')), { maxLength: 3 }),
      )
      .map(([first, rest]) => first + rest.flat().join(''))
    const fold = (text: string): string => text.replaceAll('_', '-')
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 6 }), name, (names, other) => {
        const isSpelling = names.some((each) => fold(each) === fold(other))
        expect(isMatched(otherSpellings(names), other)).toBe(isSpelling && !names.includes(other))
        expect(isMatched(allSpellings(names), other)).toBe(isSpelling)
      }),
    )
  })
})
