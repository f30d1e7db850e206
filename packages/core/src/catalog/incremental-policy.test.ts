import { describe, expect, it } from '@jest/globals'
import { canonicalJson, checkPolicy, type PartHash, type ProxyPolicy } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'

import { MeshFixture } from '../../test/catalog/mesh-fixture.js'
import { anyKey, anyMesh, anyObject, configObject } from '../../test/catalog/random-mesh.js'
import type { ProxyKey } from '../identity/index.js'
import type { Problem } from '../problem.js'
import { objectKey, type MeshObject, type ObjectKey } from '../spec/index.js'

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ upserts: fc.array(anyObject, { minLength: 1, maxLength: 3 }), deletes: fc.constant([]) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ upserts: fc.constant([]), deletes: fc.array(anyKey, { minLength: 1, maxLength: 3 }) }),
  },
  // Among all objects it would come too rarely to change what is in force.
  { weight: 1, arbitrary: fc.record({ upserts: fc.tuple(configObject), deletes: fc.constant([]) }) },
)

/** What people see of a catalog, as bytes. */
function everything(fixture: MeshFixture): string {
  const documents = Object.fromEntries(fixture.documents())
  return canonicalJson({ documents, problems: fixture.catalog.problems() })
}

/** A catalog that gets the objects at once and computes for the first time. */
function fromScratch(objects: Iterable<MeshObject>): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply([...objects])
  return fixture
}

function versions(fixture: MeshFixture): ReadonlyMap<ProxyKey, PartHash> {
  const all = fixture.catalog.listProxies().flatMap((proxy) => {
    const policy = fixture.catalog.policyFor(proxy)
    return policy === undefined ? [] : [[proxy, policy.hash] as const]
  })
  return new Map(all)
}

function edit(
  objects: Map<ObjectKey, MeshObject>,
  upserts: readonly MeshObject[],
  deletes: readonly ObjectKey[],
): void {
  for (const object of upserts) objects.set(objectKey(object), object)
  for (const key of deletes) objects.delete(key)
}

describe('policies after random edits', () => {
  it('are those of a computation from scratch, and exactly the proxies that changed are named', () => {
    fc.assert(
      fc.property(anyMesh, fc.array(step, { minLength: 1, maxLength: 6 }), (mesh, steps) => {
        const objects = new Map<ObjectKey, MeshObject>()
        const fixture = new MeshFixture()
        fixture.apply(mesh)
        edit(objects, mesh, [])
        for (const { upserts, deletes } of steps) {
          const before = versions(fixture)
          const changes = fixture.apply(upserts, deletes)
          edit(objects, upserts, deletes)
          const after = versions(fixture)
          const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
            (proxy) => before.get(proxy) !== after.get(proxy),
          )
          expect(changes.map(({ proxy }) => proxy)).toEqual(differing.sort())
          for (const change of changes) {
            expect(change.before?.hash).toBe(before.get(change.proxy))
            expect(change.after?.hash).toBe(after.get(change.proxy))
          }
          expect(everything(fixture)).toBe(everything(fromScratch(objects.values())))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('are the same however many updates come while they are computed one by one', () => {
    const slice = fc.nat({ max: 3 })
    fc.assert(
      fc.property(anyMesh, fc.array(fc.tuple(step, slice), { minLength: 1, maxLength: 6 }), (mesh, steps) => {
        const objects = new Map<ObjectKey, MeshObject>()
        const fixture = new MeshFixture()
        fixture.take(mesh)
        edit(objects, mesh, [])
        for (const [{ upserts, deletes }, settled] of steps) {
          for (let n = 0; n < settled; n += 1)
            expect(fixture.catalog.settle(() => false).filter(({ after }) => after !== undefined).length).toBeLessThan(
              2,
            )
          fixture.take(upserts, deletes)
          edit(objects, upserts, deletes)
        }
        while (!fixture.catalog.settled) fixture.catalog.settle(() => false)
        expect(everything(fixture)).toBe(everything(fromScratch(objects.values())))
        const needed = new Set(
          [...fixture.documents().values()].flatMap(({ version, parts }) => [version, ...Object.keys(parts)]),
        )
        expect(fixture.catalog.parts.size).toBe(needed.size)
      }),
      { numRuns: 60 },
    )
  })

  it('name the same origins as a computation from scratch', () => {
    fc.assert(
      fc.property(anyMesh, fc.array(step, { minLength: 1, maxLength: 4 }), (mesh, steps) => {
        const objects = new Map<ObjectKey, MeshObject>()
        const fixture = new MeshFixture()
        fixture.apply(mesh)
        edit(objects, mesh, [])
        for (const { upserts, deletes } of steps) {
          fixture.apply(upserts, deletes)
          edit(objects, upserts, deletes)
        }
        expect(origins(fixture)).toBe(origins(fromScratch(objects.values())))
      }),
      { numRuns: 40 },
    )
  })

  it('hold every part that a policy in force needs and no other', () => {
    fc.assert(
      fc.property(anyMesh, fc.array(step, { maxLength: 4 }), (mesh, steps) => {
        const fixture = new MeshFixture()
        fixture.apply(mesh)
        for (const { upserts, deletes } of steps) fixture.apply(upserts, deletes)
        const needed = new Set(
          [...fixture.documents().values()].flatMap(({ version, parts }) => [version, ...Object.keys(parts)]),
        )
        expect(fixture.catalog.parts.size).toBe(needed.size)
      }),
      { numRuns: 60 },
    )
  })
})

describe('policies of random meshes', () => {
  it('are the same bytes whatever order objects come in', () => {
    fc.assert(
      fc.property(
        anyMesh.chain((mesh) =>
          fc.tuple(
            fc.constant(distinct(mesh)),
            fc.shuffledSubarray(distinct(mesh), { minLength: distinct(mesh).length }),
          ),
        ),
        ([mesh, shuffled]) => {
          expect(everything(fromScratch(shuffled))).toBe(everything(fromScratch(mesh)))
        },
      ),
      { numRuns: 80 },
    )
  })

  it('keep what the contract promises: no conflict, no dangling reference, sorted lists, right hashes', () => {
    fc.assert(
      fc.property(anyMesh, (mesh) => {
        for (const [name, document] of fromScratch(mesh).documents())
          expect({ name, issues: checkPolicy(document) }).toEqual({ name, issues: [] })
      }),
      { numRuns: 80 },
    )
  })

  it('name the object of every problem, and each problem once', () => {
    fc.assert(
      fc.property(anyMesh, (mesh) => {
        const problems = fromScratch(mesh).catalog.problems()
        for (const problem of problems)
          expect([problem.object !== undefined, problem.origin !== undefined, problem.field !== undefined]).toEqual([
            true,
            true,
            true,
          ])
        const texts = problems.map((problem: Problem) => canonicalJson(problem))
        expect(new Set(texts).size).toBe(texts.length)
      }),
      { numRuns: 60 },
    )
  })
})

/** The last version of each object, in the order in which they came. */
function distinct(mesh: readonly MeshObject[]): MeshObject[] {
  return [...new Map(mesh.map((object) => [objectKey(object), object])).values()]
}

function origins(fixture: MeshFixture): string {
  const hashes = [...fixture.documents().values()].flatMap((document: ProxyPolicy) => Object.keys(document.parts))
  const unique = [...new Set(hashes)].sort() as PartHash[]
  const sorted = (hash: PartHash): readonly string[] =>
    fixture.catalog
      .originsOf(hash)
      .map((source) => canonicalJson(source))
      .sort()
  return canonicalJson(unique.map((hash) => [hash, sorted(hash)]))
}
