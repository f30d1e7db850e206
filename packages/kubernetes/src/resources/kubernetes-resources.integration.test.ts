import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { OpenedResources, ResourceReport } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { ClusterFixture, fastClock, RunningSource, silentLogger } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { KubernetesResources } from './kubernetes-resources.js'
import { ResourceStatusWriter } from './resource-status-writer.js'

const kind = {
  group: 'cloud.example.com',
  version: 'v1',
  kind: 'CloudResource',
  plural: 'cloudresources',
  specSchema: { type: 'object' },
}
const type = { group: kind.group, version: kind.version, kind: kind.kind, plural: kind.plural, namespaced: true }

describe('objects of kinds of providers in a cluster', () => {
  let server: FakeApiServer
  let cluster: ClusterFixture
  let running: RunningSource
  let resources: KubernetesResources
  let end: AbortController
  let finished: Promise<void>

  const put = (namespace: string, name: string, spec: Readonly<Record<string, unknown>> = {}): void => {
    server.put(type, { namespace, name }, { spec })
  }
  const open = async (): Promise<OpenedResources> => resources.open([kind], end.signal)
  const names = (opened: OpenedResources) =>
    opened
      .list()
      .map(({ namespace, name }) => `${namespace}/${name}`)
      .sort()

  beforeEach(async () => {
    end = new AbortController()
    finished = Promise.resolve()
    server = await FakeApiServer.start([type])
    cluster = new ClusterFixture(server)
    cluster.serve(kind.group, { v1: ['cloudresources', 'cloudresources/status'] })
    cluster.namespace('shop', 'osm')
    cluster.namespace('elsewhere', 'other')
    put('shop', 'a', { service: 'web' })
    put('elsewhere', 'a')
    running = await RunningSource.create(server)
    await running.start()
    resources = new KubernetesResources({
      api: await server.api(),
      cluster: running.source,
      clock: fastClock(20),
      random: () => 0.5,
      logger: silentLogger,
    })
  })

  afterEach(async () => {
    end.abort()
    await finished
    await running.stop()
    await server.close()
  })

  it('are those of namespaces of the mesh, as they and their namespaces come and go', async () => {
    const opened = await open()
    let told = 0
    opened.subscribe(() => (told += 1))
    expect(opened.list()).toMatchObject([
      {
        group: kind.group,
        kind: 'CloudResource',
        namespace: 'shop',
        name: 'a',
        generation: 1,
        spec: { service: 'web' },
      },
    ])
    put('shop', 'b')
    await until(() => names(opened).join() === 'shop/a,shop/b', 'an object that comes')
    cluster.namespace('elsewhere', 'osm')
    await until(() => names(opened).join() === 'elsewhere/a,shop/a,shop/b', 'a namespace that joins')
    server.remove(type, { namespace: 'shop', name: 'a' })
    cluster.namespace('elsewhere', undefined)
    await until(() => names(opened).join() === 'shop/b', 'what goes')
    expect(told).toBeGreaterThan(0)
    expect(resources.problems()).toEqual([])
  })

  it('are none while the API server does not serve the kind or refuses it, which is a problem', async () => {
    server.fault({
      action: { kind: 'status', status: 403, reason: 'Forbidden' },
      when: ({ path }) => path.includes(kind.group),
      times: Infinity,
    })
    const opened = await open()
    expect(names(opened)).toEqual([])
    expect(resources.problems()).toMatchObject([{ code: 'OSM_ENDPOINTS_KIND_MISSING', severity: 'warning' }])
    server.clearFaults()
    await until(() => names(opened).join() === 'shop/a', 'the permission comes')
    expect(resources.problems()).toEqual([])
  })

  it('are told in their status what became of them, and nothing twice', async () => {
    await open()
    let reports: readonly ResourceReport[] = []
    let changed = (): void => undefined
    const report = (more: Partial<ResourceReport> = {}): ResourceReport => ({
      kind: 'CloudResource',
      namespace: 'shop',
      name: 'a',
      generation: 3,
      type: kind,
      conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: 'in use' }],
      instances: 1,
      addresses: ['198.51.100.1'],
      resolvedAt: Date.parse('2026-01-01T00:00:00Z'),
      ...more,
    })
    const writer = new ResourceStatusWriter({
      api: await server.api(),
      resources,
      reports: () => reports,
      subscribe: (listener) => {
        changed = listener
        return () => undefined
      },
      clock: fastClock(20),
      random: () => 0.5,
      logger: silentLogger,
    })
    finished = writer.run(end.signal)
    const tell = (...next: readonly ResourceReport[]): void => {
      reports = next
      changed()
    }
    const status = () =>
      server.objects.get(type, { namespace: 'shop', name: 'a' })?.status as
        | { readonly instances: number; readonly lastResolvedTime: string; readonly conditions: readonly object[] }
        | undefined
    const writes = () => server.requests.filter(({ method }) => method === 'PATCH').length
    tell(report(), report({ namespace: 'elsewhere' }))
    await until(() => status() !== undefined, 'the status is written')
    expect(status()).toEqual({
      observedGeneration: 3,
      instances: 1,
      addresses: ['198.51.100.1'],
      lastResolvedTime: '2026-01-01T00:00:00Z',
      conditions: [
        {
          type: 'Accepted',
          status: 'True',
          reason: 'Accepted',
          message: 'in use',
          observedGeneration: 3,
          lastTransitionTime: expect.any(String) as unknown,
        },
      ],
    })
    // A later success alone is written only when the one in the status is old.
    tell(report({ resolvedAt: Date.parse('2026-01-01T00:05:00Z') }))
    tell(report({ resolvedAt: Date.parse('2026-01-01T00:06:00Z'), instances: 2 }))
    await until(() => status()?.instances === 2, 'a change is written')
    expect(writes()).toBe(2)
    tell(report({ resolvedAt: Date.parse('2026-01-01T00:20:00Z'), instances: 2 }))
    await until(() => status()?.lastResolvedTime === '2026-01-01T00:20:00Z', 'an old success is replaced')
    expect(server.objects.get(type, { namespace: 'elsewhere', name: 'a' })?.status).toBeUndefined()
  })
})
