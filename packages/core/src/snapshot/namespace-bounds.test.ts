import { describe, expect, it } from '@jest/globals'

import { consentNeeded } from '../spec/reference-grant.js'
import { namespaceExpressionBounds, objectExpressionBounds } from '../spec/expressions.js'
import { ObjectDecoder } from '../spec/object-decoder.js'
import { objectKey, type MeshObject } from '../spec/objects.js'
import { readObjects } from '../spec/read-objects.js'
import { SpecRules } from '../spec/validation.js'
import { SnapshotBuilder } from './snapshot-builder.js'

const decoder = new ObjectDecoder()

function decode(document: object): ReturnType<typeof readObjects> {
  return readObjects(JSON.stringify(document), { decoder })
}

const groupOf = (namespace: string, name: string, patterns: readonly string[]): object => ({
  apiVersion: 'specs.smi-spec.io/v1alpha4',
  kind: 'HTTPRouteGroup',
  metadata: { namespace, name },
  spec: { matches: patterns.map((pathRegex, index) => ({ name: `m${index}`, pathRegex })) },
})

/** A group with as large programs as one object may have. */
function full(namespace: string, name: string): MeshObject {
  const each = 2_000
  const patterns = Array.from(
    { length: objectExpressionBounds.programSize / each },
    () => `a{${each / 2 - 8},${each / 2 - 8}}`,
  )
  const { objects, problems } = decode(groupOf(namespace, name, [...patterns, ...patterns].slice(0, 99)))
  expect(problems).toEqual([])
  const [object] = objects
  if (object === undefined) throw new Error('no object')
  return object
}

describe('bounds of one object', () => {
  it.each([
    ['number of expressions', Array.from({ length: objectExpressionBounds.count + 1 }, () => '/a'), '1001 expressions'],
    ['their length', Array.from({ length: 129 }, () => 'a'.repeat(1024)), 'of 132096 characters together'],
    ['their programs', Array.from({ length: 51 }, () => 'a{0,1000}'), 'up to 102408 instructions together'],
  ])('an object beyond the %s is refused, with what it has and what it may have', (_what, patterns, message) => {
    const { objects, problems } = decode(groupOf('shop', 'g', patterns))
    expect(objects).toEqual([])
    expect(problems).toMatchObject([{ code: 'OSM_SPEC_OBJECT_BOUND', severity: 'error', field: 'spec' }])
    expect(problems[0]?.message).toContain(message)
    expect(problems[0]?.message).toContain('are taken in an object')
  })

  it('an object with too long a list is refused', () => {
    const matches = Array.from({ length: 10_001 }, (_, index) => ({ name: `m${index}` }))
    const { objects, problems } = decode({ ...groupOf('shop', 'g', []), spec: { matches } })
    expect(objects).toEqual([])
    expect(problems).toMatchObject([{ code: 'OSM_SPEC_OBJECT_BOUND' }])
    expect(problems[0]?.message).toContain('a list of 10001 items; at most 10000 are taken')
  })

  it('an object with more problems than anybody reads has a few of them listed, and their number', () => {
    const spec = { matches: [], ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1])) }
    const { problems } = decode({ ...groupOf('shop', 'g', []), spec })
    expect(problems).toHaveLength(21)
    expect(problems.at(-1)).toMatchObject({ code: 'OSM_SPEC_MORE', severity: 'warning' })
    expect(problems.at(-1)?.message).toContain('480 more problems')
  })
})

describe('bounds of one namespace', () => {
  const fits = Math.floor(namespaceExpressionBounds.programSize / 99_000)
  const names = Array.from({ length: fits + 2 }, (_, index) => `g${String(index).padStart(2, '0')}`)

  it('leaves out what is beyond them by kind and name, reports it, and concerns no other namespace', () => {
    const builder = new SnapshotBuilder(['api'])
    const other = decode(groupOf('other', 'g', ['/a'])).objects
    builder.apply([
      { source: 'api', upserts: [...names.map((name) => full('zoo', name)).reverse(), ...other], deletes: [] },
    ])
    const held = (): readonly string[] =>
      builder.snapshot.byNamespace('HTTPRouteGroup', 'zoo').map(({ metadata }) => metadata.name)
    expect(held()).toEqual(names.slice(0, fits))
    expect(builder.snapshot.byNamespace('HTTPRouteGroup', 'other')).toHaveLength(1)
    expect(builder.problems().map(({ code, object }) => [code, object?.name])).toEqual(
      names.slice(fits).map((name) => ['OSM_SPEC_NAMESPACE_BOUND', name]),
    )

    // One that goes makes room for the next one.
    const gone = full('zoo', names[0] ?? '')
    const { changed } = builder.apply([{ source: 'api', upserts: [], deletes: [objectKey(gone)] }])
    expect(changed).toEqual([objectKey(gone), `HTTPRouteGroup/zoo/${names[fits]}`])
    expect(held()).toEqual(names.slice(1, fits + 1))
    expect(builder.problems()).toHaveLength(1)
    builder.apply([{ source: 'api', upserts: [], deletes: names.map((name) => objectKey(full('zoo', name))) }])
    expect(builder.problems()).toEqual([])
  })

  it('refuses an object that is about to be written beyond them, and not its next version within them', () => {
    const builder = new SnapshotBuilder(['api'])
    builder.apply([{ source: 'api', upserts: names.slice(0, fits).map((name) => full('zoo', name)), deletes: [] }])
    const rules = new SpecRules({
      clusterDomain: 'cluster.local',
      trustDomain: 'cluster.local',
      osmNamespace: 'osm-system',
      crossNamespace: () => consentNeeded,
      gatewayNames: () => [],
    })
    expect(rules.review(full('zoo', 'g99'), builder.snapshot)).toMatchObject([
      { problem: { code: 'OSM_SPEC_NAMESPACE_BOUND', severity: 'error' }, pending: false },
    ])
    expect(rules.review(full('zoo', names[0] ?? ''), builder.snapshot)).toEqual([])
    expect(rules.review(full('other', 'g99'), builder.snapshot)).toEqual([])
  })
})
