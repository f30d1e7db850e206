import { describe, expect, it } from '@jest/globals'

import { closest, didYouMean, SuggestionBudget } from './suggest.js'

describe('suggestions', () => {
  it.each([
    ['bakends', 'backends'],
    ['BACKENDS', 'backends'],
    ['sevrice', 'service'],
    ['servce', 'service'],
    ['ports', 'port'],
  ])('takes %s for %s', (word, meant) => {
    expect(closest(word, ['service', 'backends', 'port'])).toBe(meant)
  })

  it('does not guess wildly', () => {
    expect(closest('colour', ['service', 'backends'])).toBeUndefined()
    expect(closest('xy', ['ab'])).toBeUndefined()
    expect(closest('a'.repeat(65), ['a'.repeat(65)])).toBeUndefined()
    expect(didYouMean('colour', ['service'])).toBe('')
    expect(didYouMean('servise', ['service'])).toBe('; did you mean "service"?')
  })

  it('takes the nearest, and the first of equals', () => {
    expect(closest('web-v3', ['web-v1', 'web-v2', 'web-v33'])).toBe('web-v1')
    expect(closest('web-v22', ['web-v1', 'web-v2'])).toBe('web-v2')
  })

  it('compares no more than the budget of an object allows, however much of it is wrong', () => {
    const budget = new SuggestionBudget()
    const names = Array.from({ length: 100 }, (_, index) => `service-${index}`)
    let guesses = 0
    for (let wrong = 0; wrong < 10_000; wrong += 1) if (closest('sevrice-7', names, budget) !== undefined) guesses += 1
    expect(guesses).toBeGreaterThan(0)
    expect(guesses).toBeLessThanOrEqual(20)
    expect(closest('sevrice-7', names)).toBe('service-7')
  })
})
