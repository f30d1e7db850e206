import { describe, expect, it } from '@jest/globals'

import { abandonable } from './abandonable.js'

describe('work that can be given up', () => {
  it('gives what the work gives, or its error', async () => {
    await expect(abandonable(async () => 'done').done).resolves.toBe('done')
    const error = new Error('broken')
    await expect(abandonable(() => Promise.reject(error)).done).rejects.toBe(error)
  })

  it('ends with the reason at once, even if the work never does', async () => {
    let seen: AbortSignal | undefined
    const { done, abandon } = abandonable((signal) => {
      seen = signal
      return new Promise<never>(() => undefined)
    })
    expect(seen?.aborted).toBe(false)
    const reason = new Error('enough')
    abandon(reason)
    await expect(done).rejects.toBe(reason)
    expect(seen?.reason).toBe(reason)
  })

  it('drops what comes after it was given up', async () => {
    let finish: (text: string) => void = () => undefined
    const { done, abandon } = abandonable(() => new Promise<string>((resolve) => (finish = resolve)))
    abandon(new Error('enough'))
    finish('late')
    await expect(done).rejects.toThrow('enough')
  })
})
