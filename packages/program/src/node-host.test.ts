import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { describe, expect, it, jest } from '@jest/globals'

import { boundHeapGrowth } from './node-host.js'

describe('boundHeapGrowth', () => {
  it('gives V8 a flag that this Node.js knows', async () => {
    const setFlagsFromString = jest.fn<(flags: string) => void>()
    boundHeapGrowth({ setFlagsFromString }, 25)
    const [[flag]] = setFlagsFromString.mock.calls as [[string]]
    // V8 itself only warns of a flag that it does not know; the command line of Node.js refuses one.
    await promisify(execFile)(process.execPath, [flag, '-e', ''])
    await expect(promisify(execFile)(process.execPath, [`${flag}-else`, '-e', ''])).rejects.toThrow('heap-growing')
  })
})
