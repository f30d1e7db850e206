import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { textWithFiles } from './text-with-files.js'

describe('textWithFiles', () => {
  it('is the same JSON, where no file is named', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = textWithFiles(JSON.parse(JSON.stringify(value)) as never)
        const strings = text.filter((part) => typeof part === 'string')
        expect(strings).toEqual(text)
        expect(JSON.parse(strings.join(''))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('leaves the place of a file to the host', () => {
    expect(textWithFiles({ privateKey: { filename: 'sds_key.pem' } })).toEqual([
      '{"privateKey":{"filename":"',
      { ref: 'file', path: 'sds_key.pem' },
      '"}}\n',
    ])
  })

  it('takes no text of a user for a file', () => {
    expect(textWithFiles({ id: 'sds_key.pem', path: '../sds_key.pem' })).toHaveLength(1)
  })
})
