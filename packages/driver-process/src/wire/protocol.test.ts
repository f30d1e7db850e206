import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import type { ServiceDefinition } from '@grpc/grpc-js'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import type { FieldKind, MessageType } from './message.js'
import * as messages from './messages.js'
import { driverService, hostService } from './services.js'

const proto = readFileSync(join(import.meta.dirname, '../../proto/osm/driver/v1/driver.proto'), 'utf8')
const source = proto.replaceAll(/\/\/.*$/gm, '')
const kinds: Readonly<Record<string, FieldKind>> = {
  string: 'string',
  bytes: 'bytes',
  uint32: 'uint32',
  'repeated uint32': 'uint32s',
}
const camelCase = (name: string) => name.replaceAll(/_(.)/g, (_all, letter: string) => letter.toUpperCase())

describe('osm.driver.v1', () => {
  it('has the messages of its .proto file', () => {
    const written = [...source.matchAll(/message (\w+) \{([^}]*)\}/g)].map(([, name = '', body = '']) => [
      name,
      Object.fromEntries(
        [...body.matchAll(/((?:repeated )?\w+) (\w+) = (\d+);/g)].map(([, kind = '', field = '', number]) => [
          camelCase(field),
          [Number(number), kinds[kind]],
        ]),
      ),
    ])
    const spoken = Object.values(messages).map(({ name, fields }) => [name, fields])
    expect(Object.fromEntries(spoken)).toEqual(Object.fromEntries(written))
    expect(spoken).toHaveLength(12)
  })

  it.each([
    ['Driver', driverService],
    ['Host', hostService],
  ] as const)('has the calls of service %s', (service, methods) => {
    const [, body = ''] = new RegExp(`service ${service} \\{([^}]*)\\}`).exec(source) ?? []
    const written = [...body.matchAll(/rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);/g)].map(
      ([, name = '', requestStream, , responseStream]) => [
        name,
        `/osm.driver.v1.${service}/${name}`,
        requestStream !== undefined,
        responseStream !== undefined,
      ],
    )
    expect(
      Object.entries<ServiceDefinition[string]>(methods).map(([name, method]) => [
        name,
        method.path,
        method.requestStream,
        method.responseStream,
      ]),
    ).toEqual(written)
  })

  it('names the published JSON Schema of every document of a call', () => {
    const schemas = readdirSync(join(import.meta.dirname, '../../../driver-api/schemas')).map((file) =>
      basename(file, '.json'),
    )
    const calls = [...proto.matchAll(/((?: *\/\/.*\n)+) *rpc (\w+)\((.*)\) returns \((.*)\);/g)]
    expect(calls).toHaveLength(Object.keys(driverService).length + Object.keys(hostService).length)
    const named = calls.map(([, comment = '', call, request = '', response = '']) => {
      const documents = [request, response].filter((type) => type.endsWith('Document')).length
      const words = new Set(comment.match(/\w+/g))
      return { call, documents, named: schemas.filter((name) => words.has(name) && name !== 'HealthProbes').length }
    })
    expect(named.filter((one) => one.documents !== one.named)).toEqual([])
  })

  it('reads what it writes', () => {
    const values: Readonly<Record<FieldKind, fc.Arbitrary<unknown>>> = {
      string: fc.string({ unit: 'grapheme' }),
      bytes: fc.uint8Array(),
      uint32: fc.nat(4_294_967_295),
      uint32s: fc.array(fc.nat(4_294_967_295)),
    }
    for (const type of Object.values<MessageType>(messages)) {
      const record = fc.record(
        Object.fromEntries(Object.entries(type.fields).map(([name, [, kind]]) => [name, values[kind]])),
      )
      fc.assert(
        fc.property(record, (message) => {
          expect(type.decode(type.encode(message))).toEqual(message)
        }),
        { numRuns: 50 },
      )
    }
  })

  it('skips fields that it does not know, and refuses what is no message', () => {
    const later = Buffer.concat([messages.document.encode({ json: '1' }), Buffer.from([0x7a, 2, 65, 65])])
    expect(messages.document.decode(later)).toEqual({ json: '1' })
    for (const broken of [[0x08, 1], [0x0a, 9, 65], [0xff]])
      expect(() => messages.document.decode(Buffer.from(broken))).toThrow()
  })
})
