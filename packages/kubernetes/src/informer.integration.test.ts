import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Metrics } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { FakeClock } from '../../core/test/certificates/fake-clock.js'
import { FakeApiServer } from '../test/fake-api-server.js'
import { isList, isWatch, type SeenRequest } from '../test/fake-faults.js'
import { MemoryLogger } from '../test/memory-logger.js'
import type { KubernetesApi, ObjectName } from './api.js'
import type { Informer, InformerChange, InformerOptions } from './informer-types.js'
import { createInformer } from './informer.js'
import { isKubernetesError } from './kubernetes-error.js'
import { resourceTypes } from './resource-types.js'

const { ConfigMap } = resourceTypes
const SECOND = 1_000
const MINUTE = 60 * SECOND

interface Item {
  readonly name: string
  readonly value: string
}

let server: FakeApiServer
let api: KubernetesApi
let clock: FakeClock
let stop: AbortController
const logger = new MemoryLogger()

beforeEach(async () => {
  server = await FakeApiServer.start()
  api = await server.api()
  clock = new FakeClock()
  stop = new AbortController()
})

afterEach(async () => {
  stop.abort()
  await server.close()
})

describe('an informer', () => {
  it('lists page by page and has everything when it has started', async () => {
    for (let index = 0; index < 1_200; index += 1) put(`m${index}`, 'a')
    const { informer } = await started()
    expect(informer.list()).toHaveLength(1_200)
    expect(server.requests.filter(isList).map(({ query }) => query)).toEqual([
      { limit: '500' },
      { limit: '500', continue: '2200:500' },
      { limit: '500', continue: '2200:1000' },
    ])
    expect(informer.state()).toEqual({ state: 'synced' })
  })

  it('tells what was before and after, and nothing of changes that make no difference', async () => {
    put('a', '1')
    const { informer, changes } = await started()
    put('b', '1')
    put('a', '2')
    put('a', '2', { 'not-projected': 'x' })
    remove('a')
    await until(() => changes.length === 3)
    expect(changes).toEqual([
      [{ name: named('b'), after: item('b', '1') }],
      [{ name: named('a'), before: item('a', '1'), after: item('a', '2') }],
      [{ name: named('a'), before: item('a', '2') }],
    ])
    expect(informer.list()).toEqual([item('b', '1')])
  })

  it('finds objects by the values of an index, as they are now', async () => {
    put('a', 'red')
    put('b', 'red')
    put('c', 'blue')
    const { informer, changes } = await started()
    expect(informer.byIndex('value', 'red').map(({ name }) => name)).toEqual(['a', 'b'])
    put('a', 'blue')
    remove('c')
    await until(() => changes.length === 2)
    expect(informer.byIndex('value', 'red').map(({ name }) => name)).toEqual(['b'])
    expect(informer.byIndex('value', 'blue').map(({ name }) => name)).toEqual(['a'])
    expect(informer.byIndex('value', 'green')).toEqual([])
    expect(() => informer.byIndex('colour', 'red')).toThrow(RangeError)
  })

  it('omits what the projection omits, and releases objects that it no longer keeps', async () => {
    put('a', 'ignored')
    put('b', 'kept')
    const { informer, changes } = await started({
      project: ({ metadata, data }) => {
        const { value } = data as { readonly value: string }
        return value === 'ignored' ? undefined : { name: metadata.name, value }
      },
    })
    expect(informer.list()).toEqual([item('b', 'kept')])
    put('b', 'ignored')
    await until(() => changes.length === 1)
    expect(changes[0]).toEqual([{ name: named('b'), before: item('b', 'kept') }])
  })

  it('keeps to its namespace and labels, also when an object leaves them', async () => {
    put('a', '1', { mesh: 'osm' })
    put('b', '1')
    server.put(ConfigMap, { namespace: 'other', name: 'c', labels: { mesh: 'osm' } }, { data: { value: '1' } })
    const { informer, changes } = await started({ namespace: 'ns', labelSelector: 'mesh=osm' })
    expect(informer.list()).toEqual([item('a', '1')])
    put('a', '1')
    await until(() => changes.length === 1)
    expect(informer.list()).toEqual([])
  })

  it('lets listeners come, go and fail', async () => {
    const { informer, changes } = await started()
    const end = informer.subscribe(() => {
      throw new Error('a bug')
    })
    const second: unknown[] = []
    informer.subscribe((change) => second.push(change))
    put('a', '1')
    await until(() => second.length === 1)
    expect(logger.lines.at(-1)).toMatchObject({ level: 'error', fields: { error: 'a bug' } })
    end()
    put('b', '1')
    await until(() => second.length === 2)
    expect(changes).toHaveLength(2)
  })

  it('goes on where it stopped when the API server ends a watch', async () => {
    const { changes } = await started()
    put('a', '1')
    await until(() => changes.length === 1)
    await passUntil(() => server.watches.count === 1, 2 * SECOND)
    server.watches.end()
    await until(() => server.requests.filter(isWatch).length === 2)
    expect(server.requests.filter(isList)).toHaveLength(1)
    expect(lastWatch().query.resourceVersion).toBe(String(server.objects.version))
  })

  it('requests bookmarks and goes on from the last one', async () => {
    await started()
    expect(lastWatch().query.allowWatchBookmarks).toBe('true')
    server.objects.tick()
    server.watches.bookmark()
    server.watches.end()
    await passUntil(() => server.requests.filter(isWatch).length === 2)
    expect(lastWatch().query.resourceVersion).toBe('1001')
    expect(server.requests.filter(isList)).toHaveLength(1)
  })

  it('requests watches of 5 to 10 minutes', async () => {
    await started({ random: () => 0 })
    expect(lastWatch().query.timeoutSeconds).toBe('300')
    stop.abort()
    stop = new AbortController()
    await started({ random: () => 0.999_999 })
    expect(lastWatch().query.timeoutSeconds).toBe('600')
  })

  it('watches again after cut sockets, missing nothing and reading nothing twice', async () => {
    const { informer, changes } = await started()
    for (let round = 0; round < 5; round += 1) {
      server.cut()
      put(`m${round}`, '1')
      await passUntil(() => changes.length === round + 1)
    }
    expect(informer.list()).toHaveLength(5)
    expect(server.requests.filter(isList)).toHaveLength(1)
    expect(informer.state()).toEqual({ state: 'synced' })
  })

  it('is stale from the last contact until it hears from the API server again', async () => {
    const { informer } = await started()
    const contact = clock.now()
    server.fault({ when: isWatch, action: { kind: 'cut' }, times: 3 })
    server.cut()
    await passUntil(() => informer.state().state === 'stale')
    expect(informer.state()).toMatchObject({ error: { code: 'OSM_KUBERNETES_UNREACHABLE' } })
    expect(since(informer)).toBeGreaterThanOrEqual(contact)
    await passUntil(() => informer.state().state === 'synced')
    expect(logger.lines.at(-1)?.message).toBe('the API server can be reached again')
  })

  it('tells the whole difference at once when history is gone', async () => {
    put('a', '1')
    put('b', '1')
    put('c', '1')
    const { informer, changes } = await started()
    server.watches.freeze()
    remove('a')
    put('b', '2')
    put('d', '1')
    server.objects.compact()
    server.cut()
    await passUntil(() => changes.length > 0)
    expect(changes).toEqual([
      [
        { name: named('a'), before: item('a', '1') },
        { name: named('b'), before: item('b', '1'), after: item('b', '2') },
        { name: named('d'), after: item('d', '1') },
      ],
    ])
    expect(informer.list()).toHaveLength(3)
    expect(server.requests.filter(isList)).toHaveLength(2)
  })

  it('lists again after an error event of a watch that says 410', async () => {
    const { changes } = await started()
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }
    server.watches.write(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
    await passUntil(() => server.requests.filter(isList).length === 2)
    put('a', '1')
    await passUntil(() => changes.length === 1)
  })

  it('survives garbage in a watch, and changes that are cut in the middle', async () => {
    const { informer, changes } = await started()
    for (const text of ['{"type":"ADDED","object":{"kind"', '\u0000\u0001not json\n', '[]\n', '{"type":"ADDED"}\n']) {
      const before = server.requests.filter(isWatch).length
      server.watches.write(text)
      server.watches.end()
      await passUntil(() => server.requests.filter(isWatch).length > before && server.watches.count === 1)
    }
    put('a', '1')
    await passUntil(() => changes.length === 1)
    expect(informer.list()).toEqual([item('a', '1')])
    expect(server.requests.filter(isList)).toHaveLength(1)
  })

  it('starts a list over when its continuation is too old, with larger pages', async () => {
    for (let index = 0; index < 600; index += 1) put(`m${index}`, '1')
    server.fault({ when: ({ query }) => query.continue !== undefined, action: expired })
    const { informer } = start()
    await passUntil(() => informer.state().state === 'synced')
    expect(informer.list()).toHaveLength(600)
    expect(server.requests.filter(isList).map(({ query }) => query.limit)).toEqual(['500', '500', '2000'])
  })

  it('waits as long as the API server asks for', async () => {
    server.fault({ action: { kind: 'status', status: 429, reason: 'TooManyRequests', retryAfter: 20 } })
    const starting = start()
    await until(() => errorCode(starting.informer) !== undefined)
    await clock.pass(19 * SECOND)
    expect(server.requests).toHaveLength(1)
    await passUntil(() => starting.informer.state().state === 'synced', SECOND)
    await starting.done
  })

  it('says why it has not begun, and begins when a list succeeds', async () => {
    server.token = 'right'
    const { informer, done } = start()
    await until(() => errorCode(informer) !== undefined)
    expect(informer.state()).toMatchObject({ state: 'syncing', error: { code: 'OSM_KUBERNETES_UNAUTHORIZED' } })
    server.token = undefined
    await passUntil(() => informer.state().state === 'synced')
    await done
  })

  it('reads a slow list to its end', async () => {
    put('a', '1')
    let answer = (): void => undefined
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    server.fault({ when: isList, action: { kind: 'hold', until: held } })
    const { informer, done } = start()
    await clock.pass(50 * SECOND)
    expect(informer.state()).toEqual({ state: 'syncing' })
    answer()
    await done
    expect(informer.list()).toHaveLength(1)
  })

  it('notices a dead connection by missing bookmarks, and comes through a partition of minutes', async () => {
    const { informer, changes } = await started()
    server.watches.bookmark()
    await passUntil(() => informer.state().state === 'synced')
    server.freeze()
    for (let index = 0; index < 50; index += 1) put(`m${index}`, '1')
    const contact = clock.now()
    await passUntil(() => informer.state().state === 'stale', 10 * SECOND)
    expect(since(informer)).toBeLessThanOrEqual(contact)
    await clock.pass(3 * MINUTE)
    expect(informer.list()).toEqual([])
    server.thaw()
    await passUntil(() => informer.list().length === 50, 10 * SECOND)
    expect(changes.flat()).toHaveLength(50)
    expect(informer.state()).toEqual({ state: 'synced' })
    expect(server.requests.filter(isList)).toHaveLength(1)
  })

  it('notices a dead connection by the end that a watch should have had, where there are no bookmarks', async () => {
    await started({ random: () => 0 })
    const contact = clock.now()
    server.watches.freeze()
    await passUntil(() => server.requests.filter(isWatch).length === 2, 10 * SECOND)
    expect(clock.now() - contact).toBeGreaterThanOrEqual(5 * MINUTE)
    expect(clock.now() - contact).toBeLessThan(10 * MINUTE)
  })

  it('does not hammer an API server that ends every watch at once', async () => {
    await started()
    const begun = clock.now()
    for (let round = 0; round < 5; round += 1) {
      await passUntil(() => server.watches.count === 1)
      server.watches.end()
      await until(() => server.watches.count === 0)
    }
    expect(server.requests.filter(isWatch).length).toBeLessThanOrEqual(6)
    expect(clock.now() - begun).toBeGreaterThan(4 * SECOND)
  })

  it('follows a restart of the API server on the same address', async () => {
    const { informer, changes } = await started()
    const port = Number(new URL(server.url).port)
    await server.close()
    await passUntil(() => informer.state().state === 'stale')
    put('a', '1')
    await server.listen(port)
    await passUntil(() => changes.length === 1)
    expect(informer.state()).toEqual({ state: 'synced' })
  })

  it('ends with its signal, before and after the first list', async () => {
    server.fault({ action: { kind: 'hang' } })
    const { done } = start()
    await until(() => server.requests.length === 1)
    stop.abort(new Error('enough'))
    await expect(done).rejects.toThrow('enough')

    stop = new AbortController()
    await started()
    await until(() => server.watches.count === 1)
    stop.abort()
    await until(() => server.watches.count === 0)
    expect(clock.pending).toBe(0)
  })

  it('refuses to be started twice', async () => {
    const { informer } = await started()
    await expect(informer.start(stop.signal)).rejects.toThrow('started before')
  })

  it('counts lists, watches and the time without contact', async () => {
    const metrics = new Metrics()
    const { changes, informer } = await started({ metrics })
    server.watches.freeze()
    put('a', '1')
    server.objects.compact()
    server.cut()
    await passUntil(() => changes.length === 1)
    await passUntil(() => informer.state().state === 'synced')
    server.fault({ when: isWatch, action: { kind: 'hang' } })
    server.cut()
    await passUntil(() => informer.state().state === 'stale')
    expect(await series(metrics)).toEqual([
      'osm_kubernetes_list_count{resource="configmaps",outcome="ok"} 2',
      'osm_kubernetes_stale_count{resource="configmaps"} 2',
      'osm_kubernetes_stale_over_count{resource="configmaps"} 1',
      'osm_kubernetes_stale_seconds_count 1',
      'osm_kubernetes_watch_count{resource="configmaps",outcome="expired"} 1',
      'osm_kubernetes_watch_count{resource="configmaps",outcome="failed"} 2',
    ])
    stop.abort()
    await until(() => server.watches.count === 0)
    await clock.pass(0)
    expect(await series(metrics)).toContain('osm_kubernetes_stale_over_count{resource="configmaps"} 2')
  })
})

async function series(metrics: Metrics): Promise<readonly string[]> {
  const { body } = await metrics.render()
  const lines = body.split('\n').filter((line) => line.startsWith('osm_kubernetes') && !/_(bucket|sum)/.test(line))
  return lines.sort()
}

const expired = { kind: 'status', status: 410, reason: 'Expired' } as const

type Options = Partial<InformerOptions<Item>> & { readonly random?: () => number; readonly metrics?: Metrics }

/** An informer that has begun to start. */
function start(options: Options = {}): {
  readonly informer: Informer<Item>
  readonly changes: (readonly InformerChange<Item>[])[]
  readonly done: Promise<void>
} {
  const changes: (readonly InformerChange<Item>[])[] = []
  const informer = createInformer<Item>({
    type: ConfigMap,
    project: ({ metadata, data }) => ({ name: metadata.name, value: (data as { readonly value: string }).value }),
    indexes: { value: ({ value }) => [value] },
    api,
    clock,
    logger,
    random: () => 0.5,
    ...options,
  })
  informer.subscribe((change) => changes.push(change))
  return { informer, changes, done: informer.start(stop.signal) }
}

/** An informer that has its first list and an open watch. */
async function started(options: Options = {}): Promise<ReturnType<typeof start>> {
  const begun = server.requests.filter(isWatch).length
  const starting = start(options)
  await starting.done
  await until(() => server.requests.filter(isWatch).length > begun && server.watches.count === 1)
  return starting
}

/** Lets time pass, and sockets work, until something is so. */
async function passUntil(condition: () => boolean, stepMs = 200): Promise<void> {
  await until(() => {
    if (condition()) return true
    void clock.pass(stepMs)
    return false
  }, condition.toString())
}

function put(name: string, value: string, labels?: Readonly<Record<string, string>>): void {
  server.put(ConfigMap, { ...named(name), ...(labels === undefined ? {} : { labels }) }, { data: { value } })
}

function remove(name: string): void {
  server.remove(ConfigMap, named(name))
}

function named(name: string): ObjectName {
  return { namespace: 'ns', name }
}

function item(name: string, value: string): Item {
  return { name, value }
}

function since(informer: Informer<Item>): number | undefined {
  const state = informer.state()
  return 'since' in state ? state.since : undefined
}

function errorCode(informer: Informer<Item>): string | undefined {
  const state = informer.state()
  return 'error' in state && isKubernetesError(state.error) ? state.error.code : undefined
}

function lastWatch(): SeenRequest {
  return server.requests.filter(isWatch).at(-1)!
}
