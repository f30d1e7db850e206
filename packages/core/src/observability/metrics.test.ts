import { open as openFile } from 'node:fs/promises'

import { beforeEach, describe, expect, it } from '@jest/globals'

import { Histogram, Registry } from 'prom-client'

import { MAX_LABEL_LENGTH, MAX_SERIES_PER_METRIC, Metrics } from './metrics.js'

describe('the metrics of a process', () => {
  let metrics: Metrics

  beforeEach(() => {
    metrics = new Metrics()
  })

  async function series(name: string): Promise<readonly string[]> {
    const { body } = await metrics.render()
    return body.split('\n').filter((line) => line.startsWith(`${name}{`))
  }

  it('tell of the process: its longest block, its memory and what is open, none of them twice', async () => {
    metrics.collectProcessMetrics()
    const valueOf = async (name: string): Promise<number> => {
      const { body } = await metrics.render()
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1])
    }
    await new Promise((resolve) => setTimeout(resolve, 30))
    const end = performance.now() + 60
    while (performance.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(await valueOf('nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.04)
    if (process.platform === 'linux') {
      const open = await valueOf('process_open_fds')
      const files = await Promise.all(Array.from({ length: 20 }, () => openFile('/dev/null')))
      expect(await valueOf('process_open_fds')).toBeGreaterThan(open + 10)
      for (const file of files) await file.close()
    }
    expect(await valueOf('nodejs_heap_size_used_bytes')).toBeGreaterThan(1_000_000)
    const { body } = await metrics.render()
    expect(body).not.toMatch(/^nodejs_(heap_space_size|active_|eventloop_lag_(?!max|seconds))/m)
  })

  it('count long label values under `other`, whatever their metric is', async () => {
    const longest = 'x'.repeat(MAX_LABEL_LENGTH)
    const counter = metrics.counter('counted', 'help', ['what', 'how'])
    counter.inc({ what: longest, how: 'well' })
    for (const tooLong of [`${longest}x`, 'y'.repeat(1 << 20)]) counter.inc({ what: tooLong, how: 'well' })
    metrics.gauge('gauged', 'help', ['what']).set({ what: `${longest}x` }, 3)
    metrics.histogram('observed', 'help', ['what'], [1]).observe({ what: `${longest}x` }, 2)
    expect(await series('counted')).toEqual([
      `counted{what="${longest}",how="well"} 1`,
      'counted{what="other",how="well"} 2',
    ])
    expect(await series('gauged')).toEqual(['gauged{what="other"} 3'])
    expect(await series('observed_sum')).toEqual(['observed_sum{what="other"} 2'])
  })

  it('tell apart what only looks the same in a row', async () => {
    const counter = metrics.counter('counted', 'help', ['what', 'how'])
    counter.inc({ what: 'a', how: '1:b' })
    counter.inc({ what: 'a1:', how: 'b' })
    counter.inc({ what: 'a', how: '1:b' }, 2)
    counter.inc({ how: 'b' })
    expect(await series('counted')).toEqual([
      'counted{what="a",how="1:b"} 3',
      'counted{what="a1:",how="b"} 1',
      'counted{what="",how="b"} 1',
    ])
  })

  it('have a bounded number of series', async () => {
    const counter = metrics.counter('counted', 'help', ['what'])
    for (let what = 0; what < MAX_SERIES_PER_METRIC + 50; what += 1) counter.inc({ what: String(what) })
    const found = await series('counted')
    expect(found).toHaveLength(MAX_SERIES_PER_METRIC + 1)
    expect(found.at(-1)).toBe('counted{what="other"} 50')
  })

  it('have that bound for all who declare a metric together', async () => {
    for (let what = 0; what < MAX_SERIES_PER_METRIC + 50; what += 1)
      metrics.counter('counted', 'help', ['what']).inc({ what: String(what) })
    const found = await series('counted')
    expect(found).toHaveLength(MAX_SERIES_PER_METRIC + 1)
    expect(found.at(-1)).toBe('counted{what="other"} 50')
    expect(() => metrics.gauge('counted', 'help', ['what'])).toThrow('another type')
  })

  it('count the same for frozen labels as for others, within the same bound', async () => {
    const gauge = metrics.gauge('moved', 'help', ['what'])
    const frozen = Object.freeze({ what: 'a' })
    gauge.set(frozen, 1)
    gauge.set({ what: 'a' }, 2)
    expect(await series('moved')).toEqual(['moved{what="a"} 2'])
    gauge.set(frozen, 3)
    expect(await series('moved')).toEqual(['moved{what="a"} 3'])
    const reused = { what: 'a' }
    gauge.set(reused, 4)
    reused.what = 'b'
    gauge.set(reused, 5)
    expect(await series('moved')).toEqual(['moved{what="a"} 4', 'moved{what="b"} 5'])
    for (let what = 0; what < MAX_SERIES_PER_METRIC; what += 1) gauge.set(Object.freeze({ what: String(what) }), 1)
    expect(await series('moved')).toHaveLength(MAX_SERIES_PER_METRIC + 1)
  })

  it('show histograms as the library does', async () => {
    const buckets = [0.01, 0.5, 1]
    const registry = new Registry()
    const labelNames = ['what', 'how']
    const theirs = new Histogram({ name: 'observed', help: 'help', labelNames, buckets, registers: [registry] })
    const bare = new Histogram({ name: 'bare', help: 'help', buckets, registers: [registry] })
    const ours = metrics.histogram('observed', 'help', labelNames, buckets)
    const bareOurs = metrics.histogram('bare', 'help', [], buckets)
    expect((await metrics.render()).body).toBe(await registry.metrics())
    for (const value of [0, 0.01, 0.02, 0.5, 0.7, 1, 3]) {
      for (const what of ['a', 'b"\n']) {
        theirs.observe({ what, how: 'x' }, value)
        ours.observe({ what, how: 'x' }, value)
      }
      bare.observe(value)
      bareOurs.observe({}, value)
    }
    expect((await metrics.render()).body).toBe(await registry.metrics())
    expect(() => ours.observe({ what: 'a', how: 'x' }, Number.NaN)).toThrow('finite')
  })

  it('count the buckets of histograms as series', async () => {
    const buckets = [1, 2, 3, 4, 5, 6, 7]
    const each = buckets.length + 3
    const histogram = metrics.histogram('observed', 'help', ['what'], buckets)
    for (let what = 0; what < MAX_SERIES_PER_METRIC; what += 1) histogram.observe({ what: String(what) }, 1)
    const found = [
      ...(await series('observed_bucket')),
      ...(await series('observed_sum')),
      ...(await series('observed_count')),
    ]
    expect(found).toHaveLength(MAX_SERIES_PER_METRIC + each)
  })
})
