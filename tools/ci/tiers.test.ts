import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parseTierPlan } from './tiers.mjs'

const tier = { name: 'a', minutes: 3, needs: [] as string[], command: 'true' }

describe('parseTierPlan', () => {
  const parse = (...tiers: object[]) => parseTierPlan(JSON.stringify({ outside: {}, tiers }))

  it('accepts the plan of this project', () => {
    const plan = parseTierPlan(readFileSync(new URL('../../.ci/tiers.json', import.meta.url), 'utf8'))
    expect(plan.tiers.map(({ name }) => name)).toEqual(expect.arrayContaining(['check', 'test', 'bench', 'demo']))
  })

  it('refuses budgets that add up to more than allowed', () => {
    expect(() => parse({ ...tier, minutes: 40 }, { ...tier, name: 'b', minutes: 41 })).toThrow('81 minutes')
  })

  it('counts no minutes of a tier that needs what no registry has', () => {
    const outside = {
      pipy: { probe: 'true', why: 'no registry has it', inNoRegistry: true },
      go: { probe: 'true', why: '' },
    }
    const plan = (need: string): string =>
      JSON.stringify({
        outside,
        tiers: [
          { ...tier, minutes: 80 },
          { ...tier, name: 'b', needs: [need] },
        ],
      })
    expect(parseTierPlan(plan('pipy')).tiers).toHaveLength(2)
    expect(() => parseTierPlan(plan('go'))).toThrow('83 minutes')
  })

  it('refuses a tier without a budget, an unexplained need and a name used twice', () => {
    expect(() => parse({ ...tier, minutes: undefined })).toThrow('a has no budget')
    expect(() => parse({ ...tier, needs: ['a cluster'] })).toThrow('needs a cluster')
    expect(() => parse(tier, tier)).toThrow('two tiers are named a')
  })
})
