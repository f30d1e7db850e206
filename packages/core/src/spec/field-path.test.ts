import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { formatFieldPath, fromJsonPointer, parseFieldPath } from './field-path.js'

describe('field paths', () => {
  it('writes members, indexes and quoted members', () => {
    expect(formatFieldPath(['spec', 'backends', 1, 'weight'])).toBe('spec.backends[1].weight')
    expect(formatFieldPath(['metadata', 'labels', 'app.kubernetes.io/name'])).toBe(
      'metadata.labels["app.kubernetes.io/name"]',
    )
    expect(formatFieldPath([])).toBe('')
  })

  it('reads back what it writes', () => {
    const segment = fc.oneof(fc.nat(99), fc.string())
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), (path) => {
        expect(parseFieldPath(formatFieldPath(path))).toEqual(path)
      }),
    )
  })

  it('stops where the text is not a path', () => {
    expect(parseFieldPath('spec.a[')).toEqual(['spec', 'a'])
    expect(parseFieldPath('spec..a')).toEqual(['spec'])
    expect(parseFieldPath('spec["\\q"].a')).toEqual(['spec'])
    expect(parseFieldPath('spec["\u0000"].a')).toEqual(['spec'])
  })

  it('follows JSON pointers', () => {
    const value = { list: [{ 'a/b': { '~': 1 } }], '0': { x: 1 } }
    expect(fromJsonPointer(['spec'], '/list/0/a~1b/~0', value)).toEqual(['spec', 'list', 0, 'a/b', '~'])
    expect(fromJsonPointer([], '/0/x', value)).toEqual(['0', 'x'])
  })
})
