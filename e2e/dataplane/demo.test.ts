import { describe, expect, it } from '@jest/globals'

import { runDemo } from './support/demo.js'

describe('the demo in explicit mode', () => {
  it('sees every expectation hold', async () => {
    const { code, result } = await runDemo([])
    expect(result).toMatchObject({ ok: true, failures: [] })
    expect(code).toBe(0)
  })

  it('shares one service among a pod, a virtual machine and a machine that joined', async () => {
    const { code, result, trail } = await runDemo(['--machines', '--seconds', '1'])
    expect({ failures: result.failures, trail }).toEqual({ failures: [], trail })
    expect(result.split?.[0]?.backends.map(({ service, wanted }) => [service, wanted])).toEqual([
      ['bookstore-vm', 0.5],
      ['bookstore-pod', 0.3],
      ['bookstore-onprem', 0.2],
    ])
    expect(code).toBe(0)
  })
})
