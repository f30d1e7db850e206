import { expect, it } from '@jest/globals'
import { Metrics } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { ClusterFixture, fastClock, podManifest, RunningSource, uuid } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { resourceTypes } from '../resource-types.js'

const NAMESPACES = 25
const PODS = 40
/** What following a cluster may take of the 620 series that a controller may have; the rest is counted where controllers are started. */
const MAX_SERIES = 275

it('has a bounded number of series with 1,000 pods, after all kinds of trouble with the API server', async () => {
  const server = await FakeApiServer.start()
  const cluster = new ClusterFixture(server)
  const namespaces = Array.from({ length: NAMESPACES }, (_, index) => `shop-${String(index)}`)
  for (const [at, namespace] of namespaces.entries()) {
    cluster.namespace(namespace, 'osm')
    cluster.service(namespace, 'store')
    cluster.account(namespace, 'store')
    for (let pod = 0; pod < PODS; pod += 1)
      cluster.pod(namespace, `pod-${String(pod)}`, { uuid: uuid(at * PODS + pod), account: 'store' })
  }
  const metrics = new Metrics()
  // Not as fast as in other tests: more than a hundred watches open at once, and a slow machine takes seconds for that.
  const running = await RunningSource.create(server, { metrics, clock: fastClock(4) })
  const series = async (): Promise<readonly string[]> => {
    const { body } = await metrics.render()
    return body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  }
  const seriesOf = async (name: string, label = ''): Promise<number> =>
    (await series()).filter((line) => line.startsWith(`osm_${name}{`) && line.includes(label)).length
  // The time limit of the test bounds it.
  try {
    await running.start()
    expect(running.source.objects().length).toBeGreaterThan(NAMESPACES * PODS)
    for (const namespace of namespaces) {
      cluster.put(resourceTypes.Pod, podManifest(namespace, 'pod-0', { uuid: uuid(9_000), ready: false }))
      cluster.pod(namespace, 'another', { uuid: uuid(9_001) })
      server.remove(resourceTypes.Pod, { namespace, name: 'pod-1' })
      cluster.service(namespace, 'another')
      cluster.account(namespace, 'another')
      cluster.slice(namespace, 'store', [{ addresses: ['10.1.0.1'] }])
    }
    await until(async () => (await seriesOf('k8s_api_event_count', 'namespace="other"')) > 0)
    // Asked again each time: a kind may be listed for the first time meanwhile.
    const isOfAllKinds = async (name: string, label = ''): Promise<boolean> =>
      (await seriesOf(name, label)) === (await seriesOf('kubernetes_list_count', 'outcome="ok"'))
    // A watch that ends within a second of that clock counts as refused, and is opened again only after a pause.
    const endWatches = async (): Promise<boolean> => {
      server.watches.end()
      return isOfAllKinds('kubernetes_watch_count', 'outcome="ok"')
    }
    await until(endWatches, 'a watch of each kind that ended in order', { everyMs: 500 })
    // Watches that miss more than is kept, then an API server that is away.
    server.watches.freeze()
    for (const type of Object.values(resourceTypes)) server.put(type, { name: 'other', namespace: 'other' })
    server.objects.compact()
    server.cut()
    await until(async () => (await seriesOf('kubernetes_watch_count', 'outcome="expired"')) > 0)
    const { port } = new URL(server.url)
    await server.close()
    await until(() => isOfAllKinds('kubernetes_stale_count'))
    await server.listen(Number(port))
    await until(() => isOfAllKinds('kubernetes_stale_over_count'))
    const all = await series()
    expect(all.length).toBeLessThanOrEqual(MAX_SERIES)
    expect(all.filter((line) => line.includes('pod-0') || line.includes(uuid(0)))).toEqual([])
  } finally {
    await running.stop()
    await server.close()
  }
})
