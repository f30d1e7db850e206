import { describe, expect, it } from '@jest/globals'

import type { ObjectOrigin, Problem } from '../problem.js'
import {
  makeObjectKey,
  objectKey,
  readObjects,
  type MeshObject,
  type ObjectKey,
  type ObjectSource,
  type SourceChange,
} from '../spec/index.js'
import type { SnapshotUpdate } from './snapshot.js'
import { SnapshotFeed } from './snapshot-feed.js'

function account(name: string): MeshObject {
  const [object] = readObjects(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: ${name}}}`, {
    file: 'x.yaml',
  }).objects
  if (object === undefined) throw new Error('no object')
  return object
}

/** A source that loads when told to. */
class ManualSource implements ObjectSource {
  readonly name: string
  readonly #objects = new Map<ObjectKey, MeshObject>()
  readonly #listeners = new Set<(change: SourceChange) => void>()
  #finishLoad: () => void = () => undefined
  readonly #loaded: Promise<void>

  constructor(name: string) {
    this.name = name
    this.#loaded = new Promise((resolve) => {
      this.#finishLoad = resolve
    })
  }

  load(...objects: readonly MeshObject[]): void {
    for (const object of objects) this.#objects.set(objectKey(object), object)
    this.#finishLoad()
  }

  change(upserts: readonly MeshObject[], deletes: readonly ObjectKey[] = []): void {
    for (const object of upserts) this.#objects.set(objectKey(object), object)
    for (const key of deletes) this.#objects.delete(key)
    for (const listener of this.#listeners) listener({ upserts, deletes, problems: [] })
  }

  get listeners(): number {
    return this.#listeners.size
  }

  start(): Promise<void> {
    return this.#loaded
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  problems(): readonly Problem[] {
    return [{ code: 'X', severity: 'error', message: this.name }]
  }

  objects(): readonly MeshObject[] {
    return [...this.#objects.values()]
  }

  locate(key: ObjectKey): ObjectOrigin | undefined {
    return this.#objects.get(key)?.origin
  }
}

describe('SnapshotFeed', () => {
  it('has nothing before all sources have loaded, then everything at once', async () => {
    const [one, two] = [new ManualSource('one'), new ManualSource('two')]
    const feed = new SnapshotFeed([one, two])
    const updates: SnapshotUpdate[] = []
    feed.subscribe((update) => updates.push(update))
    const started = feed.start(new AbortController().signal)
    one.load(account('a'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(feed.current()).toBeUndefined()
    expect(updates).toEqual([])
    two.load(account('b'))
    await started
    expect(updates).toHaveLength(1)
    expect(updates[0]?.changed).toEqual(['ServiceAccount/default/a', 'ServiceAccount/default/b'])
    expect(feed.current()).toBe(updates[0]?.snapshot)
  })

  it('publishes each change of content, and ends with the signal', async () => {
    const source = new ManualSource('one')
    const feed = new SnapshotFeed([source])
    const stop = new AbortController()
    source.load(account('a'))
    await feed.start(stop.signal)
    const updates: SnapshotUpdate[] = []
    const end = feed.subscribe((update) => updates.push(update))
    source.change([account('b')])
    source.change([account('b')])
    source.change([], [makeObjectKey('ServiceAccount', 'default', 'a')])
    expect(updates.map(({ changed }) => changed)).toEqual([['ServiceAccount/default/b'], ['ServiceAccount/default/a']])
    end()
    source.change([account('c')])
    expect(updates).toHaveLength(2)
    expect(source.listeners).toBe(1)
    stop.abort()
    expect(source.listeners).toBe(0)
  })

  it('joins problems and finds places', async () => {
    const [one, two] = [new ManualSource('one'), new ManualSource('two')]
    const feed = new SnapshotFeed([one, two])
    one.load(account('a'))
    two.load(account('a'), account('b'))
    await feed.start(new AbortController().signal)
    expect(feed.problems().map(({ code }) => code)).toEqual(['X', 'X', 'OSM_SPEC_DUPLICATE'])
    expect(feed.locate(makeObjectKey('ServiceAccount', 'default', 'b'))).toMatchObject({ file: 'x.yaml', line: 1 })
    expect(feed.locate(makeObjectKey('ServiceAccount', 'default', 'c'))).toBeUndefined()
  })

  it('refuses sources of one name, and fails with a source that cannot start', async () => {
    expect(() => new SnapshotFeed([new ManualSource('x'), new ManualSource('x')])).toThrow(RangeError)
    const broken = new ManualSource('x')
    broken.start = () => Promise.reject(new Error('no folder'))
    await expect(new SnapshotFeed([broken]).start(new AbortController().signal)).rejects.toThrow('no folder')
  })
})
