import { describe, expect, it } from '@jest/globals'

import { resolveValue, type ReferenceValues } from './resolve-value.js'

const values: ReferenceValues = {
  file: (path) => `/run/x/${path}`,
  workload: { address: '10.0.0.2', instance: 'web-0', namespace: 'shop', serviceAccount: 'web', uid: 'u', node: 'n' },
}

describe('resolveValue', () => {
  it('leaves plain text as it is', () => {
    expect(resolveValue('${PATH} $(x)', values)).toBe('${PATH} $(x)')
  })

  it('joins text and references without anything in between', () => {
    const value = ['--config=', { ref: 'file', path: 'a.yaml' }, '@', { ref: 'workload', field: 'address' }] as const
    expect(resolveValue(value, values)).toBe('--config=/run/x/a.yaml@10.0.0.2')
  })

  it.each(['address', 'instance', 'namespace', 'serviceAccount', 'uid', 'node'] as const)(
    'knows the %s of the workload',
    (field) => {
      expect(resolveValue([{ ref: 'workload', field }], values)).toBe(values.workload[field])
    },
  )
})
