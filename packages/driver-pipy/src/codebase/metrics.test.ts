import { readFileSync } from 'node:fs'

import { beforeAll, describe, expect, it } from '@jest/globals'

import { countRefusedMessage } from '../../codebase/framing-counts.js'
import {
  countLimitedConnection,
  countLimitedRequest,
  countPluginFailure,
  countRequest,
  countSample,
  countUpstream,
  exposition,
  numbersOf,
  statistics,
} from '../../codebase/metrics.js'
import { state } from '../../codebase/state.js'
import { countArrival, countTunnel } from '../../codebase/tunnel-counts.js'
import { addTo, countsOf, makeUpstreamCounts, MOST_UPSTREAMS } from '../../codebase/upstream-metrics.js'

const guide = new URL('../../../../docs/guides/pipy.md', import.meta.url)

const cluster = ['sidecar_cluster_name']
const sides = ['source', 'destination'].flatMap((side) =>
  ['namespace', 'kind', 'name', 'pod'].map((label) => `${side}_${label}`),
)

/** Names that osm-edge had for its Pipy, with the labels that they have here. */
const promised: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      ...['tx_bytes_total', 'rx_bytes_total', 'active', 'connect_timeout'].map((name) => `cx_${name}`),
      ...['remote', 'local'].map((side) => `cx_destroy_${side}_with_active_rq`),
      ...['total', 'timeout', 'pending_failure_eject', 'pending_overflow', 'rx_reset', 'tx_reset', 'retry'].map(
        (name) => `rq_${name}`,
      ),
      ...['success', 'limit_exceeded', 'overflow', 'backoff_exponential', 'backoff_ratelimited'].map(
        (name) => `rq_retry_${name}`,
      ),
    ].map((name) => [`sidecar_cluster_upstream_${name}`, cluster]),
  ),
  sidecar_cluster_upstream_rq_xx: ['sidecar_response_code_class', ...cluster],
  sidecar_cluster_external_upstream_rq: ['sidecar_response_code', ...cluster],
  sidecar_cluster_external_upstream_rq_xx: ['sidecar_response_code_class', ...cluster],
  sidecar_cluster_external_upstream_rq_completed: cluster,
  osm_request_duration_ms: sides,
  sidecar_server_live: [],
  sidecar_local_rate_limit_inbound: ['label'],
  http_local_rate_limiter: ['http_local_rate_limit'],
  ...Object.fromEntries(
    ['inbound', 'outbound'].flatMap((direction) =>
      ['logging', 'tracing'].flatMap((what) =>
        [0, 1].map((digit) => [`${direction}_http_${what}_sampled_${digit}`, [] as readonly string[]]),
      ),
    ),
  ),
}

interface Metric {
  readonly name: string
  readonly kind: string
  readonly labels: readonly string[]
}

/** Metrics of a text of Prometheus: each has its kind before its first sample, and all of its samples have the same labels. */
function metricsOf(text: string): readonly Metric[] {
  return text
    .split('# TYPE ')
    .slice(1)
    .map((block) => {
      const [head = '', ...samples] = block.trim().split('\n')
      const [name = '', kind = ''] = head.split(' ')
      const labels = samples.map((sample) => {
        const [, own, text = ''] = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? [\d.]+$/.exec(sample) ?? []
        expect([sample, own]).toEqual([sample, name])
        return [...text.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le')
      })
      for (const each of labels) expect([name, each]).toEqual([name, labels[0]])
      return { name, kind, labels: (labels[0] ?? []).map((label) => label ?? '') }
    })
}

const store = { id: 'shop/store|80', settings: { tls: {} }, pool: { open: 3 } }

describe('metrics', () => {
  beforeAll(() => {
    Object.assign(state, {
      runtime: {
        config: { requestMetrics: true, workload: { namespace: 'shop', kind: 'Pod', name: 'client', instance: 'c-0' } },
        upstreams: { [store.id]: store },
        passthrough: { dialled: { pool: { open: 1 } }, named: { pool: { open: 1 } } },
      },
    })
    const headers = { 'osm-stats-name': 'store', other: '1' }
    countRequest(store, { status: 200, headers }, 7)
    expect(headers).toEqual({ other: '1' })
    countRequest(store, { status: 201, headers: {} }, 400_000)
    countRequest(store, { status: 503, headers: {} }, 7)
    countUpstream(store, 'upstream_rq_retry')
    countUpstream({ id: 'passthrough' }, 'upstream_rq_total')
    addTo(numbersOf(store), 'upstream_cx_tx_bytes_total', 10)
    countLimitedConnection({ id: 'a"b' })
    countLimitedRequest(true)
    countLimitedRequest(false)
    countSample('inbound', 'tracing', true)
    countTunnel({ upstream: store, mode: 'socks5' }, 'opened')
    countArrival('shop/gateway|1080')
    countPluginFailure('mine')
    countRefusedMessage('request', 'only here')
  })

  it('have the names that osm-edge had, and labels', () => {
    const found = new Map(metricsOf(exposition()).map(({ name, labels }) => [name, labels]))
    expect(Object.fromEntries([...found].filter(([name]) => Object.hasOwn(promised, name)))).toEqual(promised)
  })

  it('are those of the table in the guide, no more and no less', () => {
    const rows = [...readFileSync(guide, 'utf8').matchAll(/^\| `(\w+)` +\| (counter|gauge|histogram) +\| (.*?) +\| /gm)]
    const documented = rows.map(([, name = '', kind = '', labels = '']) => ({
      name,
      kind,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? ''),
    }))
    const byName = (list: readonly Metric[]) => list.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    // Both sides are named by the same labels, which the table does not repeat.
    const short = metricsOf(exposition()).map((metric) => ({
      ...metric,
      labels: metric.labels.filter((label) => !sides.includes(label)),
    }))
    expect(byName(short)).toEqual(byName(documented))
  })

  it('say what was counted', () => {
    const lines = exposition().split('\n')
    const name = 'sidecar_cluster_name="shop/store|80"'
    expect(lines).toEqual(
      expect.arrayContaining([
        'sidecar_server_live 1',
        `sidecar_cluster_upstream_cx_active{${name}} 3`,
        'sidecar_cluster_upstream_cx_active{sidecar_cluster_name="passthrough"} 2',
        `sidecar_cluster_upstream_cx_tx_bytes_total{${name}} 10`,
        `sidecar_cluster_upstream_rq_retry{${name}} 1`,
        `sidecar_cluster_upstream_rq_xx{sidecar_response_code_class="2",${name}} 2`,
        `sidecar_cluster_upstream_rq_xx{sidecar_response_code_class="5",${name}} 1`,
        `sidecar_cluster_external_upstream_rq{sidecar_response_code="201",${name}} 1`,
        `sidecar_cluster_external_upstream_rq_completed{${name}} 3`,
        'sidecar_local_rate_limit_inbound{label="a\\"b"} 1',
        'http_local_rate_limiter{http_local_rate_limit="enabled"} 2',
        'http_local_rate_limiter{http_local_rate_limit="rate_limited"} 1',
        'inbound_http_tracing_sampled_0 0',
        'inbound_http_tracing_sampled_1 1',
        `sidecar_egress_gateway_tunnels_total{${name},mode="socks5",result="opened"} 1`,
        'sidecar_http1_refused_messages_total{kind="request",reason="only here"} 1',
        'sidecar_plugin_failures_total{plugin="mine"} 1',
      ]),
    )
    expect(lines.find((line) => line.startsWith('osm_request_total{response_code="200"'))).toMatch(
      /source_name="client".*destination_namespace="unknown",destination_kind="unknown",destination_name="store"/,
    )
    expect(statistics()).toContain('cluster.shop/store|80.upstream_rq_retry: 1\n')
  })

  it('forget upstreams that are gone when there are too many', () => {
    const counts = makeUpstreamCounts() as { readonly byId: Readonly<Record<string, unknown>> }
    const isKnown = (id: string): boolean => id === '0'
    for (let i = 0; i < MOST_UPSTREAMS; i += 1) countsOf(counts, `${i}`, isKnown)
    expect(Object.keys(counts.byId)).toHaveLength(MOST_UPSTREAMS)
    countsOf(counts, 'new', isKnown)
    expect(Object.keys(counts.byId).sort()).toEqual(['0', 'new'])
  })
})
