import { describe, expect, it } from '@jest/globals'
import type { TSchema } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import fc from 'fast-check'

import { anyPart, partArbitraries } from '../../test/arbitraries.js'
import { bookbuyer, bookstore, ledger, mysql } from '../../test/examples.js'
import { mutatedPart } from '../../test/mutations.js'
import { partRefSchema, partSchema, partSchemas, policyUpdateSchema, proxyPolicySchema } from '../policy/schema.js'
import { applyReportSchema, capabilitiesSchema, healthProbesSchema, proxyObservationSchema } from './driver.js'
import { resourcesSchema, sidecarPatchSchema } from './sidecar-patch.js'

/** What anyone gets who writes a schema to a file: no symbols, no functions. */
function published(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema)) as object
}

const schemas: Readonly<Record<string, TSchema>> = {
  ...partSchemas,
  partSchema,
  partRefSchema,
  policyUpdateSchema,
  proxyPolicySchema,
  sidecarPatchSchema,
  resourcesSchema,
  capabilitiesSchema,
  healthProbesSchema,
  applyReportSchema,
  proxyObservationSchema,
}

/** Unpolished code is as strict, and made in half the time. */
const code = { optimize: false }

describe('published schemas', () => {
  it.each(Object.keys(schemas))('%s is a JSON Schema that a strict checker compiles', (name) => {
    const ajv = new Ajv({ strict: true, validateSchema: true, code })
    expect(() => ajv.compile(published(schemas[name] as TSchema))).not.toThrow()
  })

  it.each(Object.keys(schemas))('%s lets nothing unknown into any object', (name) => {
    const open: string[] = []
    const visit = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return
      const { type, properties, additionalProperties, patternProperties } = schema as Record<string, unknown>
      // A dictionary has a pattern for its names instead of names.
      const isClosed = additionalProperties === false || (properties === undefined && patternProperties !== undefined)
      if (type === 'object' && !isClosed) open.push(path)
      for (const [key, member] of Object.entries(schema)) visit(member, `${path}/${key}`)
    }
    visit(published(schemas[name] as TSchema), '')
    expect(open).toEqual([])
  })

  it('accept and refuse the same parts in another checker', () => {
    const ajv = new Ajv({ strict: true, code })
    const accepts = ajv.compile(published(partSchema))
    fc.assert(
      fc.property(anyPart, mutatedPart(anyPart), (part, { value }) => {
        expect(accepts(part)).toBe(true)
        expect(accepts(value)).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  it('keep kinds apart', () => {
    const ajv = new Ajv({ strict: true, code })
    const checks = Object.entries(partSchemas).map(([kind, schema]) => [kind, ajv.compile(published(schema))] as const)
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(partArbitraries)).chain((kind) => partArbitraries[kind as 'set']),
        (part) => {
          expect(checks.filter(([, accepts]) => accepts(part)).map(([kind]) => kind)).toEqual([part.kind])
        },
      ),
    )
  })

  it('accept whole documents', () => {
    const accepts = new Ajv({ strict: true, code }).compile(published(proxyPolicySchema))
    for (const policy of [bookbuyer(), bookstore(), ledger(), mysql()]) expect(accepts(policy)).toBe(true)
  })
})
