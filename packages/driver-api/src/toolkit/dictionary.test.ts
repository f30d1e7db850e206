import { describe, expect, it } from '@jest/globals'

import { dictionary, isRecord, ownValue } from './dictionary.js'

const hostileKeys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']

describe('dictionaries', () => {
  it.each(hostileKeys)('a dictionary keeps the key %j and gives its value', (key) => {
    const made = dictionary([[key, 'x']])
    expect(Object.entries(made)).toEqual([[key, 'x']])
    expect(ownValue(made, key)).toBe('x')
  })

  it.each(hostileKeys)('an object that only inherits the key %j has no value for it', (key) => {
    expect(ownValue({}, key)).toBeUndefined()
    expect(ownValue(dictionary([]), key)).toBeUndefined()
  })

  it('a dictionary keeps the last of equal keys', () => {
    const entries: [string, number][] = [
      ['a', 1],
      ['a', 2],
    ]
    expect(ownValue(dictionary(entries), 'a')).toBe(2)
  })
})

describe('isRecord', () => {
  it.each([[{}], [{ a: 1 }], [dictionary([['a', 1]])]])('accepts the object %j', (value) => {
    expect(isRecord(value)).toBe(true)
  })

  it.each([[null], [undefined], [[]], ['text'], [1], [true]])('refuses %j', (value) => {
    expect(isRecord(value)).toBe(false)
  })
})
