import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { licenceTexts, packageName, packagesInSources, packagesOfBundles } from './bundled-packages.mjs'

describe('packages of bundles', () => {
  let base: string
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'osm-bundles-'))
  })
  afterEach(() => rmSync(base, { recursive: true }))

  test('are listed once, whatever folder a source map is relative to', () => {
    const sources = [
      '../src/main.ts',
      '../../node_modules/.pnpm/b@2.0.0/node_modules/b/x.js',
      '../../core/node_modules/.pnpm/@a+c@1.0.0_d@3.0.0/node_modules/@a/c/y.js',
      '../../node_modules/.pnpm/b@2.0.0/node_modules/b/z.js',
    ]
    expect(packagesInSources(sources)).toEqual(['@a+c@1.0.0_d@3.0.0', 'b@2.0.0'])
  })

  test('have the name that their folder tells', () => {
    expect(packageName('@a+c@1.0.0_d@3.0.0')).toBe('@a/c')
    expect(packageName('b@2.0.0')).toBe('b')
    expect(() => packageName('b')).toThrow('expected <name>@<version>')
  })

  test('have the texts of their licences and notices, and no other files', () => {
    const store = join(base, 'node_modules/.pnpm/b@2.0.0/node_modules/b')
    mkdirSync(store, { recursive: true })
    writeFileSync(join(store, 'package.json'), '{ "version": "2.0.0", "license": "MIT" }')
    for (const file of ['LICENSE.md', 'NOTICE', 'licenses.js']) writeFileSync(join(store, file), `text of ${file}\n`)
    writeFileSync(
      join(base, 'a.mjs.map'),
      JSON.stringify({ sources: ['node_modules/.pnpm/b@2.0.0/node_modules/b/x.js'] }),
    )
    expect(packagesOfBundles(['a.mjs'], base)).toEqual([
      { name: 'b', version: '2.0.0', license: 'MIT', texts: ['text of LICENSE.md', 'text of NOTICE'] },
    ])
  })

  test('share one text in the file of licences if their texts are equal', () => {
    const text = licenceTexts([
      { name: 'a', version: '1.0.0', license: 'MIT', texts: ['Permission is granted.'] },
      { name: 'b', version: '2.0.0', license: 'MIT', texts: ['Permission is granted.'] },
      { name: 'c', version: '3.0.0', license: 'ISC', texts: [] },
    ])
    expect(text).toContain('a 1.0.0 (MIT)\nb 2.0.0 (MIT)\n\nPermission is granted.\n')
    expect(text.match(/Permission/g)).toHaveLength(1)
    expect(text).toContain('c 3.0.0 (ISC)\n\nThe package contains no text of its licence.\n')
  })
})
