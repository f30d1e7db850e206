import { describe, expect, it } from '@jest/globals'

import { isNestedDeeper } from './json-depth.js'

describe('the depth of a JSON text', () => {
  it('counts lists and objects that stand inside each other', () => {
    expect(isNestedDeeper('[[[]]]', 3)).toBe(false)
    expect(isNestedDeeper('[[[]]]', 2)).toBe(true)
    expect(isNestedDeeper('{"a":[{"b":1}]}', 2)).toBe(true)
    expect(isNestedDeeper('[[],[],[]]', 2)).toBe(false)
  })

  it('does not count what stands in texts', () => {
    expect(isNestedDeeper('["[[[[", "\\"[[[", "\\\\"]', 1)).toBe(false)
    expect(isNestedDeeper('["\\\\", [[]]]', 2)).toBe(true)
    expect(isNestedDeeper('["never ends [[[', 1)).toBe(false)
  })
})
