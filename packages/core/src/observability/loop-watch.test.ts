import { describe, expect, it } from '@jest/globals'
import type { Logger } from '@osm-ts/driver-api'

import { LoopWatch } from './loop-watch.js'
import { Metrics } from './metrics.js'

function start() {
  let now = 0
  let cpu = 0
  const lines: unknown[] = []
  const unheard = (): void => undefined
  const logger: Logger = {
    debug: unheard,
    info: unheard,
    warn: (fields, message) => lines.push({ ...fields, message }),
    error: unheard,
  }
  const metrics = new Metrics()
  const watch = new LoopWatch({ metrics, logger, now: () => now, cpu: () => cpu })
  const work = (ms: number) => (): void => {
    now += ms
    cpu += ms
  }
  const idle = (ms: number): void => {
    now += ms
  }
  const series = async (name: string): Promise<readonly string[]> =>
    (await metrics.render()).body.split('\n').filter((line) => line.startsWith(name))
  return { watch, lines, work, idle, series }
}

describe('LoopWatch', () => {
  it('names what ran while the loop was blocked', async () => {
    const { watch, lines, work, series } = start()
    watch.run('recompute', work(150))
    watch.run('debug page', work(10))
    watch.look(20)
    expect(lines).toEqual([
      {
        blockedMs: 140,
        cpuMs: 160,
        ran: { recompute: 150, 'debug page': 10 },
        message: 'the event loop was blocked',
      },
    ])
    expect(await series('osm_event_loop_block_count')).toEqual(['osm_event_loop_block_count{task="recompute"} 1'])
  })

  it('names no cause that took less than half of the time', async () => {
    const { watch, lines, work, idle, series } = start()
    watch.run('recompute', work(50))
    idle(400)
    watch.look(20)
    expect(lines).toMatchObject([{ blockedMs: 430, cpuMs: 50, ran: { recompute: 50 } }])
    expect(await series('osm_event_loop_block_count')).toEqual(['osm_event_loop_block_count{task="other"} 1'])
  })

  it('counts lag and says nothing of less than 100 ms', async () => {
    const { watch, lines, work, idle, series } = start()
    idle(20)
    watch.look(20)
    watch.run('recompute', work(120))
    watch.look(20)
    expect(lines).toEqual([])
    expect(await series('osm_event_loop_lag_seconds_bucket{le="0.001"}')).toEqual([
      'osm_event_loop_lag_seconds_bucket{le="0.001"} 1',
    ])
    expect(await series('osm_event_loop_lag_seconds_count')).toEqual(['osm_event_loop_lag_seconds_count 2'])
  })

  it('forgets what ran before the last look, and gives results and failures through', () => {
    const { watch, lines, work, idle } = start()
    expect(watch.run('recompute', () => 7)).toBe(7)
    watch.run('debug page', work(5))
    watch.look(20)
    idle(300)
    watch.look(20)
    expect(lines).toMatchObject([{ ran: {} }])
    const fail = (): never => {
      throw new Error('no')
    }
    expect(() => watch.run('recompute', fail)).toThrow('no')
  })
})
