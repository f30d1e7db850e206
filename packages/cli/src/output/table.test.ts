import { describe, expect, it } from '@jest/globals'

import { span } from './style.js'
import { renderTable } from './table.js'

describe('renderTable', () => {
  it('lays out columns as wide as their widest cell', () => {
    const rows = [
      [span('a'), span('1')],
      [span('longer'), span('22')],
    ]
    expect(renderTable([{ title: 'NAME' }, { title: 'N', align: 'right' }], rows, { color: false })).toEqual([
      'NAME     N',
      'a        1',
      'longer  22',
    ])
  })

  it('lays out more rows than a call takes arguments', () => {
    const rows = Array.from({ length: 200_000 }, (_, at) => [span(`row ${at}`)])
    const lines = renderTable([{ title: 'NAME' }], rows, { color: false })
    expect(lines).toHaveLength(200_001)
    expect(lines.at(-1)).toBe('row 199999')
  })
})
