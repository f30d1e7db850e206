import { describe, expect, it } from '@jest/globals'

import { TrafficRates } from './traffic-rates.js'
import { readServiceCounters } from './upstream-counters.js'

const proxy = (name: string) => ({ name: `shop/${name}`, uuid: name, identity: 'buyer.shop' })
const page = (answers: Readonly<Record<string, number>>, buckets: Readonly<Record<string, number>> = {}): string =>
  [
    '# TYPE envoy_cluster_upstream_rq_xx counter',
    ...Object.entries(answers).map(
      ([digit, count]) =>
        `envoy_cluster_upstream_rq_xx{envoy_response_code_class="${digit}",envoy_cluster_name="shop/store|80"} ${count}`,
    ),
    'envoy_cluster_upstream_rq_xx{envoy_response_code_class="2",envoy_cluster_name="shop/store|80|local"} 1000',
    'envoy_cluster_upstream_rq_xx{envoy_response_code_class="2",envoy_cluster_name="osm-controller"} 1000',
    ...Object.entries(buckets).map(
      ([bound, count]) =>
        `envoy_cluster_upstream_rq_time_bucket{envoy_cluster_name="shop/store|80",le="${bound}"} ${count}`,
    ),
  ].join('\n')

describe('traffic by the counters of sidecars', () => {
  it('is what was added between two readings, for all proxies of a workload', () => {
    const rates = new TrafficRates()
    const take = (at: number, ...pages: readonly string[]) =>
      rates.take(
        pages.map((text, index) => ({ proxy: proxy(`buyer-${index}`), at, counters: readServiceCounters(text) })),
      )
    expect(take(0, page({ 2: 100 }, { 5: 100, 10: 100, '+Inf': 100 }), page({ 2: 7 }))).toEqual([])
    const buckets = { 5: 100, 10: 200, '+Inf': 200 }
    expect(take(10_000, page({ 2: 180, 5: 20 }, buckets), page({ 2: 57, 5: 50 }))).toEqual([
      { from: 'workload shop/buyer', to: 'service shop/store', perSecond: 20, success: 0.65, p99Ms: 9.95 },
    ])
    expect(take(20_000, page({ 2: 180, 5: 20 }, buckets), page({ 2: 57, 5: 50 }))).toEqual([])
  })

  it('starts over with a sidecar that was started again', () => {
    const rates = new TrafficRates()
    const take = (at: number, text: string) =>
      rates.take([{ proxy: proxy('buyer'), at, counters: readServiceCounters(text) }])
    take(0, page({ 2: 100 }))
    expect(take(1_000, page({ 2: 3 }))).toEqual([])
    expect(take(2_000, page({ 2: 5 }))).toMatchObject([{ perSecond: 2, success: 1 }])
  })

  it('counts an upstream of class pipy, which measures no durations', () => {
    const text = (count: number): string =>
      `sidecar_cluster_upstream_rq_xx{sidecar_response_code_class="2",sidecar_cluster_name="shop/store|80"} ${count}`
    const rates = new TrafficRates()
    rates.take([{ proxy: proxy('buyer'), at: 0, counters: readServiceCounters('') }])
    expect(rates.take([{ proxy: proxy('buyer'), at: 2_000, counters: readServiceCounters(text(4)) }])).toEqual([
      { from: 'workload shop/buyer', to: 'service shop/store', perSecond: 2, success: 1 },
    ])
  })

  it('counts a section of HAProxy, which stands for an upstream', () => {
    const text = (ok: number, failed: number): string =>
      [
        `haproxy_backend_http_responses_total{proxy="up:shop:store_7c_80",code="2xx"} ${ok}`,
        `haproxy_backend_http_responses_total{proxy="up:shop:store_7c_80",code="5xx"} ${failed}`,
        'haproxy_backend_http_responses_total{proxy="answer:404",code="4xx"} 1000',
      ].join('\n')
    const rates = new TrafficRates()
    rates.take([{ proxy: proxy('buyer'), at: 0, counters: readServiceCounters(text(1, 0)) }])
    expect(rates.take([{ proxy: proxy('buyer'), at: 2_000, counters: readServiceCounters(text(4, 1)) }])).toEqual([
      { from: 'workload shop/buyer', to: 'service shop/store', perSecond: 2, success: 0.75 },
    ])
  })
})
