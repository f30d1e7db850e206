import { describe, expect, it } from '@jest/globals'
import { stagePage } from './stage-page.mjs'

const pages = ['README.md', 'docs/README.md', 'docs/guides/a.md', 'docs/design/decisions/README.md']
const indexed = ['docs/guides', 'docs/design/decisions']
const tree = (repository?: string) => ({
  isPage: (path: string) => pages.includes(path),
  isIndexed: (path: string) => indexed.includes(path),
  repository,
})
const staged = (text: string, repository?: string, path = 'docs/guides/a.md') =>
  stagePage(path, text, tree(repository)).text

describe('stagePage', () => {
  it('leads links to READMEs and folders to their index pages', () => {
    expect(staged('[a](../../README.md#demo) [b](README.md)', undefined, 'docs/README.md')).toBe('a [b](index.md)')
    expect(staged('[a](../../README.md#demo)')).toBe('[a](../../index.md#demo)')
    expect(staged('[a](guides/) [b](design/decisions)', undefined, 'docs/README.md')).toBe(
      '[a](guides/index.md) [b](design/decisions/index.md)',
    )
  })

  it('leads links to other files to the repository, or makes them text if its address is unknown', () => {
    const text = 'See [the `code`](../../tools/ci.mjs#L1) and [runs](../../../../actions/x).'
    expect(staged(text)).toBe('See the `code` and runs.')
    expect(staged(text, 'https://git.example/mesh')).toBe(
      'See [the `code`](https://git.example/mesh/blob/main/tools/ci.mjs#L1) and [runs](https://git.example/mesh/actions/x).',
    )
  })

  it('leads links whose label continues on the next line', () => {
    expect(
      staged('See [the\n  code](../../tools/ci.mjs), `[`\nand [a](../README.md).', 'https://git.example/mesh'),
    ).toBe('See [the code](https://git.example/mesh/blob/main/tools/ci.mjs), `[`\nand [a](../index.md).')
  })

  it.each(['[a](https://example.org/README.md)', '[a](#here)', '`[a](b.md)`', '```\n[a](b.md)\n<details>\n```'])(
    'leaves %j as it is',
    (text) => {
      expect(staged(text)).toBe(text)
    },
  )

  it('names the pictures of a page by their paths in the repository', () => {
    const { text, pictures } = stagePage('docs/guides/a.md', '![demo](../images/demo.svg)', tree())
    expect({ text, pictures }).toEqual({ text: '![demo](../images/demo.svg)', pictures: ['docs/images/demo.svg'] })
  })

  it('leaves out badges and keeps what can be unfolded', () => {
    expect(staged('# A\n[![CI](../../x.svg)](../../actions)\nText')).toBe('# A\nText')
    expect(staged('<details>\n<summary>More</summary>\n\ntext\n\n</details>')).toBe('::: details More\n\ntext\n\n:::')
  })
})
