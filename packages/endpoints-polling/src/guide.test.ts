import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { listLimits } from './collect-pages.js'
import { selectorsPerNamespace } from './read-resources.js'
import { resolveCodes, ResolveFailure } from './resolve-failure.js'

const guide = readFileSync(join(process.cwd(), 'docs/guides/clouds.md'), 'utf8')
const rows = guide.slice(guide.indexOf('## What can go wrong')).match(/^\| `\w+`.*$/gm) ?? []

describe('the guide to clouds', () => {
  it('explains every reason, and says which keep the last good instances', () => {
    const told = rows.map((row) => {
      const [, code = '', , kept = ''] = row.split('|').map((cell) => cell.trim())
      return `${code.replaceAll('`', '')} ${kept}`
    })
    const expected = resolveCodes.map((code) => {
      const { isUncertain } = new ResolveFailure(code, '')
      return `${code} ${isUncertain ? 'kept' : 'removed'}`
    })
    expect(told.sort()).toEqual(expected.sort())
  })

  it('names the bounds as they are', () => {
    expect(guide).toContain(`more than ${listLimits.items.toLocaleString('en')} items`)
    expect(guide).toContain(`within ${listLimits.pages} pages`)
    expect(guide).toContain(`more than ${selectorsPerNamespace} selectors`)
  })
})
