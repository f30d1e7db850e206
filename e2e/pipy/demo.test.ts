import { describe, expect, it } from '@jest/globals'

import { runDemo } from '../dataplane/support/demo.js'

describe('the demo of class pipy', () => {
  it('sees every expectation hold', async () => {
    const { code, result } = await runDemo(['--class', 'pipy'])
    expect(result).toMatchObject({ ok: true, failures: [] })
    expect(code).toBe(0)
  })
})
