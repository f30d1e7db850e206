import { describe, expect, it } from '@jest/globals'

import { AddressRules } from './address-rules.js'
import { checkAnswer, type CheckedService } from './check-answer.js'

const rules = new AddressRules({ allowLoopback: false, refused: [] })
const listed = (namespace: string, name: string, count: number) => ({
  service: { namespace, name },
  instances: Array.from({ length: count }, (_, index) => ({
    id: `${name}-${index}`,
    addresses: ['198.51.100.1'],
    ready: true,
  })),
})
const many = (namespace: string, services: number, instances: number) =>
  Array.from({ length: services }, (_, index) => listed(namespace, `s${index}`, instances))

type Services = ReadonlyMap<string, CheckedService>

function check(services: readonly unknown[], previous: Services = new Map()) {
  const { answer, faults } = checkAnswer({ services }, rules, previous)
  const found: Services = answer?.services ?? new Map()
  const instances = (namespace: string): number =>
    [...found.values()]
      .filter(({ service }) => service.namespace === namespace)
      .reduce((sum, it) => sum + it.instances.length, 0)
  return { services: found, faults, instances }
}

describe('an answer of a provider that has more than fits', () => {
  it('a namespace with all machines behind each of its Services leaves those of another their instances', () => {
    const { instances, faults } = check([...many('aaa', 50, 1_000), ...many('zzz', 200, 10)])
    expect(instances('zzz')).toBe(2_000)
    expect(instances('aaa')).toBe(8_000)
    expect(faults.every(({ service }) => service?.namespace === 'aaa')).toBe(true)
  })

  it('a namespace with thousands of Services leaves those of another in place', () => {
    const { services, instances } = check([...many('aaa', 2_000, 1), ...many('zzz', 5, 1)])
    expect(services.size).toBe(1_000)
    expect(instances('zzz')).toBe(5)
  })

  it('what a namespace has wrong hides no fault of another', () => {
    const wrong = (namespace: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ service: { namespace, name: `s${index}` }, instances: 'none' }))
    const { faults } = check([...wrong('aaa', 500), ...wrong('zzz', 1)])
    expect(faults.map(({ service }) => service?.namespace)).toEqual([
      ...Array.from({ length: 100 }, () => 'aaa'),
      'zzz',
    ])
  })

  it('instances that are kept from before never exceed the bound, whatever is published in turn', () => {
    let services: Services = new Map()
    for (let round = 0; round < 5; round += 1) {
      const rounds = Array.from({ length: 5 }, (_, index) => many(`n${index}`, 10, index === round ? 1_000 : 1_001))
      ;({ services } = check(rounds.flat(), services))
      const all = [...services.values()].reduce((sum, { instances }) => sum + instances.length, 0)
      expect(all).toBeLessThanOrEqual(10_000)
    }
  })
})
