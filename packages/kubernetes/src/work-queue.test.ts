import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { FakeClock, settled } from '../../core/test/certificates/fake-clock.js'
import { KubernetesError } from './kubernetes-error.js'
import { WorkQueue, type WorkQueueOptions } from './work-queue.js'

const SECOND = 1_000

interface Handled {
  readonly key: string
  readonly at: number
  readonly end: (error?: Error) => void
}

let clock: FakeClock
let handled: Handled[]
let faults: { readonly key: string; readonly error: unknown; readonly failures: number }[]
let stop: AbortController

beforeEach(() => {
  clock = new FakeClock()
  handled = []
  faults = []
  stop = new AbortController()
})

afterEach(() => stop.abort())

describe('a work queue', () => {
  it('handles a key once however often it is added', async () => {
    const { queue } = started()
    for (let times = 0; times < 10; times += 1) queue.add('a')
    await settled()
    expect(keys()).toEqual(['a'])
    expect(queue.size).toBe(1)
  })

  it('never handles a key twice at one time, and once more if it was added meanwhile', async () => {
    const { queue } = started()
    queue.add('a')
    await settled()
    queue.add('a')
    queue.add('a')
    await settled()
    expect(keys()).toEqual(['a'])
    handled[0]?.end()
    await settled()
    expect(keys()).toEqual(['a', 'a'])
    handled[1]?.end()
    await settled()
    expect(keys()).toHaveLength(2)
    expect(queue.size).toBe(0)
  })

  it('handles as many keys at one time as it may, in their order', async () => {
    const { queue } = started({ concurrency: 2 })
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key)
    await settled()
    expect(keys()).toEqual(['a', 'b'])
    handled[1]?.end()
    await settled()
    expect(keys()).toEqual(['a', 'b', 'c'])
  })

  it('handles a key again after delays that grow, and starts over after a success', async () => {
    const { queue } = started({ backoff: { firstMs: SECOND, lastMs: 8 * SECOND }, random: () => 0.999_999 })
    queue.add('a')
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await settled()
      handled.at(-1)?.end(new Error(`attempt ${attempt}`))
      await clock.pass(8 * SECOND)
    }
    expect(handled.map(({ at }) => Math.ceil((at - handled[0]!.at) / SECOND))).toEqual([0, 2, 12, 24, 32, 40])
    expect(faults.map(({ failures }) => failures)).toEqual([1, 2, 3, 4, 5])
    handled.at(-1)?.end()
    queue.add('a')
    await settled()
    handled.at(-1)?.end(new Error('again'))
    await settled()
    expect(faults.at(-1)).toMatchObject({ key: 'a', failures: 1 })
  })

  it('waits as long as the API server asks for', async () => {
    const { queue } = started()
    queue.add('a')
    await settled()
    handled[0]?.end(new KubernetesError('OSM_KUBERNETES_THROTTLED', 'slow down', { retryAfterMs: 90 * SECOND }))
    await clock.pass(89 * SECOND)
    expect(keys()).toHaveLength(1)
    await clock.pass(SECOND)
    expect(keys()).toHaveLength(2)
  })

  it('does not make a key wait that is added again', async () => {
    const { queue } = started()
    queue.add('a')
    await settled()
    handled[0]?.end(new Error('no'))
    await settled()
    queue.add('a')
    await settled()
    expect(keys()).toHaveLength(2)
    expect(clock.pending).toBe(0)
  })

  it('delays a key, by the shortest of its delays', async () => {
    const { queue } = started()
    queue.addAfter('a', 10 * SECOND)
    queue.addAfter('a', 2 * SECOND)
    queue.addAfter('a', 5 * SECOND)
    await clock.pass(1_999)
    expect(keys()).toEqual([])
    await clock.pass(1)
    expect(keys()).toEqual(['a'])
    handled[0]?.end()
    await clock.pass(60 * SECOND)
    expect(keys()).toEqual(['a'])
  })

  it('says which key it could not take', async () => {
    const { queue } = started({ capacity: 2 })
    queue.add('a')
    queue.addAfter('b', SECOND)
    queue.add('c')
    queue.add('a')
    await clock.pass(SECOND)
    expect(keys()).toEqual(['a', 'b'])
    expect(faults).toMatchObject([{ key: 'c', error: { code: 'OSM_KUBERNETES_QUEUE_FULL' }, failures: 0 }])
  })

  it('ends with its signal when the last handler has ended, and leaves no timers', async () => {
    const { queue, running } = started()
    queue.add('a')
    queue.addAfter('b', SECOND)
    await settled()
    let ended = false
    void running.then(() => (ended = true))
    stop.abort()
    await settled()
    expect(ended).toBe(false)
    handled[0]?.end(new Error('aborted'))
    await running
    expect(clock.pending).toBe(0)
    expect(faults).toEqual([])
  })

  it('has every key handled after the last time it was added, whatever happens', async () => {
    const action = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      delayMs: fc.constantFrom(0, 0, 300, 2_000),
      passMs: fc.constantFrom(0, 100, 5_000),
      fails: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 30 }),
        fc.integer({ min: 1, max: 3 }),
        async (actions, concurrency) => {
          const own = new FakeClock()
          const wanted = new Map<string, number>()
          const seen = new Map<string, number>()
          const active = new Set<string>()
          let most = 0
          let failing = true
          let step = 0
          const end = new AbortController()
          const queue = new WorkQueue({
            concurrency,
            clock: own,
            random: () => 0.5,
            onFault: () => undefined,
            handle: async (key) => {
              expect(active.has(key)).toBe(false)
              active.add(key)
              most = Math.max(most, active.size)
              const started = step
              await new Promise((resolve) => own.setTimer(() => resolve(undefined), 50))
              active.delete(key)
              if (failing && actions[started % actions.length]?.fails === true) throw new Error('no')
              seen.set(key, started)
            },
          })
          const running = queue.run(end.signal)
          for (const { key, delayMs, passMs } of actions) {
            step += 1
            wanted.set(key, step)
            queue.addAfter(key, delayMs)
            await own.pass(passMs)
          }
          failing = false
          await own.pass(300_000)
          for (const [key, added] of wanted) expect(seen.get(key)).toBeGreaterThanOrEqual(added)
          expect(most).toBeLessThanOrEqual(concurrency)
          expect(queue.size).toBe(0)
          end.abort()
          await running
        },
      ),
      { numRuns: 60 },
    )
  })

  it.each([0, -1, 1.5])('refuses a concurrency of %p', (concurrency) => {
    expect(() => started({ concurrency })).toThrow(RangeError)
  })
})

function keys(): string[] {
  return handled.map(({ key }) => key)
}

function started(options: Partial<WorkQueueOptions> = {}): {
  readonly queue: WorkQueue
  readonly running: Promise<void>
} {
  const queue = new WorkQueue({
    handle: (key) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error): void => (error === undefined ? resolve() : reject(error))
        handled.push({ key, at: clock.now(), end })
      }),
    concurrency: 4,
    clock,
    random: () => 0,
    onFault: (key, error, failures) => faults.push({ key, error, failures }),
    ...options,
  })
  return { queue, running: queue.run(stop.signal) }
}
