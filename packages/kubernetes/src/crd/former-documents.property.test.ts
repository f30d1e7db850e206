import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'

import { formerPolicies } from '../../../core/test/spec/former-policies.js'
import { formerSettings } from '../../../core/test/spec/former-settings.js'
import { customResourceDefinitions } from './custom-resource-definitions.js'

/** The schema by which an API server would check objects of the kind in the stored version. */
function validatorOf(kind: string) {
  const definition = customResourceDefinitions().find(({ spec }) => spec.names.kind === kind)
  const version = definition?.spec.versions.find(({ storage }) => storage)
  if (version === undefined) throw new Error(`there is no definition of ${kind}`)
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  return ajv.compile(version.schema.openAPIV3Schema)
}

describe('definitions take every document that those of OSM and osm-edge take', () => {
  it.each(Object.entries({ ...formerPolicies, ...formerSettings }))('%s', (kind, spec) => {
    const validate = validatorOf(kind)
    fc.assert(
      fc.property(spec, (generated) => {
        const valid = validate({ metadata: { name: 'x' }, spec: generated })
        expect(valid ? [] : validate.errors).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('and would be found out where they did not', () => {
    const validate = validatorOf('Egress')
    expect(validate({ metadata: { name: 'x' }, spec: { ports: [] } })).toBe(false)
    expect(validate({ metadata: { name: 'x' }, spec: { sources: [], ports: [{ number: 0, protocol: 'http' }] } })).toBe(
      false,
    )
  })
})
