import { describe, expect, it } from '@jest/globals'

import { ContainerValues, fileText, literal } from './values.js'

describe('values of a driver in a pod', () => {
  it('are in command lines as variables that come before those that use them', () => {
    const values = new ContainerValues('/etc/x')
    expect(values.text(['--id=', { ref: 'workload', field: 'instance' }, '@', { ref: 'file', path: 'a.json' }])).toBe(
      '--id=$(OSM_WORKLOAD_INSTANCE)@/etc/x/a.json',
    )
    expect(
      values.environment([
        { name: 'IP', value: [{ ref: 'workload', field: 'address' }] },
        { name: 'URL', value: ['http://', { ref: 'workload', field: 'serviceAccount' }] },
      ]),
    ).toEqual([
      { name: 'OSM_WORKLOAD_INSTANCE', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'OSM_WORKLOAD_SERVICE_ACCOUNT', valueFrom: { fieldRef: { fieldPath: 'spec.serviceAccountName' } } },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'URL', value: 'http://$(OSM_WORKLOAD_SERVICE_ACCOUNT)' },
    ])
  })

  it('mean themselves, whatever Kubernetes would read in them', () => {
    expect(literal('$(HOME) $x $$')).toBe('$$(HOME) $$x $$$$')
  })

  it('cannot be in files if they are not known yet', () => {
    expect(
      fileText(['a ', { ref: 'file', path: 'b' }, ' ', { ref: 'workload', field: 'namespace' }], '/f', {
        namespace: 'n',
      }),
    ).toBe('a /f/b n')
    expect(() => fileText([{ ref: 'workload', field: 'address' }], '/f', {})).toThrow(
      /the workload's address, which is not known before the pod runs/,
    )
  })
})
