import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, jest } from '@jest/globals'
import { finalLine, noTests, parseCounts, partLine, reportCounts, sumCounts } from './counts.mjs'
import { temporaryFolders } from '../testing/temporary-folder.js'

const folder = temporaryFolders()
const some = { passed: 3, failed: 1, skipped: 2 }

describe('counts', () => {
  it('adds up', () => {
    expect(sumCounts([some, { passed: 10, failed: 0, skipped: 5 }])).toEqual({ passed: 13, failed: 1, skipped: 7 })
    expect(sumCounts([])).toEqual(noTests)
  })

  it('writes the final line exactly so', () => {
    expect(finalLine(some)).toBe('3 passed, 1 failed, 2 skipped')
  })

  it('gives a part a form that no one takes for the final line', () => {
    expect(partLine('unit', some)).not.toMatch(/\d+ passed, \d+ failed, \d+ skipped/)
  })

  it.each([
    null,
    {},
    { passed: 1, failed: 0 },
    { passed: -1, failed: 0, skipped: 0 },
    { passed: 0.5, failed: 0, skipped: 0 },
  ])('refuses %j as counts', (value) => {
    expect(() => parseCounts(value)).toThrow('counts')
  })
})

describe('reportCounts', () => {
  function reported(env: NodeJS.ProcessEnv): string {
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true)
    try {
      reportCounts('tests', some, env)
      return write.mock.calls.map(([text]) => String(text)).join('')
    } finally {
      write.mockRestore()
    }
  }

  it('ends its own run with the final line', () => {
    expect(reported({})).toBe('3 passed, 1 failed, 2 skipped\n')
  })

  it('hands the counts to the run it is a part of', () => {
    const file = join(folder(), 'counts.json')
    expect(reported({ OSM_COUNTS_FILE: file })).toBe('tests: passed=3 failed=1 skipped=2\n')
    expect(parseCounts(JSON.parse(readFileSync(file, 'utf8')))).toEqual(some)
  })
})
