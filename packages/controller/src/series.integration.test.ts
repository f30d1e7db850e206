import { X509Certificate } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { describe, expect, it } from '@jest/globals'
import {
  defaultCertificateSettings,
  MemoryCaStore,
  MeshCertificateManager,
  Metrics,
  newProxyUUID,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import type { DriverMetrics } from '@osm-ts/driver-api'
import type { PolicyUpdate } from '@osm-ts/driver-api/policy'

import { instance as generatedInstance } from '../../core/test/generated/manifests.js'
import { base, domains, silent, TextSource } from '../test/controller-fixture.js'
import { startedDriver } from '../test/started-driver.js'
import { startController } from './start-controller.js'

const PROXIES = 1000
const MAX_SERIES = 620
/** Of these, what following a cluster and the webhook may take, which is counted where they are, and the duties of the leader take. */
const KUBERNETES_SERIES = 275 + 74 + 5
/** Major, minor, incremental, and of weak callbacks. */
const GC_KINDS = 4

const store = { namespace: 'shop', name: 'store' }

function instance(index: number, uuid: string, network = 0): string {
  const addresses = [`10.${network}.${Math.floor(index / 250)}.${(index % 250) + 1}`]
  return JSON.stringify(generatedInstance(store, index, { uuid, sidecarClass: 'fake', addresses }))
}

/** What the driver with the most metrics of its own has, class envoy, with every value that its labels can have. */
function driverMetrics(metrics: DriverMetrics): void {
  for (const type of ['cluster', 'endpoints', 'listener', 'route', 'secret']) {
    for (const name of ['xds_request_count', 'response_send_success_count', 'response_send_error_count'])
      metrics.counter(`osm_proxy_${name}`, 'h', ['type']).inc({ type })
    const buckets = Array.from({ length: 5 }, (_, at) => at + 1)
    const updates = metrics.histogram('osm_proxy_config_update_time', 'h', ['resource_type', 'success'], buckets)
    for (const success of ['true', 'false']) updates.observe({ resource_type: type, success }, 1)
  }
}

describe('the metrics of a controller with 1,000 proxies', () => {
  it('are 620 series at most, none of them of a single proxy', async () => {
    const abort = new AbortController()
    const { signal } = abort
    const uuids = Array.from({ length: PROXIES }, () => newProxyUUID())
    const source = new TextSource()
    source.put(uuids.map((uuid, index) => instance(index, uuid)).join('\n---\n'))
    const fake = startedDriver('fake')
    const provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const controller = await startController({
      ...base,
      sources: [source],
      certificateProvider: provider,
      drivers: [fake.driver],
      metrics: new Metrics(),
      logger: silent(),
      signal,
    })
    // Who connects before that waits for a first policy, which counts as a change that reached it.
    while (!(await fetch(`http://127.0.0.1:${controller.healthPort}/health/ready`)).ok) await sleep(20)
    const issuer = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal,
    })
    const { proxies, meshCatalog, metrics } = fake.context()
    driverMetrics(metrics)
    const sessions: string[] = []
    const work = { queueMs: 1, translateMs: 1, encodeMs: 1, sendMs: 1, bytes: 1 }
    const watches: AsyncIterator<PolicyUpdate>[] = []
    for (const uuid of uuids) {
      const certificate = await issuer.issueCertificate({ kind: 'proxy', uuid, serviceAccount: store }, { keep: false })
      const proxy = await proxies.authenticate(new X509Certificate(certificate.chain).raw)
      sessions.push(proxy.session)
      const steps = meshCatalog.policies.watch(proxy, signal)[Symbol.asyncIterator]()
      await steps.next()
      await proxies.report({ session: proxy.session, revision: 1, complete: true, parts: [], work })
      watches.push(steps)
    }
    // One of them is told of a change, and acknowledges it.
    source.put(instance(0, uuids[0] ?? '', 1))
    const told = await watches[0]?.next()
    const revision = told?.done === false ? told.value.revision : 0
    await proxies.report({ session: sessions[0] ?? '', revision, complete: true, parts: [], work })
    const page = await (await fetch(`http://127.0.0.1:${controller.healthPort}/metrics`)).text()
    const series = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(series).toContain(`osm_proxy_apply_states{class="fake",state="applied"} ${PROXIES}`)
    expect(series).toContain('osm_proxy_apply_states{class="fake",state="rejected"} 0')
    expect(series).toContain(`osm_proxy_push_bytes_count{class="fake"} ${PROXIES + 1}`)
    expect(series).toContain('osm_proxy_convergence_seconds_count{class="fake"} 1')
    // Which kinds of collections have happened is up to V8; each has series of its own.
    const collections = series.filter((line) => line.startsWith('nodejs_gc_duration_seconds'))
    const kinds = new Set(collections.map((line) => /kind="(\w+)"/.exec(line)?.[1]))
    const most = series.length + (collections.length / kinds.size) * (GC_KINDS - kinds.size)
    expect(most).toBeLessThanOrEqual(MAX_SERIES - KUBERNETES_SERIES)
    expect(uuids.filter((uuid) => page.includes(uuid))).toEqual([])
    for (const session of sessions) await proxies.disconnected(session)
    const later = await (await fetch(`http://127.0.0.1:${controller.healthPort}/metrics`)).text()
    expect(later).toContain('osm_proxy_apply_states{class="fake",state="applied"} 0')
    abort.abort()
    await controller.stopped
    provider.close()
  })
})
