import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import type { ServiceDefinition } from '@grpc/grpc-js'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { list, maybe, type MessageType, messageType, one, scalar, words } from './message.js'
import { enums, messages } from './messages.js'
import { driverService, hostService } from './services.js'

const proto = readFileSync(join(import.meta.dirname, '../../proto/osm/driver/v1/driver.proto'), 'utf8')
const source = proto.replaceAll(/\/\/.*$/gm, '')
/** Names of fields that JavaScript writes with an abbreviation. */
const abbreviations: Readonly<Record<string, string>> = { localDnsProxy: 'localDNSProxy' }
const camelCase = (name: string) => {
  const camel = name.replaceAll(/_(.)/g, (_all, letter: string) => letter.toUpperCase())
  return abbreviations[camel] ?? camel
}
const kebabCase = (name: string) => name.toLowerCase().replaceAll('_', '-')

describe('osm.driver.v1', () => {
  it('has the messages of its .proto file', () => {
    const written = [...source.matchAll(/message (\w+) \{([^}]*)\}/g)].map(([, name = '', body = '']) => [
      name,
      Object.fromEntries(
        [...body.matchAll(/((?:repeated |optional )?(?:map<string, \w+>|\w+)) (\w+) = (\d+);/g)].map(
          ([, type = '', field = '', number]) => [camelCase(field), { number: Number(number), proto: type }],
        ),
      ),
    ])
    const spoken = Object.values<MessageType>(messages).map(({ name, fields }) => [
      name,
      Object.fromEntries(
        Object.entries(fields).map(([field, { number, proto: type }]) => [field, { number, proto: type }]),
      ),
    ])
    expect(Object.fromEntries(spoken)).toEqual(Object.fromEntries(written))
    expect(spoken).toHaveLength(written.length)
  })

  it('has the words of its enums', () => {
    const written = [...source.matchAll(/enum (\w+) \{([^}]*)\}/g)].map(([, name = '', body = '']) => {
      const prefix = name.replaceAll(/(?<=.)([A-Z])/g, '_$1').toUpperCase()
      const values = [...body.matchAll(/(\w+) = (\d+);/g)].map(([, value = '', number]) => {
        expect(value.startsWith(`${prefix}_`)).toBe(true)
        return [Number(number), kebabCase(value.slice(prefix.length + 1))]
      })
      return [name, values]
    })
    const spoken = Object.values(enums).map(({ proto: name, words: known }) => [
      name,
      [[0, 'unspecified'], ...known.map((word, index) => [index + 1, wordInProto(word)])],
    ])
    expect(Object.fromEntries(spoken)).toEqual(Object.fromEntries(written))
  })

  it('never uses a number again that it has reserved', () => {
    for (const [, name = '', body = ''] of source.matchAll(/message (\w+) \{([^}]*)\}/g)) {
      const reserved = [...body.matchAll(/reserved ([\d, ]+);/g)].flatMap(([, numbers = '']) =>
        numbers.split(',').map(Number),
      )
      const used = [...body.matchAll(/ = (\d+);/g)].map(([, number]) => Number(number))
      expect([name, used.filter((number) => reserved.includes(number))]).toEqual([name, []])
    }
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

  it('names the published JSON Schema of every field that holds JSON', () => {
    const schemas = readdirSync(join(import.meta.dirname, '../../../driver-api/schemas')).map((file) =>
      basename(file, '.json'),
    )
    const fields = [...proto.matchAll(/((?: *\/\/.*\n)+) *string (\w+) = \d+;/g)].filter(([, comment = '']) =>
      comment.includes('JSON'),
    )
    const named = fields.map(([, comment = '', field]) => {
      const found = new Set(comment.match(/\w+/g))
      return [field, schemas.filter((name) => found.has(name))]
    })
    expect(named).toEqual([
      // The driver's own JSON Schema, and what that describes.
      ['config_schema', []],
      ['context', ['InjectorContext']],
      ['patch', ['SidecarPatch']],
      ['driver_config', []],
      ['part', ['Part']],
      ['proxy', ['Part']],
      // An object with members of any kind.
      ['fields', []],
      ['payload', ['Message']],
      ['details', ['ErrorDetails']],
    ])
  })

  it('reads what it writes', () => {
    for (const type of Object.values<MessageType>(messages)) {
      fc.assert(
        fc.property(anyMessage(type), (message) => {
          expect(plain(type.decode(type.encode(message)))).toEqual(plain(message))
        }),
        { numRuns: 50 },
      )
    }
  })

  it('skips fields that it does not know, and refuses what is not a message', () => {
    const later = Buffer.concat([messages.pageRequest.encode({ path: '1' }), Buffer.from([0x7a, 2, 65, 65])])
    expect(messages.pageRequest.decode(later)).toEqual({ path: '1' })
    for (const broken of [[0x08, 1], [0x0a, 9, 65], [0xff]])
      expect(() => messages.pageRequest.decode(Buffer.from(broken))).toThrow()
  })

  it('leaves out what was not sent, and keeps an empty text that was', () => {
    const { partReport } = messages
    const report = { hash: 'h', id: 'i', state: 'applied' } as const
    expect(partReport.decode(partReport.encode(report))).toEqual(report)
    expect(partReport.decode(partReport.encode({ ...report, message: '' }))).toEqual({ ...report, message: '' })
  })

  it('keeps words of a later version apart from those that it knows', () => {
    const later = messageType('Eviction', {
      reason: one(3, words('EvictionReason', 'a', 'b', 'c', 'd', 'e', 'f', 'g')),
    })
    expect(messages.eviction.decode(later.encode({ reason: 'g' })).reason).toBe('#7')
    expect(messages.eviction.decode(Buffer.alloc(0)).reason).toBe('')
  })

  it('reads numbers of a list one by one as well', () => {
    const single = messageType('MetricDeclaration', { value: one(5, scalar.double) })
    const twice = Buffer.concat([single.encode({ value: 1 }), single.encode({ value: 2.5 })])
    expect(messages.metricDeclaration.decode(twice).buckets).toEqual([1, 2.5])
  })

  it('takes the names of an object for keys like any other', () => {
    const query = { __proto__x: '1', constructor: '2', ['__proto__']: '3' }
    const read = messages.debugRequest.decode(messages.debugRequest.encode({ path: '/', query })).query
    expect(Object.entries(read)).toEqual(Object.entries(query))
  })

  it('reads a message that holds itself only as deep as it is declared', () => {
    const inner = messageType('Inner', { names: list(1, scalar.string) })
    const outer = messageType('Outer', { inner: maybe(1, inner.codec) })
    expect(outer.decode(outer.encode({ inner: { names: ['a', 'b'] } }))).toEqual({ inner: { names: ['a', 'b'] } })
    expect(outer.decode(outer.encode({}))).toEqual({})
  })
})

/** The words of the contract that differ from those of the .proto file by more than their case. */
function wordInProto(word: string): string {
  return { serviceName: 'service-name', PodIP: 'pod-ip' }[word] ?? word.toLowerCase()
}

const types = new Map(Object.values<MessageType>(messages).map((type) => [type.name, type]))
const enumsByName = new Map(Object.values(enums).map((known) => [known.proto, known.words as readonly string[]]))

function anyMessage(type: MessageType): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(type.fields)
  const isOptional = ([, { proto: written }]: (typeof fields)[number]): boolean =>
    written.startsWith('optional ') || types.has(written)
  return fc.record(Object.fromEntries(fields.map(([name, { proto: written }]) => [name, anyValue(written)])), {
    // Messages that the contract always has are given as well, because an absent one is read as the empty one.
    requiredKeys: fields.filter((field) => !isOptional(field) || isAlways(type, field[0])).map(([name]) => name),
  })
}

function isAlways(type: MessageType, name: string): boolean {
  return Object.hasOwn(type.decode(new Uint8Array()) as object, name)
}

function anyValue(written: string): fc.Arbitrary<unknown> {
  const [, label, inMap, single = ''] = /^(?:(repeated|optional) )?(?:map<string, (\w+)>|(\w+))$/.exec(written) ?? []
  if (inMap !== undefined) return fc.dictionary(fc.string({ unit: 'grapheme' }), anyValue(inMap), { maxKeys: 3 })
  if (label === 'repeated') return fc.array(anyValue(single), { maxLength: 3 })
  const known = enumsByName.get(single)
  if (known !== undefined) return fc.constantFrom(...known)
  const type = types.get(single)
  if (type !== undefined) return anyMessage(type)
  switch (single) {
    case 'string':
      return fc.string({ unit: 'grapheme' })
    case 'bytes':
      return fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes))
    case 'uint32':
      return fc.nat(4_294_967_295)
    case 'uint64':
      return fc.maxSafeNat()
    case 'double':
      return fc.double({ noNaN: true })
    case 'bool':
      return fc.boolean()
    default:
      throw new Error(`no values of type ${single}`)
  }
}

/** Without prototypes, and with one zero: proto3 does not send the other. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, member: unknown) =>
      member === Infinity || member === -Infinity ? String(member) : Object.is(member, -0) ? 0 : member,
    ),
  )
}
