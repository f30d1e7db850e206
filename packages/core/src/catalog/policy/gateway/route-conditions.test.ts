import { describe, expect, it } from '@jest/globals'

import { ProblemList, objectRefOf } from '../problems/problems.js'
import { routeConditions } from './route-conditions.js'
import { RuleFaults } from './rule-faults.js'

const conditions = (source: Parameters<typeof routeConditions>[0]) => {
  const problems = new ProblemList(objectRefOf('HTTPRoute', { namespace: 'shop', name: 'web' }))
  const found = routeConditions(source, 'spec.rules[0].matches[0]', new RuleFaults(problems, 'no request'))
  return { match: found?.match, fields: problems.items.map(({ field }) => field) }
}

describe('an empty expression', () => {
  it('of a header or a parameter is the empty value, which proxies take as text alone', () => {
    const empty = { type: 'RegularExpression', name: 'X-User', value: '' } as const
    expect(conditions({ headers: [empty], queryParams: [empty] })).toEqual({
      match: {
        headers: [{ name: 'x-user', match: { type: 'exact', value: '' } }],
        queryParameters: [{ name: 'X-User', match: { type: 'exact', value: '' } }],
      },
      fields: [],
    })
  })

  it('of a path holds for no request', () => {
    expect(conditions({ path: { type: 'RegularExpression', value: '' } })).toEqual({
      match: undefined,
      fields: ['spec.rules[0].matches[0].path.value'],
    })
  })
})
