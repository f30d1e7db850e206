import { describe, expect, it } from '@jest/globals'
import type { ChangeReport } from '@osm-ts/core'

import { causesOf, stagesOf } from './push-stages.js'

const stage = { totalMs: 0, maxMs: 0 }
const push: ChangeReport = {
  change: 1,
  time: '2026-01-02T03:04:05Z',
  cause: { objects: ['TrafficSplit/shop/split'], endpoints: ['Service/shop/store'], others: [] },
  unnamed: 2,
  debounceMs: 100,
  recomputeMs: 20,
  parts: 1,
  changed: 1,
  proxies: { touched: 1, acknowledged: 1, rejected: 0, left: 0, pending: 0 },
  queue: stage,
  driverQueue: stage,
  translate: stage,
  encode: stage,
  send: stage,
  bytes: 1,
  ack: { firstMs: 150, medianMs: 150, lastMs: 180 },
}

describe('the stages of a push', () => {
  it('follow each other from the first event to the last acknowledgement', () => {
    expect(stagesOf(push).map(({ name, fromMs, toMs }) => [name, fromMs, toMs])).toEqual([
      ['wait', 0, 100],
      ['compute', 100, 120],
      ['proxies', 120, 180],
    ])
  })

  it('end with the computation while no proxy has acknowledged', () => {
    expect(stagesOf({ ...push, ack: { firstMs: null, medianMs: null, lastMs: null } }).at(-1)).toMatchObject({
      fromMs: 120,
      toMs: 120,
    })
  })

  it('have the causes that are known, and the number of the others', () => {
    expect(causesOf(push)).toEqual(['TrafficSplit/shop/split', 'endpoints of Service/shop/store', '2 more'])
  })
})
