import { describe, expect, it } from '@jest/globals'

import { SecretBudget } from './secret-budget.js'

/** Secrets that are let through before one is refused. */
function spent(budget: SecretBudget, namespace: string): number {
  for (let count = 0; count < 10_000; count += 1) {
    try {
      budget.spend(namespace)
    } catch (error) {
      expect(error).toMatchObject({ code: 'OSM_INJECT_RATE' })
      return count
    }
  }
  return Number.POSITIVE_INFINITY
}

function budgetOf(rate: number, namespaceRate: number): { readonly budget: SecretBudget; pass: (ms: number) => void } {
  let now = 5000
  return {
    budget: new SecretBudget({ rate, namespaceRate, monotonic: () => now }),
    pass: (milliseconds) => {
      now += milliseconds
    },
  }
}

describe('a budget of Secrets', () => {
  it('lets ten seconds of a rate through at once, and then the rate', () => {
    const { budget, pass } = budgetOf(0, 50)
    expect(spent(budget, 'shop')).toBe(500)
    pass(1000)
    expect(spent(budget, 'shop')).toBe(50)
    pass(3_600_000)
    expect(spent(budget, 'shop')).toBe(500)
  })

  it('bears 50 pods a second in one namespace forever, by default', () => {
    const { budget, pass } = budgetOf(200, 100)
    for (let second = 0; second < 600; second += 1) {
      for (let pod = 0; pod < 50; pod += 1) budget.spend('shop')
      pass(1000)
    }
  })

  it('has one namespace leave something to the others, and all together no more than the whole', () => {
    const { budget, pass } = budgetOf(100, 40)
    expect(spent(budget, 'shop')).toBe(400)
    expect(spent(budget, 'bank')).toBe(400)
    expect(spent(budget, 'mill')).toBe(200)
    pass(1000)
    // What was refused for the whole has cost the namespace nothing.
    expect(spent(budget, 'mill')).toBe(100)
  })

  it('names what to look at', () => {
    const { budget } = budgetOf(0, 1)
    spent(budget, 'shop')
    expect(() => budget.spend('shop')).toThrow(/in namespace shop.*--namespace-secret-rate/)
    const whole = budgetOf(1, 0).budget
    spent(whole, 'shop')
    expect(() => whole.spend('bank')).toThrow(/by this osm-injector.*--secret-rate/)
  })

  it('is none with a rate of 0', () => {
    expect(spent(budgetOf(0, 0).budget, 'shop')).toBe(Number.POSITIVE_INFINITY)
  })

  it('remembers an empty namespace among any number of others', () => {
    const { budget, pass } = budgetOf(0, 1)
    expect(spent(budget, 'shop')).toBe(10)
    for (let other = 0; other < 3000; other += 1) budget.spend(`other-${other}`)
    expect(spent(budget, 'shop')).toBe(0)
    pass(20_000)
    for (let other = 0; other < 3000; other += 1) budget.spend(`later-${other}`)
    expect(spent(budget, 'shop')).toBe(10)
  })
})
