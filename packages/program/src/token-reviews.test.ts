import { describe, expect, it } from '@jest/globals'

import { TokenReviews } from './token-reviews.js'

type Verdict = 'permitted' | 'refused'

function setUp(options: { readonly maxRemembered?: number; readonly burst?: number } = {}) {
  const { maxRemembered = 2, burst = 3 } = options
  const state = { time: 0, reviewed: [] as string[], verdict: 'permitted' as Verdict }
  const reviews = new TokenReviews<Verdict>({
    review: async (token) => {
      state.reviewed.push(token)
      await Promise.resolve()
      if (token === 'unanswered') throw new Error('the API server is unavailable')
      return state.verdict
    },
    accepted: 'permitted',
    keepMs: 1000,
    maxRemembered,
    attempts: { perSource: { burst, perSecond: 0 }, inAll: { burst: 100, perSecond: 0 } },
    monotonic: () => state.time,
  })
  return { state, check: (token: string, source = 'a') => reviews.check(token, source) }
}

describe('reviews of tokens', () => {
  it('an accepted token is not reviewed again for a while, and one review serves requests at once', async () => {
    const { state, check } = setUp()
    await expect(Promise.all([check('x'), check('x')])).resolves.toEqual(['permitted', 'permitted'])
    state.time = 999
    await check('x')
    expect(state.reviewed).toEqual(['x'])
    state.time = 1000
    state.verdict = 'refused'
    await expect(check('x')).resolves.toBe('refused')
    expect(state.reviewed).toEqual(['x', 'x'])
  })

  it('refused tokens use up the attempts of their source, and an accepted one needs none', async () => {
    const { state, check } = setUp()
    await check('mine')
    state.verdict = 'refused'
    await expect(Promise.all(['p', 'q', 'r'].map((token) => check(token)))).resolves.toEqual([
      'refused',
      'refused',
      'busy',
    ])
    state.time = 5000
    state.verdict = 'permitted'
    await expect(check('mine')).resolves.toBe('permitted')
    await expect(check('p', 'b')).resolves.toBe('permitted')
  })

  it('the token that was accepted first is forgotten when there are too many', async () => {
    const { state, check } = setUp()
    for (const token of ['x', 'y', 'z']) await check(token, token)
    await check('z')
    await check('x')
    expect(state.reviewed).toEqual(['x', 'y', 'z', 'x'])
  })

  it('a text that is no token is not passed on, and a review that fails is not remembered', async () => {
    const { state, check } = setUp()
    for (const text of ['', 'a b', 'a\n', 'x'.repeat(8193)]) await expect(check(text)).resolves.toBe('invalid')
    expect(state.reviewed).toEqual([])
    await expect(check('unanswered')).rejects.toThrow('the API server is unavailable')
    await expect(check('unanswered')).rejects.toThrow('the API server is unavailable')
    expect(state.reviewed).toEqual(['unanswered', 'unanswered'])
  })
})
