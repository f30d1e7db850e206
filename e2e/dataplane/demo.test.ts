import { describe, expect, it } from '@jest/globals'

import { runDemo } from './support/demo.js'

describe('the demo in explicit mode', () => {
  it('sees every expectation hold', async () => {
    const { code, result } = await runDemo([])
    expect(result).toMatchObject({ ok: true, failures: [] })
    expect(code).toBe(0)
  })
})
