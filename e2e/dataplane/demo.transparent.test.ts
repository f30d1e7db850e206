import { describe, expect, it } from '@jest/globals'

import { runDemo } from './support/demo.js'
import { kernelTestObstacle, namespaceNames } from './support/kernel.js'

describe('the demo in transparent mode', () => {
  it('sees every expectation hold, and leaves no network namespace behind', async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    const before = namespaceNames()
    const { code, result } = await runDemo(['--transparent'])
    expect(result).toMatchObject({ ok: true })
    expect(code).toBe(0)
    expect(namespaceNames()).toEqual(before)
  }, 120_000)
})
