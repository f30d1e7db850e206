import { describe, expect, it } from '@jest/globals'
import { linkFaults } from './links.mjs'

const pages = new Map([
  ['docs/b.md', '# Title\n\n## Two words, `code`\n\n## Twice\n\n## Twice\n\n```\n## none\n```\n'],
  ['docs/c.txt', ''],
])
const faults = (text: string) => linkFaults('docs/a.md', text, (path) => pages.get(path))

describe('linkFaults', () => {
  it.each([
    '[file](c.txt)',
    '[page](b.md), [heading](b.md#two-words-code), [second](b.md#twice-1)',
    '# Own heading\n[own](#own-heading)',
    '[elsewhere](https://example.org/b.md#x) and [mail](mailto:a@example.org)',
    '`[code](missing.md)`\n```\n[fenced](missing.md)\n```',
  ])('accepts %j', (text) => {
    expect(faults(text)).toEqual([])
  })

  it('names the page, the line and the link of what leads nowhere', () => {
    expect(faults('\n[x](missing.md)')).toEqual(['docs/a.md:2: missing.md: there is no docs/missing.md'])
    expect(faults('[x](b.md#none)')).toEqual(['docs/a.md:1: b.md#none: docs/b.md has no heading #none'])
    expect(faults('![x](../picture.svg)')).toEqual(['docs/a.md:1: ../picture.svg: there is no picture.svg'])
  })
})
