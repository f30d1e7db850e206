import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { customResource, RecordingHost } from '@osm-ts/endpoints-testkit'
import { CallMeter } from './call-meter.js'
import type { Clock } from './clock.js'
import type { CloudInstance, RefusedSelector, Selector } from './cloud.js'
import { Poller } from './poller.js'
import { ResolveFailure } from './resolve-failure.js'

/** Time that passes when a test says so. */
class ManualClock implements Clock {
  time = 0
  readonly waits: { readonly ms: number; readonly end: () => void }[] = []

  now(): number {
    return this.time
  }

  wallTime(): number {
    return 1_000_000 + this.time
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      this.waits.push({ ms, end: resolve })
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error)
      })
    })
  }

  random(): number {
    return 0.5
  }
}

const machine = (id: string, running = true): CloudInstance => ({
  id,
  addresses: [`10.0.0.${id}`],
  running,
  locality: { region: 'r', zone: '', subZone: '' },
})

const object = (name: string, ...keys: readonly string[]): ReturnType<typeof customResource> =>
  customResource('Machines', name, { service: name, keys })

describe('Poller', () => {
  let clock: ManualClock
  let host: RecordingHost
  let asked: string[]
  let answers: Map<string, readonly CloudInstance[] | Error>
  let running: Promise<void>

  beforeEach(() => {
    clock = new ManualClock()
    host = new RecordingHost()
    asked = []
    answers = new Map([
      ['a', [machine('1')]],
      ['b', [machine('2'), machine('3', false)]],
    ])
  })

  afterEach(async () => {
    await host.close()
    await running
  })

  async function start(): Promise<void> {
    const context = host.context()
    const meter = new CallMeter({ callsPerMinute: 1000, clock, count: () => undefined })
    const cloud = {
      selectors: ({ spec }: ReturnType<typeof object>): readonly (Selector<string> | RefusedSelector)[] =>
        (spec.keys as readonly string[]).map((key, index) =>
          key === 'refused'
            ? { field: `spec.keys[${index}]`, code: 'NotAllowed', message: 'no' }
            : { field: `spec.keys[${index}]`, key, scope: key.slice(0, 1), value: key },
        ),
      startRound: () => ({
        resolve: async (key: string) => {
          await meter.admit(context.signal)
          asked.push(key)
          const answer = answers.get(key) ?? []
          if (answer instanceof Error) throw answer
          return answer
        },
      }),
    }
    running = new Poller(cloud, meter, context, { intervalMs: 60_000, clock }).run()
    await host.until('a first wait', () => clock.waits.length > 0)
  }

  /** Ends the present wait and waits for the next. */
  async function nextRound(passed = 60_000): Promise<void> {
    const count = clock.waits.length
    clock.time += passed
    clock.waits.at(-1)?.end()
    await host.until('another wait', () => clock.waits.length > count)
  }

  it('asks for the first selector of every namespace before the second of any', async () => {
    const keys = Array.from({ length: 20 }, (_, at) => `k${at}`)
    const other = customResource('Machines', 'web', { service: 'web', keys: ['a', 'b'] }, { namespace: 'zoo' })
    host.setObjects(object('web', ...keys), object('more', ...keys.map((key) => `${key}x`)), other)
    await start()
    expect(asked).toHaveLength(42)
    expect(asked.slice(0, 4)).toEqual(['k0', 'a', 'k1', 'b'])
  })

  it('asks once for equal selectors and joins the machines of objects that name one service', async () => {
    const second = customResource('Machines', 'more', { service: 'web', serviceAccount: 'other', keys: ['a', 'b'] })
    host.setObjects(object('web', 'a'), second)
    await start()
    expect(asked).toEqual(['a', 'b'])
    expect(host.instancesOf('web')?.instances.map(({ id, ready }) => [id, ready])).toEqual([
      ['1', true],
      ['2', true],
      ['3', false],
    ])
    expect(host.instancesOf('web')?.instances.map(({ serviceAccount }) => serviceAccount)).toEqual([
      undefined,
      'other',
      'other',
    ])
  })

  it('asks only for selectors that are new when objects change, and puts off no round of all', async () => {
    host.setObjects(object('web', 'a'))
    await start()
    clock.time += 59_000
    host.setObjects(object('web', 'a', 'b'))
    await host.until('changes are collected', () => clock.waits.at(-1)?.ms === 1000)
    await nextRound(500)
    expect(asked).toEqual(['a', 'b'])
    expect(clock.waits.at(-1)?.ms).toBe(500)
    await nextRound(500)
    expect(asked).toEqual(['a', 'b', 'a', 'b'])
  })

  it('waits longer after each round that failed as a whole, ten minutes at most', async () => {
    host.setObjects(object('web', 'a'))
    answers.set('a', new ResolveFailure('Unavailable', 'down'))
    await start()
    const waits = [clock.waits.at(-1)?.ms]
    for (let round = 0; round < 5; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- rounds follow each other
      await nextRound(600_000)
      waits.push(clock.waits.at(-1)?.ms)
    }
    expect(waits).toEqual([60_000, 120_000, 240_000, 480_000, 600_000, 600_000])
    expect(host.healths.at(-1)).toEqual({ state: 'failing', message: 'Unavailable: down', retryInMs: 600_000 })
    answers.set('a', [machine('1')])
    await nextRound(600_000)
    expect(clock.waits.at(-1)?.ms).toBe(60_000)
    expect(host.healths.at(-1)).toEqual({ state: 'ok' })
  })

  it('leaves a throttled scope alone until it may be asked again, and no other', async () => {
    host.setObjects(object('web', 'a', 'b'))
    answers.set('a', new ResolveFailure('Throttled', 'slow down', 150_000))
    await start()
    await nextRound()
    await nextRound()
    expect(asked).toEqual(['a', 'b', 'b', 'b'])
    answers.set('a', [machine('1')])
    await nextRound()
    expect(asked.slice(4)).toEqual(['a', 'b'])
  })

  it('keeps instances of a selector that fails, and forgets those of one that is gone', async () => {
    host.setObjects(object('web', 'a', 'b'))
    await start()
    answers.set('a', new TypeError('password=hunter2'))
    answers.set('b', new ResolveFailure('NotFound', 'none'))
    await nextRound()
    expect(host.instancesOf('web')).toMatchObject({
      instances: [{ id: '1' }],
      stale: 'Machines web: Unavailable: the request failed with TypeError',
    })
    expect(host.everything()).not.toContain('hunter2')
    expect(host.statuses.get('Machines/shop/web')?.conditions[0]?.message).toContain(
      'spec.keys[0]: Unavailable: the request failed with TypeError; spec.keys[1]: NotFound: none; 1 instances',
    )
  })

  it('reports a refused selector and resolves the others', async () => {
    host.setObjects(object('web', 'refused', 'a'))
    await start()
    expect(host.reasonOf('Machines/shop/web')).toBe('NotAllowed')
    expect(host.instancesOf('web')?.instances).toHaveLength(1)
    expect(host.healths.at(-1)).toEqual({ state: 'ok' })
  })

  it('refuses selectors beyond the bound of a namespace, whose objects are first in line, and in no other', async () => {
    const keys = Array.from({ length: 101 }, (_, index) => `x${index}`)
    host.setObjects(
      object('web', ...keys),
      customResource('Machines', 'b', { service: 'b', keys: ['b'] }, { namespace: 'bank' }),
    )
    await start()
    expect(asked).toHaveLength(101)
    expect(asked).not.toContain('x100')
    expect(host.reasonOf('Machines/shop/web')).toBe('TooManySelectors')
    expect(host.reasonOf('Machines/bank/b')).toBe('Resolved')
  })

  it('clears the status and the instances of an object that is deleted', async () => {
    host.setObjects(object('web', 'a'))
    await start()
    host.setObjects()
    await host.until('changes are collected', () => clock.waits.at(-1)?.ms === 1000)
    await nextRound(1000)
    expect(host.answers.at(-1)).toEqual({ services: [] })
    expect(host.statuses.size).toBe(0)
  })
})

describe('CallMeter', () => {
  it('lets calls beyond the number of a minute wait in their order, and counts those of some work', async () => {
    const clock = new ManualClock()
    const meter = new CallMeter({ callsPerMinute: 2, clock, count: () => undefined })
    const { signal } = new AbortController()
    const { calls } = await meter.measure(async () => {
      await meter.admit(signal)
      await meter.admit(signal)
    })
    expect(calls).toBe(2)
    clock.time = 20_000
    const order: number[] = []
    const third = meter.admit(signal).then(() => order.push(3))
    const closing = new AbortController()
    const aborted = meter.admit(closing.signal)
    closing.abort()
    const fifth = meter.admit(signal).then(() => order.push(5))
    await new Promise(setImmediate)
    expect(clock.waits.map(({ ms }) => ms)).toEqual([40_000])
    clock.time = 60_000
    clock.waits[0]?.end()
    await expect(aborted).rejects.toThrow()
    await Promise.all([third, fifth])
    expect(order).toEqual([3, 5])
  })
})
