import { describe, expect, it } from '@jest/globals'
import type { ApplyReport, DriverMetrics } from '@osm-ts/driver-api'

import { Metrics } from '../observability/metrics.js'
import { MAX_CHANGES, PushLog, type SessionPushes } from './push-log.js'

const cause = { objects: ['TrafficTarget/shop/store'], endpoints: [], others: [] }

const report = (revision: number, rest: Partial<ApplyReport> = {}): ApplyReport => ({
  session: 's',
  revision,
  complete: true,
  parts: [],
  ...rest,
})
const refusal = { hash: 'h'.repeat(32) as never, id: 'a', state: 'rejected' } as const

function start(metrics: DriverMetrics = new Metrics()) {
  let time = 1000
  const log = new PushLog(
    metrics,
    () => Date.UTC(2026, 0, 1) + time,
    () => time,
  )
  const change = (sessions: readonly SessionPushes[], debounceMs = 100): void => {
    const running = log.begin(cause, debounceMs)
    running.during(() => {
      time += 5
      for (const session of sessions) session.offered()
    })
    running.end({ parts: 2, changed: Math.max(1, sessions.length) })
  }
  return {
    log,
    change,
    pass: (ms: number) => {
      time += ms
    },
    sessions: (count: number) => Array.from({ length: count }, () => log.follow('envoy')),
  }
}

describe('PushLog', () => {
  it('follows endpoints that are apart from policies, by their generation', () => {
    const { log, pass, sessions } = start()
    const [a, b] = sessions(2) as [SessionPushes, SessionPushes]
    const running = log.begin({ objects: [], endpoints: ['Service/shop/store'], others: [] }, 100)
    running.during(() => {
      for (const each of [a, b]) each.offeredEndpoints(7)
    })
    // No policy changed.
    running.end({ parts: 1, changed: 0 })
    pass(10)
    a.given(1)
    a.reported(report(1))
    expect(log.report()[0]?.proxies).toMatchObject({ touched: 2, acknowledged: 0, pending: 2 })
    a.reported(report(1, { endpoints: 6 }))
    expect(log.report()[0]?.proxies).toMatchObject({ acknowledged: 0 })
    a.reported(report(1, { endpoints: 7 }))
    b.reported(report(1, { endpoints: 8 }))
    expect(log.report()[0]).toMatchObject({ changed: 2, proxies: { touched: 2, acknowledged: 2, pending: 0 } })
  })

  it('follows a change from its first event to the last acknowledgement', () => {
    const { log, change, pass, sessions } = start()
    const [a, b, c] = sessions(3) as [SessionPushes, SessionPushes, SessionPushes]
    change([a, b, c])
    pass(10)
    for (const each of [a, b, c]) each.given(1)
    const work = { queueMs: 1, translateMs: 2, encodeMs: 3, sendMs: 4, bytes: 500 }
    for (const each of [a, b, c]) {
      pass(20)
      each.reported(report(1, { work }))
    }
    expect(log.report()).toEqual([
      {
        change: 1,
        time: '2026-01-01T00:00:00.900Z',
        cause,
        unnamed: 0,
        debounceMs: 100,
        recomputeMs: 5,
        parts: 2,
        changed: 3,
        proxies: { touched: 3, acknowledged: 3, rejected: 0, left: 0, pending: 0 },
        queue: { totalMs: 30, maxMs: 10 },
        driverQueue: { totalMs: 3, maxMs: 1 },
        translate: { totalMs: 6, maxMs: 2 },
        encode: { totalMs: 9, maxMs: 3 },
        send: { totalMs: 12, maxMs: 4 },
        bytes: 1500,
        ack: { firstMs: 135, medianMs: 155, lastMs: 175 },
      },
    ])
  })

  it('has an acknowledgement count for every change that it covers, and for none that came later', () => {
    const { log, change, sessions } = start()
    const [session] = sessions(1) as [SessionPushes]
    change([session])
    change([session])
    session.given(1)
    change([session])
    session.given(2)
    session.reported(report(1))
    expect(log.report().map(({ proxies }) => proxies.acknowledged)).toEqual([0, 1, 1])
    session.reported(report(2))
    expect(log.report().map(({ proxies }) => proxies.acknowledged)).toEqual([1, 1, 1])
  })

  it('knows the median also where proxies have acknowledged before the last was touched', () => {
    const { log, pass, sessions } = start()
    const [a, b, c] = sessions(3) as [SessionPushes, SessionPushes, SessionPushes]
    const running = log.begin(cause, 100)
    for (const each of [a, b, c]) {
      running.during(() => {
        each.offered()
      })
      each.given(1)
      pass(10)
      if (each !== c) each.reported(report(1))
    }
    running.end({ parts: 1, changed: 3 })
    pass(10)
    c.reported(report(1))
    expect(log.report()).toMatchObject([
      { recomputeMs: 30, proxies: { acknowledged: 3 }, ack: { firstMs: 110, medianMs: 120, lastMs: 140 } },
    ])
  })

  it('tells refused, ended and waiting apart', () => {
    const { log, change, sessions } = start()
    const [refuses, ends, waits] = sessions(3) as [SessionPushes, SessionPushes, SessionPushes]
    change([refuses, ends, waits])
    for (const each of [refuses, ends, waits]) each.given(1)
    refuses.reported(report(1, { complete: false, parts: [refusal] }))
    refuses.reported(report(1, { complete: false, parts: [refusal] }))
    // What is applied now is what is in place of the refused part.
    refuses.reported(report(2))
    ends.close()
    const [page] = log.report()
    expect(page?.proxies).toEqual({ touched: 3, acknowledged: 0, rejected: 1, left: 1, pending: 1 })
    expect(page?.ack.lastMs).toBeNull()
  })

  it('takes changes that cancel out before the driver looks as acknowledged', () => {
    const { log, change, sessions } = start()
    const [session] = sessions(1) as [SessionPushes]
    session.given(1)
    session.reported(report(1))
    change([session])
    change([session])
    session.given(1)
    expect(log.report().map(({ proxies }) => proxies.pending)).toEqual([0, 0])
  })

  it('keeps the last changes and no more, and names of a cause up to a bound', () => {
    const { log, change, sessions } = start()
    const [session] = sessions(1) as [SessionPushes]
    for (let each = 0; each < MAX_CHANGES + 3; each += 1) change([session])
    const kept = log.report().map((each) => each.change)
    expect(kept).toEqual(Array.from({ length: MAX_CHANGES }, (_, at) => MAX_CHANGES + 3 - at))
    const objects = Array.from({ length: 50 }, (_, at) => `Service/shop/s${at}`)
    log.begin({ ...cause, objects }, 0).end({ parts: 0, changed: 1 })
    expect(log.report()[0]).toMatchObject({ cause: { objects: objects.slice(0, 20) }, unnamed: 30 })
  })

  it('leaves out what changes no policy', () => {
    const { log } = start()
    log.begin(cause, 100).end({ parts: 7, changed: 0 })
    expect(log.report()).toEqual([])
  })

  it('lets a failed recomputation through and goes on', () => {
    const { log, change, sessions } = start()
    const fail = (): never => {
      throw new Error('no')
    }
    expect(() => log.begin(cause, 0).during(fail)).toThrow('no')
    expect(log.current).toBeUndefined()
    change(sessions(1))
    expect(log.report()).toHaveLength(1)
  })
})
