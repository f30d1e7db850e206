import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { proxyKeyOfInstance } from '../identity/index.js'
import { ObjectDecoder, objectKey, readObjects, type KindMap, type MeshObject, type ObjectKey } from '../spec/index.js'
import { snapshotObjects } from './mesh-snapshot.js'
import type { Snapshot } from './snapshot.js'
import { SnapshotBuilder } from './snapshot-builder.js'

const namespaces = ['a', 'b'] as const
const labelSets = [{}, { app: 'x' }, { app: 'x', v: '1' }, { app: 'y' }, { 'example.com/app': 'x' }] as const

type Labels = Readonly<Record<string, string>>

const decoders = { user: new ObjectDecoder('user'), runtime: new ObjectDecoder('runtime') }

function parse(documents: readonly unknown[], writtenBy: 'user' | 'runtime' = 'user'): readonly MeshObject[] {
  const { objects, problems } = readObjects(documents.map((document) => JSON.stringify(document)).join('\n---\n'), {
    decoder: decoders[writtenBy],
  })
  expect(problems).toEqual([])
  return objects
}

const service = (namespace: string, name: string, selector: Labels): MeshObject =>
  parse([{ apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec: { selector } }])[0] as MeshObject

const workload = (namespace: string, name: string, labels: Labels, serviceAccountName: string): MeshObject =>
  parse([
    {
      apiVersion: 'standalone.openservicemesh.io/v1alpha1',
      kind: 'Workload',
      metadata: { namespace, name, labels },
      spec: { serviceAccountName, command: ['x'] },
    },
  ])[0] as MeshObject

const instance = (namespace: string, name: string, labels: Labels, serviceAccountName: string): MeshObject =>
  parse(
    [
      {
        apiVersion: 'standalone.openservicemesh.io/v1alpha1',
        kind: 'WorkloadInstance',
        metadata: { namespace, name, labels },
        spec: {
          uuid: `00000000-0000-4000-8000-0000000000${namespace === 'a' ? '0' : '1'}${name}`,
          workload: name,
          serviceAccountName,
          sidecarClass: 'envoy',
          mode: 'transparent',
          addresses: ['10.0.0.1'],
          createdAt: '2024-01-01T00:00:00Z',
        },
      },
    ],
    'runtime',
  )[0] as MeshObject

/** All objects of the tests' small world. */
const world: readonly MeshObject[] = namespaces.flatMap((namespace) =>
  labelSets.flatMap((labels, index) => [
    service(namespace, `s${index}`, labels),
    ...['sa1', 'sa2'].flatMap((account) => [
      workload(namespace, `w${index}`, labels, account),
      instance(namespace, String(index), labels, account),
    ]),
  ]),
)

const edit = fc.oneof(
  fc.record({ upsert: fc.constantFrom(...world) }),
  fc.record({ remove: fc.constantFrom(...world).map(objectKey) }),
)
type Edit = { readonly upsert: MeshObject } | { readonly remove: ObjectKey }
const steps = fc.array(fc.array(edit, { maxLength: 8 }), { maxLength: 10 })

function apply(builder: SnapshotBuilder, edits: readonly Edit[], source = 'main'): void {
  for (const one of edits)
    builder.apply([
      { source, upserts: 'upsert' in one ? [one.upsert] : [], deletes: 'remove' in one ? [one.remove] : [] },
    ])
}

/** Everything that a snapshot answers, found by looking at all objects. */
function expectTruth(snapshot: Snapshot, truth: ReadonlyMap<ObjectKey, MeshObject>): void {
  const byPlace = (a: MeshObject, b: MeshObject): number => (objectKey(a) < objectKey(b) ? -1 : 1)
  const all = [...truth.values()].sort(byPlace)
  const kind = <K extends 'Service' | 'Workload' | 'WorkloadInstance'>(name: K): KindMap[K][] =>
    all.filter((object) => object.kind === name) as unknown as KindMap[K][]
  expect(snapshotObjects(snapshot)).toEqual(truth)
  expect(snapshot.namespaces()).toEqual([...new Set(all.map(({ metadata }) => metadata.namespace))].sort())
  for (const name of ['Service', 'Workload', 'WorkloadInstance'] as const) {
    expect(snapshot.list(name)).toEqual(kind(name))
    for (const namespace of namespaces)
      expect(snapshot.byNamespace(name, namespace)).toEqual(
        kind(name).filter(({ metadata }) => metadata.namespace === namespace),
      )
  }
  const selects = (it: KindMap['Service'], namespace: string, labels: Labels): boolean => {
    const selector = Object.entries(it.spec.selector ?? {})
    return (
      it.metadata.namespace === namespace &&
      selector.length > 0 &&
      selector.every(([key, value]) => labels[key] === value)
    )
  }
  for (const it of kind('Service')) {
    expect(snapshot.workloadsOf(it)).toEqual(
      kind('Workload').filter((w) => selects(it, w.metadata.namespace, w.metadata.labels)),
    )
    expect(snapshot.instancesOf(it)).toEqual(
      kind('WorkloadInstance').filter((i) => selects(it, i.metadata.namespace, i.metadata.labels)),
    )
  }
  for (const namespace of namespaces) {
    for (const labels of labelSets)
      expect(snapshot.servicesSelecting(namespace, labels)).toEqual(
        kind('Service').filter((it) => selects(it, namespace, labels)),
      )
    for (const name of ['sa1', 'sa2']) {
      const runsAs = (it: KindMap['Workload'] | KindMap['WorkloadInstance']): boolean =>
        it.metadata.namespace === namespace && it.spec.serviceAccountName === name
      expect(snapshot.workloadsOfIdentity({ namespace, name })).toEqual(kind('Workload').filter(runsAs))
      expect(snapshot.instancesOfIdentity({ namespace, name })).toEqual(kind('WorkloadInstance').filter(runsAs))
    }
  }
  for (const it of kind('WorkloadInstance')) {
    const proxy = proxyKeyOfInstance(it)
    const sharing = kind('WorkloadInstance').filter((other) => proxyKeyOfInstance(other) === proxy)
    expect(snapshot.instancesOfProxy(proxy)).toEqual(sharing)
    expect(snapshot.instanceOfProxy(proxy)).toBe(
      sharing.toSorted((a, b) =>
        a.spec.createdAt < b.spec.createdAt ? -1 : a.spec.createdAt > b.spec.createdAt ? 1 : 0,
      )[0],
    )
    const alike = kind('WorkloadInstance').filter(({ spec }) => spec.uuid === it.spec.uuid)
    expect(snapshot.instancesByUuid(it.spec.uuid)).toEqual(alike)
  }
}

describe('SnapshotBuilder', () => {
  it('answers every question as a look at all objects would, after any edits', () => {
    fc.assert(
      fc.property(steps, (edits) => {
        const builder = new SnapshotBuilder(['main'])
        const truth = new Map<ObjectKey, MeshObject>()
        for (const step of edits) {
          apply(builder, step)
          for (const one of step)
            if ('upsert' in one) truth.set(objectKey(one.upsert), one.upsert)
            else truth.delete(one.remove)
        }
        expectTruth(builder.snapshot, truth)
      }),
      { numRuns: 60 },
    )
  })

  it('comes to equal snapshots whatever the order and grouping of changes', () => {
    const someObjects = fc.uniqueArray(fc.constantFrom(...world), { selector: objectKey })
    const shuffled = someObjects.chain((objects) =>
      fc.tuple(fc.constant(objects), fc.shuffledSubarray(objects, { minLength: objects.length })),
    )
    fc.assert(
      fc.property(shuffled, ([objects, otherOrder]) => {
        const together = new SnapshotBuilder(['main'])
        together.apply([{ source: 'main', upserts: objects, deletes: [] }])
        const oneByOne = new SnapshotBuilder(['main'])
        apply(
          oneByOne,
          otherOrder.map((upsert) => ({ upsert })),
        )
        for (const kind of ['Service', 'Workload', 'WorkloadInstance'] as const)
          expect(oneByOne.snapshot.list(kind)).toEqual(together.snapshot.list(kind))
        expectTruth(oneByOne.snapshot, new Map(objects.map((object) => [objectKey(object), object])))
      }),
      { numRuns: 60 },
    )
  })

  it('leaves snapshots that were handed out alone', () => {
    fc.assert(
      fc.property(steps, (edits) => {
        const builder = new SnapshotBuilder(['main'])
        const kept = edits.map((step) => {
          apply(builder, step)
          return { snapshot: builder.snapshot, objects: new Map(snapshotObjects(builder.snapshot)) }
        })
        for (const { snapshot, objects } of kept) expectTruth(snapshot, objects)
      }),
      { numRuns: 20 },
    )
  })

  it('names what changed, sorted, and counts revisions', () => {
    const builder = new SnapshotBuilder(['main'])
    expect(builder.snapshot.revision).toBe(0)
    const first = builder.apply([
      { source: 'main', upserts: [service('b', 's', {}), service('a', 's', {})], deletes: [] },
    ])
    expect(first.changed).toEqual(['Service/a/s', 'Service/b/s'])
    expect(first.snapshot.revision).toBe(1)
    const second = builder.apply([
      {
        source: 'main',
        upserts: [service('a', 's', { x: '1' })],
        deletes: ['Service/b/s' as ObjectKey, 'Service/c/s' as ObjectKey],
      },
    ])
    expect(second.changed).toEqual(['Service/a/s', 'Service/b/s'])
    expect(second.snapshot.revision).toBe(2)
    expect(second.snapshot.get('Service', 'b', 's')).toBeUndefined()
  })

  it('takes equal content, another status and another place for no change', () => {
    const builder = new SnapshotBuilder(['main'])
    const original = service('a', 's', { x: '1' })
    const before = builder.apply([{ source: 'main', upserts: [original], deletes: [] }]).snapshot
    const again: MeshObject = {
      ...original,
      status: { seen: true },
      origin: { kind: 'api', resourceVersion: '8' },
    }
    expect(builder.apply([{ source: 'main', upserts: [again], deletes: [] }])).toEqual({
      snapshot: before,
      changed: [],
    })
    expect(builder.snapshot).toBe(before)
  })

  it('shares lists that did not change', () => {
    const builder = new SnapshotBuilder(['main'])
    const before = builder.apply([{ source: 'main', upserts: world, deletes: [] }]).snapshot
    const { snapshot } = builder.apply([{ source: 'main', upserts: [service('a', 'new', {})], deletes: [] }])
    expect(snapshot.list('Workload')).toBe(before.list('Workload'))
    expect(snapshot.byNamespace('Service', 'b')).toBe(before.byNamespace('Service', 'b'))
    expect(snapshot.list('Service')).not.toBe(before.list('Service'))
    expect(Object.isFrozen(snapshot.list('Service'))).toBe(true)
  })

  it('lets the first source hold and names the other place, until one of the two is gone', () => {
    const builder = new SnapshotBuilder(['first', 'second'])
    const [one, two] = [service('a', 's', { x: '1' }), service('a', 's', { x: '2' })]
    builder.apply([{ source: 'second', upserts: [two], deletes: [] }])
    expect(builder.problems()).toEqual([])
    builder.apply([{ source: 'first', upserts: [one], deletes: [] }])
    expect(builder.snapshot.list('Service')).toEqual([one])
    expect(builder.problems()).toMatchObject([
      { code: 'OSM_SPEC_DUPLICATE', object: { kind: 'Service', namespace: 'a', name: 's' }, origin: two.origin },
    ])
    const { changed } = builder.apply([{ source: 'first', upserts: [], deletes: [objectKey(one)] }])
    expect(changed).toEqual(['Service/a/s'])
    expect(builder.snapshot.list('Service')).toEqual([two])
    expect(builder.problems()).toEqual([])
  })

  it('refuses changes of a source it was not told of', () => {
    expect(() => new SnapshotBuilder(['a']).apply([{ source: 'b', upserts: [], deletes: [] }])).toThrow(RangeError)
  })
})
