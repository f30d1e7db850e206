import { describe, expect, it } from '@jest/globals'

import { joinProblems, type Problem } from './problem.js'

const object = { kind: 'Retry', namespace: 'shop', name: 'retry' }
const problem = (message: string, more: Partial<Problem> = {}): Problem => ({
  code: 'OSM_SPEC_NO_EFFECT',
  severity: 'error',
  message,
  object,
  field: 'spec.source',
  ...more,
})
const messages = (problems: readonly Problem[]): readonly string[] => problems.map(({ message }) => message)

describe('joinProblems', () => {
  it('takes what two finders say of one field by one code for one problem', () => {
    expect(messages(joinProblems([[problem('is empty')], [problem('has no name')]]))).toEqual(['is empty'])
  })

  it('keeps all that one finder says of a field, each once', () => {
    const found = [problem('b is unknown'), problem('a is unknown'), problem('b is unknown')]
    expect(messages(joinProblems([found]))).toEqual(['a is unknown', 'b is unknown'])
  })

  it('keeps an error beside a warning', () => {
    const warning = problem('may be wrong', { severity: 'warning' })
    expect(messages(joinProblems([[warning], [problem('is wrong')]]))).toEqual(['is wrong', 'may be wrong'])
  })

  it('keeps problems of other fields, other objects and none', () => {
    const other = problem('is empty', { field: 'spec.other' })
    const elsewhere = problem('is empty', { object: { ...object, name: 'other' } })
    const { object: _object, ...general } = problem('is empty')
    expect(joinProblems([[problem('is empty')], [other, elsewhere, general]])).toHaveLength(4)
  })
})
