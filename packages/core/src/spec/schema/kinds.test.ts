import { describe, expect, it } from '@jest/globals'
import { Ajv } from 'ajv'

import { allKinds, kindDefinitions } from './kinds.js'

describe('the schemas of kinds', () => {
  const ajv = new Ajv()

  it.each(allKinds())('%s is a JSON Schema', (kind) => {
    const isSchema = ajv.validateSchema(kindDefinitions[kind].spec)
    expect({ isSchema, errors: ajv.errors ?? [] }).toEqual({ isSchema: true, errors: [] })
  })

  it('would not be taken if they were none', () => {
    expect(ajv.validateSchema({ type: 'text' })).toBe(false)
  })
})
