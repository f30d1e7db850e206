import { describe, expect, it } from '@jest/globals'

import { proxyStatus } from '../../test/sample-view.js'
import { mergeStatuses } from './cluster-debug.js'

const base = proxyStatus('shop-0', 'store', 'shop')

describe('statuses of several controllers', () => {
  it('are those of the one that a proxy is connected to, wherever it stands', () => {
    const away = { ...base, connected: false, lastReport: '2026-01-02T00:00:00Z' }
    const here = { ...base, connected: true, lastReport: '2026-01-01T00:00:00Z' }
    expect(mergeStatuses([[away], [here], [away]])).toEqual([here])
  })

  it('are those of the one that has heard of a proxy last while it is connected to none', () => {
    const { lastReport: _none, ...rest } = base
    const never = { ...rest, connected: false }
    const once = { ...never, lastReport: '2026-01-01T00:00:00Z' }
    const last = { ...never, lastReport: '2026-01-02T00:00:00Z' }
    expect(mergeStatuses([[never], [last], [once]])).toEqual([last])
  })

  it('have what is wrong with a proxy from all of them: it may be refused by another one', () => {
    const condition = (code: string) => ({ code, message: '', since: '2026-01-01T00:00:00Z' })
    const away = { ...base, connected: false, conditions: [condition('OSM_AWAY')] }
    const here = { ...base, conditions: [condition('OSM_HERE')] }
    const conditions = [condition('OSM_HERE'), condition('OSM_AWAY')]
    expect(mergeStatuses([[away], [here]])).toEqual([{ ...here, conditions }])
    expect(mergeStatuses([[here], [away]])).toEqual([{ ...here, conditions }])
  })
})
