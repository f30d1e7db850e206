import { describe, expect, it } from '@jest/globals'

import { failure, success, together, unknown } from './check.js'
import { renderCheck } from './render-check.js'

describe('checks', () => {
  it('hold together if all of them do; a failure outweighs an unknown result', () => {
    const [good, bad, open] = [success('a'), failure('b', 'why', 'do'), unknown('c', 'why', 'do')]
    expect(together('all', [good, good]).status).toBe('Success')
    expect(together('all', [good, open]).status).toBe('Unknown')
    expect(together('all', [open, bad, good]).status).toBe('Failure')
  })

  it('are merged if several of them are unknown for the same reason', () => {
    const [first, second] = [
      unknown('Verify a', 'no debug server', 'turn it on'),
      unknown('Verify b', 'no debug server', 'x'),
    ]
    const { nested, status } = together('all', [success('s'), first, second, unknown('Verify c', 'other', 'y'), second])
    expect(nested.map(({ context }) => context)).toEqual(['s', 'Verify a, and 2 more for the same reason', 'Verify c'])
    expect(status).toBe('Unknown')
  })

  it('are shown as a tree with reasons and suggestions, and no control characters of others', () => {
    const rule = '-'.repeat(45)
    const check = together('Verify all', [
      success('Verify one'),
      failure('Verify two', 'it \u001B[2Jis not', 'mend it'),
    ])
    expect(renderCheck(check, false)).toEqual([
      rule,
      '[+] Context: Verify all',
      'Status: Failure',
      rule,
      '[++] Context: Verify one',
      'Status: Success',
      rule,
      '[++] Context: Verify two',
      'Status: Failure',
      'Reason: it ·[2Jis not',
      'Suggestion: mend it',
      rule,
    ])
    expect(renderCheck(check, true)[2]).toBe('Status: \u001B[31mFailure\u001B[0m')
  })
})
