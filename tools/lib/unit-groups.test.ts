import { describe, expect, it } from '@jest/globals'

import { groupFiles } from './unit-groups.mjs'

describe('groups of unit tests', () => {
  const files = Array.from({ length: 45 }, (_, index) => `file-${String(index).padStart(2, '0')}`)

  it('hold every file once, neighbours together, none much larger than another', () => {
    const groups = groupFiles([...files].reverse(), 20)
    expect(groups.flat()).toEqual(files)
    expect(groups.map(({ length }) => length)).toEqual([15, 15, 15])
  })

  it('are none where there are no files', () => {
    expect(groupFiles([], 20)).toEqual([])
  })
})
