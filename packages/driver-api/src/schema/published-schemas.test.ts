import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from '@jest/globals'
import type { Static, TSchema } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'

import { bookbuyer } from '../../test/examples.js'
import type * as api from '../index.js'
import * as wire from './wire.js'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
const folder = fileURLToPath(new URL('../../schemas/', import.meta.url))

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Describes<Schema extends TSchema, Interface> = Same<Static<Schema>, Interface>

/** The compiler proves that these schemas describe the interfaces of their names; static-types.test.ts proves it for the others. */
const proofs: readonly [
  Describes<typeof wire.meshConfigViewSchema, api.MeshConfigView>,
  Describes<typeof wire.injectorContextSchema, Omit<api.InjectorContext, 'signal'>>,
  Describes<
    typeof wire.startContextSchema,
    Pick<api.ControllerContext, 'contract' | 'proxyServerAddress' | 'proxyServerPort' | 'osmNamespace' | 'driverConfig'>
  >,
  Describes<typeof wire.proxyRefSchema, api.ProxyRef>,
  Describes<typeof wire.evictionSchema, api.Eviction>,
  Describes<typeof wire.credentialSchema, api.Credential>,
  Describes<typeof wire.trustBundleSchema, api.TrustBundle>,
  Describes<typeof wire.messageSchema, api.Message>,
  Describes<typeof wire.debugRequestSchema, api.DebugRequest>,
  Describes<typeof wire.debugResponseSchema, api.DebugResponse>,
  Describes<typeof wire.errorDetailsSchema, api.ErrorDetails>,
] = [true, true, true, true, true, true, true, true, true, true, true]

/** A newer host of the same contract version may add members to what it sends, so a driver must not refuse them. */
function withUnknownMembers(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withUnknownMembers)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !(key === 'additionalProperties' && value === false && 'properties' in schema))
      .map(([key, value]) => [key, withUnknownMembers(value)]),
  )
}

function published(): ReadonlyMap<string, string> {
  const files = Object.entries(wire.wireSchemas).flatMap(([maker, schemas]) =>
    Object.entries(schemas).map(([name, schema]) => {
      const plain: unknown = JSON.parse(JSON.stringify(schema))
      const body = (maker === 'host' ? withUnknownMembers(plain) : plain) as object
      return [`${name}.json`, `${JSON.stringify({ $schema: DIALECT, title: name, ...body }, undefined, 2)}\n`] as const
    }),
  )
  return new Map(files)
}

describe('the published schemas of osm.driver.v1', () => {
  it('are the files of packages/driver-api/schemas; UPDATE_GOLDEN=1 with this test writes them', () => {
    expect(proofs.every(Boolean)).toBe(true)
    const files = published()
    if (process.env['UPDATE_GOLDEN'] === '1') {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder)
      for (const [name, text] of files) writeFileSync(join(folder, name), text)
    }
    expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort())
    for (const [name, text] of files) expect(readFileSync(join(folder, name), 'utf8')).toBe(text)
  })

  it.each([...published()])('%s compiles in a strict checker', (_name, text) => {
    const ajv = new Ajv2020({ strict: true, code: { optimize: false } })
    expect(() => ajv.compile(JSON.parse(text) as object)).not.toThrow()
  })

  it('of the host accept members that a newer host adds, and those of a driver refuse them', () => {
    const accepts = (name: string, value: unknown) =>
      new Ajv2020({ strict: true, code: { optimize: false } }).compile(
        JSON.parse(published().get(`${name}.json`) ?? '') as object,
      )(value)
    const [part] = Object.values(bookbuyer().parts)
    expect(accepts('Part', part)).toBe(true)
    expect(accepts('Part', { ...part, colour: 'green' })).toBe(true)
    expect(accepts('Part', { ...part, kind: 'unknown' })).toBe(false)
    expect(accepts('DebugResponse', { status: 200, contentType: 'text/plain', body: '' })).toBe(true)
    expect(accepts('DebugResponse', { status: 200, contentType: 'text/plain', body: '', colour: 'green' })).toBe(false)
  })
})
