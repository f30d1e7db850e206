import { describe, expect, it } from '@jest/globals'

import { exceededJsonBound } from './json-depth.js'

const isNestedDeeper = (text: string, depth: number): boolean =>
  exceededJsonBound(text, { depth, values: 100 }) === 'depth'

describe('the number of values of a JSON text', () => {
  it('is never counted too low', () => {
    const beyond = (text: string, values: number): boolean => exceededJsonBound(text, { depth: 9, values }) === 'values'
    for (const [text, values] of [
      ['[1,2,3]', 4],
      ['[{},{},[],"a,b"]', 5],
      ['{"a":{"b":[1,2]},"c":null}', 6],
    ] as const) {
      expect(beyond(text, values - 1)).toBe(true)
      // A list counts, and so does its first item, whether there is one or not.
      expect(beyond(text, values * 2)).toBe(false)
    }
  })
})

describe('the depth of a JSON text', () => {
  it('counts lists and objects that stand inside each other', () => {
    expect(isNestedDeeper('[[[]]]', 3)).toBe(false)
    expect(isNestedDeeper('[[[]]]', 2)).toBe(true)
    expect(isNestedDeeper('{"a":[{"b":1}]}', 2)).toBe(true)
    expect(isNestedDeeper('[[],[],[]]', 2)).toBe(false)
  })

  it('does not count what is in texts', () => {
    expect(isNestedDeeper('["[[[[", "\\"[[[", "\\\\"]', 1)).toBe(false)
    expect(isNestedDeeper('["\\\\", [[]]]', 2)).toBe(true)
    expect(isNestedDeeper('["never ends [[[', 1)).toBe(false)
  })
})
