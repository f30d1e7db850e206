import { describe, expect, it } from '@jest/globals'
import { ownValue } from '@osm-ts/driver-api/toolkit'
import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'

import { examplesByKind } from '../../test/spec/examples.js'
import { selectsLabels } from './label-selector.js'
import { readObjects } from './read-objects.js'
import { allKinds, kindDefinitions, writtenKind } from './schema/kinds.js'

type Dictionary = Readonly<Record<string, unknown>>

const examples = examplesByKind()
const kinds = allKinds().filter((kind) => examples.has(kind))
const anything = {} as TSchema
const allHostileKeys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']
const hostileKey = fc.constantFrom(...allHostileKeys)
const hostileKeys = fc.uniqueArray(hostileKey, { minLength: 1 })

/** Copies an object and adds members wherever its schema lets a user choose the name. */
function withKeys(schema: TSchema, value: unknown, keys: readonly string[], added: string[], path = ''): unknown {
  if (Array.isArray(value))
    return value.map((item, index) =>
      withKeys((schema.items ?? anything) as TSchema, item, keys, added, `${path}/${index}`),
    )
  if (value === null || typeof value !== 'object') return value
  const known = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    withKeys(known[name] ?? anything, member, keys, added, `${path}/${name}`),
  ])
  const values = schema.additionalProperties as TSchema | undefined
  const free = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (!free && values?.type !== 'string') return Object.fromEntries(members)
  added.push(path)
  return Object.fromEntries([...members, ...keys.map((key) => [key, free ? { [key]: 'x' } : 'x'] as const)])
}

function namesAt(spec: unknown, path: string): readonly string[] {
  const at = (segments: readonly string[]): unknown =>
    segments.reduce((found, name) => (found as Dictionary)[name], spec)
  const segments = path.split('/').slice(1)
  // Decoding makes one entry of each condition on a header.
  if (segments.at(-2) === 'headers')
    return (at(segments.slice(0, -1)) as readonly Dictionary[]).flatMap((entry) => Object.keys(entry))
  return Object.keys(at(segments) as Dictionary)
}

describe('keys that objects inherit', () => {
  it('every kind keeps them in every dictionary, from JSON and YAML and once more from what was read', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(fc.constantFrom(...kinds), hostileKeys, fc.boolean(), (kind, keys, flow) => {
        const written = examples.get(kind)?.object as { readonly metadata: Dictionary; readonly spec?: unknown }
        const texts = Object.fromEntries(keys.map((key) => [key, 'x']))
        const added: string[] = []
        const spec = withKeys(kindDefinitions[kind].spec, written.spec ?? {}, keys, added)
        const object = { ...written, metadata: { ...written.metadata, labels: texts, annotations: texts }, spec }
        const read = (raw: unknown) => {
          const text = JSON.stringify(raw)
          // With single quotes it is YAML and not JSON.
          const { objects } = readObjects(
            flow ? text : text.replaceAll("'", ' ').replaceAll('\\"', ' ').replaceAll('"', "'"),
          )
          expect(objects).toHaveLength(1)
          return objects[0]!
        }
        const once = read(object)
        const twice = read({
          apiVersion: once.apiVersion,
          kind: writtenKind(kind),
          metadata: once.metadata,
          spec: once.spec,
        })
        for (const found of [once, twice]) {
          for (const dictionary of [found.metadata.labels, found.metadata.annotations])
            expect(Object.keys(dictionary).sort()).toEqual([...keys].sort())
          for (const path of added) {
            const names = namesAt(found.spec, path)
            expect(names).toEqual(expect.arrayContaining([...keys]))
            seen.add(`${kind}${path.replaceAll(/\d+/g, '*')}`)
          }
        }
      }),
      // Each kind once with every key at the least; the rest is chance.
      { numRuns: 300, examples: kinds.map((kind) => [kind, allHostileKeys, true]) },
    )
    // Without these the property would say nothing about conditions and configurations.
    expect([...seen]).toEqual(
      expect.arrayContaining([
        'HTTPRouteGroup/matches/*/headers/*',
        'PluginConfig/config',
        'Service/selector',
        'Telemetry/selector',
      ]),
    )
  })

  it('a selector by such a label selects only what has the label', () => {
    fc.assert(
      fc.property(hostileKey, fc.boolean(), (key, expression) => {
        const selector = expression
          ? { matchExpressions: [{ key, operator: 'Exists' as const }] }
          : { matchLabels: { [key]: 'x' } }
        const labels = Object.fromEntries([[key, 'x']])
        expect(selectsLabels(selector, labels)).toBe(true)
        expect(ownValue(labels, key)).toBe('x')
        expect(selectsLabels(selector, {})).toBe(false)
        expect(selectsLabels(selector, { other: 'x' })).toBe(false)
      }),
    )
  })
})
