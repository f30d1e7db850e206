import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { listenerPortRange } from './port-range.js'

const folder = temporaryFolders()
const rangeOf = (text: string) => listenerPortRange(join(folder({ range: text }), 'range'))

describe('listenerPortRange', () => {
  it('ends below the ports of outgoing connections', () => {
    expect(rangeOf('32768\t60999\n')).toEqual({ first: 20_000, last: 32_767 })
    expect(rangeOf('49152 65535')).toEqual({ first: 20_000, last: 49_151 })
  })

  it('is the usual one where those begin too low, or are not known', () => {
    expect(rangeOf('1024 65535')).toEqual({ first: 20_000, last: 32_767 })
    expect(rangeOf('nonsense')).toEqual({ first: 20_000, last: 32_767 })
    expect(listenerPortRange('/no/such/file')).toEqual({ first: 20_000, last: 32_767 })
  })
})
