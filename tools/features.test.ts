import { describe, expect, it } from '@jest/globals'
import { findFeatureFaults } from './lib/features.mjs'

const head = '| Capability | Shown by | Note |\n| --- | --- | --- |\n'

describe('the table of features', () => {
  it('may name what exists, or say that there is nothing yet', () => {
    const rows = '| a | [a](../../e2e/a.yaml), [b](../../e2e/b.yaml) | |\n| b | not yet | |\n'
    expect(findFeatureFaults(head + rows, () => true)).toEqual([])
  })

  it('may not name what does not exist, nor leave a row open', () => {
    const rows = '| a | [a](../../e2e/a.yaml) | |\n| b | soon | |\n'
    expect(findFeatureFaults(head + rows, () => false)).toEqual([
      'docs/reference/features.md:3: there is no e2e/a.yaml',
      'docs/reference/features.md:4: "b" names no scenario and no test; write "not yet" if there is none',
    ])
  })
})
