import { describe, expect, it } from '@jest/globals'
import { Linter } from 'eslint'
import tseslint from 'typescript-eslint'

import { ownKeysPlugin } from './own-keys.mjs'

function faults(code: string): readonly string[] {
  const found = new Linter().verify(
    code,
    {
      files: ['**/*.ts'],
      languageOptions: { parser: tseslint.parser },
      plugins: { osm: ownKeysPlugin },
      rules: { 'osm/own-keys': 'error' },
    },
    'a.ts',
  )
  return found.map(({ messageId, message }) => messageId ?? message)
}

describe('the lint rule for keys of users', () => {
  it.each([
    ['a question by in', 'const known = key in before', 'in'],
    ['a question by in about a member', 'if (entry.name in table) stop()', 'in'],
    ['a dictionary that starts as an object', 'const found: Record<string, number> = {}', 'accumulator'],
    ['one with an index signature', 'const found: { [name: string]: string } = {}', 'accumulator'],
    ['a lookup among labels', 'const value = labels[key]', 'lookup'],
    ['a lookup among labels of an object', 'const value = pod.metadata.labels[key]', 'lookup'],
    ['a key that a parameter gives', 'function of(key: string) { return labels[key] }', 'lookup'],
    ['a guess at another key', 'if (Object.hasOwn(labels, other)) use(labels[key])', 'lookup'],
    ['an assignment to headers', 'request.headers[name.toLowerCase()] = value', 'lookup'],
  ])('%s is refused', (_, code, messageId) => {
    expect(faults(code)).toEqual([messageId])
  })

  it.each([
    ['a question about a member that the code names', "if ('code' in error) stop()"],
    ['a private member', 'class A { #a = 1; static is(v: object) { return #a in v } }'],
    ['a dictionary that stays empty', 'let found: Readonly<Record<string, string>> = {}'],
    ['a label that a table of the code names', "import { names } from './names.js'\nconst value = labels[names.app]"],
    ['a map', 'const found = new Map<string, number>()'],
    ['a table with keys of the code', "const found: Partial<Record<'a' | 'b', number>> = {}"],
    ['a label that the code names', "const value = labels['app']"],
    ['a label that an import names', "import { appLabel } from './names.js'\nconst value = labels[appLabel]"],
    ['a label that a constant names', "const app = 'app'\nconst value = labels[app]"],
    ['a lookup that asks first', 'const value = Object.hasOwn(labels, key) ? labels[key] : undefined'],
    ['the helper', 'const value = ownValue(labels, key)'],
    ['an item of a list', 'const header = headers[index]'],
  ])('%s is accepted', (_, code) => {
    expect(faults(code)).toEqual([])
  })
})
