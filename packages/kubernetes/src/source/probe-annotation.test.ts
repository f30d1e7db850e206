import { describe, expect, it } from '@jest/globals'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import type { InstanceProbeBinding } from '@osm-ts/core'

import { formatProbeBindings, probeBindingsSchema, ProbeBindingsReader } from './probe-annotation.js'

const reader = new ProbeBindingsReader()
const binding: InstanceProbeBinding = {
  container: 'app',
  probe: 'readiness',
  port: 15902,
  path: '/osm-readiness-probe',
  target: { type: 'https', port: 8443, path: '/ready', headers: [{ name: 'Host', value: 'a' }] },
  timeoutMs: 1000,
}
const other = { ...binding, container: 'other', path: '/osm-readiness-probe/other' }

describe('the annotation of probe bindings', () => {
  it('has a schema that is one', () => {
    expect(new Ajv().validateSchema(probeBindingsSchema)).toBe(true)
  })

  it('is read as it was written', () => {
    expect(reader.read(formatProbeBindings([binding, other]))).toEqual({ bindings: [binding, other] })
    expect(reader.read('[]')).toEqual({ bindings: [] })
  })

  it.each([
    ['no JSON', '[', 'is not JSON'],
    ['no list', '{}', 'must be array'],
    ['a binding without target', JSON.stringify([{ ...binding, target: undefined }]), 'target'],
    ['a port of the workload', JSON.stringify([{ ...binding, port: 8080 }]), '8080'],
    ['a port of the sidecar', JSON.stringify([{ ...binding, port: 15003 }]), '15003'],
    ['one path for two', JSON.stringify([binding, { ...other, path: binding.path }]), 'twice'],
    ['an empty path', JSON.stringify([binding, { ...other, path: '' }]), 'readiness probe of container other, /1/path'],
    ['no path', JSON.stringify([{ ...binding, path: undefined }]), 'path'],
    ['a path with a query', JSON.stringify([{ ...binding, path: '/a?b' }]), '/0/path must match pattern'],
    ...[15000, 15001, 15003, 15010, 5300, 15901, 15904, 15999].map(
      (port) =>
        [
          `the sidecar's own port ${port} as target`,
          JSON.stringify([{ ...binding, target: { type: 'tcp', port } }]),
          `readiness probe of container app at port ${port} (target.port)`,
        ] as const,
    ),
    ['too much', JSON.stringify([{ ...binding, container: 'x'.repeat(300_000) }]), 'longer'],
    ['too many', JSON.stringify(Array.from({ length: 301 }, () => binding)), 'more than 300'],
  ])('is refused with %s', (_what, text, reason) => {
    const { bindings, fault } = reader.read(text)
    expect(bindings).toEqual([])
    expect(fault).toContain(reason)
  })

  it('is refused where it aims at a port that the sidecar of the pod declares', () => {
    const text = formatProbeBindings([binding])
    expect(reader.read(text, new Set([15010])).fault).toBeUndefined()
    expect(reader.read(text, new Set([8443])).fault).toContain('port 8443 (target.port), which is one of the sidecar')
  })

  it('gives bindings or a fault for any text, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const { bindings, fault } = reader.read(text)
        expect(fault === undefined || bindings.length === 0).toBe(true)
      }),
    )
  })
})
