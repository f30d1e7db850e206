import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { atOnce } from './async/in-turns.js'
import { jsonInSteps } from './json-steps.js'

const many = Array.from({ length: 100 }, (_, at) => ({ at, name: `n${at}`, absent: undefined }))

describe('jsonInSteps', () => {
  it('writes what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withNullPrototype: true }), (value) => {
        expect(atOnce(jsonInSteps(value))).toBe(JSON.stringify([value]).slice(1, -1))
      }),
    )
  })

  it.each([
    ['a long list', many],
    ['a list with holes', [undefined, ...many, undefined]],
    ['a long object', Object.fromEntries(many.map((item) => [item.name, item]))],
    ['a long object without values', Object.fromEntries(many.map(({ name }) => [name, undefined]))],
    ['an object with a form of its own', { form: { toJSON: () => ({ own: true }), hidden: 1 } }],
    [
      'an instance of a class',
      {
        instance: new (class Shown {
          readonly shown = 1
        })(),
      },
    ],
    ['lists in lists', [[many], { inner: { many } }]],
  ])('writes %s', (_, value) => {
    expect(atOnce(jsonInSteps(value))).toBe(JSON.stringify(value))
  })

  it('writes a long list inside a short one in many steps', () => {
    const steps = jsonInSteps([
      { resources: { route: [{ virtualHosts: Array.from({ length: 5_000 }, () => many[0]) }] } },
    ])
    let count = 0
    while (steps.next().done !== true) count += 1
    expect(count).toBeGreaterThan(300)
  })
})
