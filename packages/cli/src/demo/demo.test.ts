import { describe, expect, it } from '@jest/globals'

import { proxyStatus } from '../../test/sample-view.js'
import { TrafficLog } from '../live/traffic-log.js'
import { bookstoreFlows } from './bookstore.js'
import { demoReport, type DemoObservations } from './demo-report.js'
import { checkFlows } from './flow-checks.js'
import { renderReport } from './render-report.js'
import { binomialTolerance, checkSplit } from './split-check.js'

const allowed = bookstoreFlows[0]!
const denied = bookstoreFlows.find(({ outcome }) => outcome === 'denied')!
const unreachable = bookstoreFlows.find(({ outcome }) => outcome === 'unreachable')!

function observe(flow: typeof allowed, statuses: readonly number[], server?: string) {
  const log = new TrafficLog()
  statuses.forEach((status, index) => {
    const { client, target, path } = flow
    log.record({
      time: 1000 + index,
      client: `${client}-0`,
      namespace: client,
      target,
      path,
      status,
      durationMs: 1,
      ...(server !== undefined && { server }),
    })
  })
  const [result] = checkFlows(log.rows(2000), [flow])
  return result!
}

describe('checkFlows', () => {
  it('holds when every request had the expected result', () => {
    expect(observe(allowed, [200, 200, 200], 'bookstore-v1')).toMatchObject({
      ok: true,
      requests: 3,
      servers: ['bookstore-v1'],
    })
    expect(observe(denied, [403, 403, 403])).toMatchObject({ ok: true, statuses: { 403: 3 } })
    expect(observe(unreachable, [0, 502, 404])).toMatchObject({ ok: true })
  })

  it('fails on a single request with another result', () => {
    expect(observe(allowed, [200, 200, 503]).failure).toContain('got 200 × 2, 503 × 1')
    expect(observe(denied, [403, 403, 200]).ok).toBe(false)
    expect(observe(denied, [403, 403, 0]).ok).toBe(false)
    expect(observe(unreachable, [0, 0, 200]).ok).toBe(false)
  })

  it('tells a refusal of the mesh from one of the application', () => {
    expect(observe(denied, [403, 403, 403], 'bookstore-v1').failure).toContain('answered by bookstore-v1')
    expect(observe(unreachable, [404, 404, 404], 'bookwarehouse').ok).toBe(false)
  })

  it('fails where there is too little to go by', () => {
    expect(observe(allowed, []).failure).toContain('0 requests were seen')
    expect(observe(denied, [403, 403]).ok).toBe(false)
  })

  it('adds up replicas, and takes no other workload for one', () => {
    const log = new TrafficLog()
    const { client, target, path } = allowed
    for (const name of [`${client}-0`, `${client}-1`, `${client}-thief-0`, client])
      for (let time = 0; time < 3; time += 1)
        log.record({ time, client: name, namespace: 'n', target, path, status: 200, durationMs: 0 })
    expect(checkFlows(log.rows(0), [allowed])[0]?.requests).toBe(9)
  })
})

describe('checkSplit', () => {
  const split = (v1: number, v2: number, share = 0.75) => ({
    name: 'bookstore/bookstore-split',
    apex: 'bookstore',
    sample: v1 + v2,
    since: 0,
    backends: [
      { service: 'bookstore-v1', share, answers: v1 },
      { service: 'bookstore-v2', share: 1 - share, answers: v2 },
    ],
  })

  it('holds within what chance may do, and not beyond', () => {
    expect(checkSplit(split(300, 100)).ok).toBe(true)
    expect(checkSplit(split(330, 70)).ok).toBe(true)
    expect(checkSplit(split(200, 200)).ok).toBe(false)
    expect(checkSplit(split(400, 0)).ok).toBe(false)
  })

  it('has a tolerance that shrinks with the square root of the sample', () => {
    expect(binomialTolerance(0.75, 400)).toBeCloseTo(0.0866 + 1 / 800, 4)
    expect(binomialTolerance(0.75, 40_000)).toBeCloseTo(0.00866 + 1 / 80_000, 5)
  })

  it('leaves a weight of 0 no request at all', () => {
    expect(checkSplit(split(100, 0, 1)).ok).toBe(true)
    expect(checkSplit(split(99, 1, 1)).ok).toBe(false)
  })

  it('needs a sample', () => {
    expect(checkSplit(split(0, 0)).failures).toEqual([
      'split bookstore/bookstore-split: 0 answers were seen, 60 are needed',
    ])
    expect(checkSplit(split(9, 3)).ok).toBe(false)
  })
})

describe('demoReport', () => {
  const seen: DemoObservations = {
    mode: 'explicit',
    rows: [],
    flows: [observe(allowed, [200, 200, 200], 'bookstore-v1'), observe(denied, [403, 403, 403])],
    splits: [],
    mtls: { ok: true, identities: [], handshakes: [], failures: [] },
    proxies: [proxyStatus('bookbuyer-0', 'bookbuyer', 'bookbuyer')],
    problems: [],
    convergenceMs: 120,
    startMs: 3000,
    observedMs: 12_000,
    leftovers: [],
  }
  const split = checkSplit({
    name: 's/s',
    apex: 's',
    sample: 400,
    since: 0,
    backends: [
      { service: 'a', share: 0.5, answers: 200 },
      { service: 'b', share: 0.5, answers: 200 },
    ],
  })
  const good = { ...seen, splits: [split] }

  it('is ok when everything held', () => {
    const report = demoReport(good)
    expect(report).toMatchObject({ ok: true, failures: [], convergenceMs: 120 })
    expect(report.denied).toMatchObject([{ client: 'bookthief', path: '/buy-a-book/new', ok: true }])
    expect(renderReport(report, false).at(-1)).toBe('All expectations held.')
  })

  it('is not ok when anything did not, and says what', () => {
    const bad: readonly (readonly [Partial<DemoObservations>, string])[] = [
      [{ splits: [] }, 'no TrafficSplit'],
      [{ flows: [observe(allowed, [503, 503, 503])] }, '503'],
      [{ mtls: { ...seen.mtls, ok: false, failures: ['plaintext should be refused'] } }, 'plaintext'],
      [{ proxies: [] }, 'no proxy'],
      [{ proxies: [proxyStatus('x-0', 'x', 'x', { state: 'stale' })] }, 'x/x-0 is stale'],
      [{ problems: ['a.yaml:1:1: error'] }, 'a.yaml'],
      [{ leftovers: [4711] }, '4711'],
    ]
    for (const [change, words] of bad) {
      const report = demoReport({ ...good, ...change })
      expect(report.ok).toBe(false)
      expect(report.failures.join('\n')).toContain(words)
      expect(renderReport(report, false).at(-1)).toBe('Not all expectations held.')
    }
  })
})
