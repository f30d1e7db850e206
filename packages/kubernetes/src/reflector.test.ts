import { beforeEach, describe, expect, it } from '@jest/globals'

import { FakeClock } from '../../core/test/certificates/fake-clock.js'
import type { KubernetesApi, ListPage } from './api.js'
import { KubernetesError, type KubernetesErrorFacts } from './kubernetes-error.js'
import { Reflector, type ReflectorTarget } from './reflector.js'
import { resourceTypes } from './resource-types.js'

const SECOND = 1_000
const empty: ListPage = { resourceVersion: '1', items: [] }

let clock: FakeClock
let listedAt: number[]
let answer: () => ListPage

beforeEach(() => {
  clock = new FakeClock()
  listedAt = []
  answer = () => empty
})

describe('a reflector', () => {
  it.each([
    ['at most', 0.999_999, [1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]],
    ['at least', 0, [0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]],
  ])('waits longer from failure to failure: %s', async (_, random, seconds) => {
    answer = () => fail({})
    const stop = run(random)
    await clock.pass(150 * SECOND)
    expect(delays().slice(0, seconds.length)).toEqual(seconds)
    stop()
  })

  it('starts over with short delays after a watch has told something', async () => {
    let failing = true
    answer = () => (failing ? fail({}) : empty)
    const stop = run(0.999_999, async function* () {
      yield { type: 'BOOKMARK', resourceVersion: '2' }
      throw new KubernetesError('OSM_KUBERNETES_EXPIRED', 'too old')
    })
    await clock.pass(60 * SECOND)
    failing = false
    listedAt = []
    await clock.pass(40 * SECOND)
    expect(delays().slice(0, 3)).toEqual([1.6, 1.6, 1.6])
    stop()
  })

  it('waits for what Retry-After says, but never longer than two minutes', async () => {
    answer = () => fail({ retryAfterMs: 45 * SECOND })
    const stop = run(0)
    await clock.pass(50 * SECOND)
    expect(delays()).toEqual([45])
    answer = () => fail({ retryAfterMs: 86_400 * SECOND })
    listedAt = []
    await clock.pass(300 * SECOND)
    expect(delays()).toEqual([120, 120])
    stop()
  })

  it('requests smaller pages when one was too large, down to single objects', async () => {
    const limits: (number | undefined)[] = []
    answer = () => fail({ reason: 'ResponseTooLarge' })
    const stop = run(0, undefined, (limit) => limits.push(limit))
    await clock.pass(15 * SECOND)
    expect(limits.slice(0, 11)).toEqual([500, 250, 125, 62, 31, 15, 7, 3, 1, 1, 1])
    stop()
  })
})

function delays(): number[] {
  return listedAt.slice(1).map((at, index) => Math.round((at - listedAt[index]!) / 100) / 10)
}

function fail(facts: KubernetesErrorFacts): never {
  throw new KubernetesError('OSM_KUBERNETES_FAILED', 'it failed', facts)
}

/** Runs a reflector on an API server that is a function; the result ends it. */
function run(
  random: number,
  watch: KubernetesApi['watch'] = async function* () {
    await new Promise(() => undefined)
    yield { type: 'BOOKMARK', resourceVersion: '1' }
  },
  seen: (limit: number | undefined) => void = () => undefined,
): () => void {
  const stop = new AbortController()
  const list: KubernetesApi['list'] = async (_, { limit }) => {
    listedAt.push(clock.now())
    seen(limit)
    return answer()
  }
  const target: ReflectorTarget = {
    relist: () => ({ add: () => undefined, commit: () => undefined }),
    change: () => undefined,
    contact: () => undefined,
    fault: () => undefined,
    ended: () => undefined,
  }
  const api = { list, watch } as KubernetesApi // a reflector uses nothing else
  const reflector = new Reflector({ api, type: resourceTypes.Pod, selection: {}, clock, random: () => random, target })
  void reflector.run(stop.signal)
  return () => stop.abort()
}
