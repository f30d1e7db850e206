import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Problem, ProxyStatus } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { ClusterFixture, fastClock, RunningSource, silentLogger } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import type { SeenRequest } from '../../test/fake-faults.js'
import type { RecordedEvent } from '../event-recorder.js'
import { resourceTypes } from '../resource-types.js'
import type { ObjectStatus } from './condition.js'
import { StatusWriter } from './status-writer.js'

const ingress = {
  backends: [{ name: 'store', port: { number: 80, protocol: 'http' } }],
  sources: [{ kind: 'Service', name: 'gateway', namespace: 'shop' }],
}
const object = { kind: 'IngressBackend', namespace: 'shop', name: 'front' }
const fault = (message: string, severity: Problem['severity'] = 'error'): Problem => ({
  code: 'OSM_SPEC_CONFLICT',
  severity,
  message,
  object,
  field: 'spec.backends[0]',
})

let server: FakeApiServer
let cluster: ClusterFixture
let running: RunningSource
let events: RecordedEvent[]
let problems: readonly Problem[]
let proxies: readonly ProxyStatus[]
let awaited: ReadonlySet<string>
let changed: () => void
let end: AbortController
let finished: Promise<void>

async function start(onceSynced: () => void = () => undefined): Promise<void> {
  await running.start()
  onceSynced()
  const writer = new StatusWriter({
    api: await server.api(),
    targets: running.source,
    events: { record: (event) => events.push(event) },
    *problems() {
      yield
      return problems
    },
    proxies: () => proxies,
    awaited: () => (key) => awaited.has(key),
    subscribe: (listener) => {
      changed = listener
      return () => undefined
    },
    clock: fastClock(20),
    random: () => 0.5,
    logger: silentLogger,
  })
  finished = writer.run(end.signal)
}

const stored = () => server.objects.get(resourceTypes.IngressBackend, { namespace: 'shop', name: 'front' })
const status = () => stored()?.status as ObjectStatus | undefined
const isWrite = ({ method }: SeenRequest): boolean => method !== 'GET'
const writes = (): readonly SeenRequest[] => server.requests.filter(isWrite)
const condition = (type: string) => status()?.conditions.find((it) => it.type === type)

/** Waits until the writer has looked a few times. */
async function looked(): Promise<void> {
  let looks = 0
  const before = problems
  problems = new Proxy(before, {
    get: (target, property, receiver) => {
      if (property === Symbol.iterator) looks += 1
      return Reflect.get(target, property, receiver) as unknown
    },
  })
  for (const goal of [1, 2, 3]) {
    changed()
    await until(() => looks >= goal, 'a look')
  }
}

beforeEach(async () => {
  end = new AbortController()
  events = []
  problems = []
  proxies = []
  awaited = new Set()
  changed = () => undefined
  finished = Promise.resolve()
  server = await FakeApiServer.start()
  cluster = new ClusterFixture(server)
  cluster.serve('policy.openservicemesh.io', { v1alpha1: ['ingressbackends', 'ingressbackends/status'] })
  cluster.namespace('shop', 'osm')
  cluster.custom('IngressBackend', 'shop', 'front', ingress)
  running = await RunningSource.create(server)
})

afterEach(async () => {
  end.abort()
  await finished
  await running.stop()
  await server.close()
})

describe('StatusWriter', () => {
  it('says that an object is accepted, once', async () => {
    await start()
    await until(() => status() !== undefined, 'the status is there')
    expect(status()).toEqual({
      observedGeneration: 1,
      currentStatus: 'committed',
      reason: 'successfully committed by the system',
      conditions: [
        expect.objectContaining({
          type: 'Accepted',
          status: 'True',
          reason: 'Accepted',
          observedGeneration: 1,
          lastTransitionTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        }),
        expect.objectContaining({ type: 'Programmed', status: 'True', reason: 'Programmed' }),
      ],
    })
    await looked()
    expect(writes()).toEqual([
      expect.objectContaining({
        method: 'PATCH',
        path: '/apis/policy.openservicemesh.io/v1alpha1/namespaces/shop/ingressbackends/front/status',
        query: { fieldManager: 'osm-controller', force: 'true' },
      }),
    ])
    expect(running.changes).toEqual([])
    expect(events).toEqual([])
  })

  it('names faults, and keeps the time of what has not changed', async () => {
    problems = [fault('is claimed already'), fault('is odd', 'warning')]
    await start()
    await until(() => status() !== undefined, 'the status is there')
    expect(status()).toMatchObject({
      currentStatus: 'error',
      reason: 'spec.backends[0]: is claimed already; spec.backends[0]: is odd',
    })
    expect(condition('Accepted')).toMatchObject({ status: 'False', reason: 'OSM_SPEC_CONFLICT' })
    expect(condition('Programmed')).toMatchObject({ status: 'False', reason: 'NotAccepted' })
    const since = condition('Accepted')?.lastTransitionTime
    problems = [fault('is claimed by another')]
    changed()
    await until(() => condition('Accepted')?.message.includes('another') === true, 'the words change')
    expect(condition('Accepted')?.lastTransitionTime).toBe(since)
    problems = [fault('is odd', 'warning')]
    changed()
    await until(() => condition('Accepted')?.status === 'True', 'it is accepted')
    expect(condition('Accepted')).toMatchObject({ reason: 'OSM_SPEC_CONFLICT', message: 'spec.backends[0]: is odd' })
    expect(Date.parse(condition('Accepted')?.lastTransitionTime ?? '')).toBeGreaterThan(Date.parse(since ?? ''))
  })

  it('keeps that time although its own writing has not returned', async () => {
    problems = [fault('is claimed already')]
    await start(() => server.watches.freeze())
    await until(() => status() !== undefined, 'the status is there')
    const since = condition('Accepted')?.lastTransitionTime
    // Times are written in seconds, and 50 ms are one of this clock.
    await sleep(60)
    problems = [fault('is claimed by another')]
    changed()
    await until(() => condition('Accepted')?.message.includes('another') === true, 'the words change')
    expect(condition('Accepted')?.lastTransitionTime).toBe(since)
    server.watches.thaw()
  })

  it('says it again of an object that took the place of one of the same name', async () => {
    await start()
    await until(() => status() !== undefined, 'the status is there')
    server.remove(resourceTypes.IngressBackend, { namespace: 'shop', name: 'front' })
    cluster.custom('IngressBackend', 'shop', 'front', ingress)
    expect(status()).toBeUndefined()
    await until(() => status() !== undefined, 'the new one has a status')
  })

  it('observes a new generation, and writes nothing for other changes', async () => {
    await start()
    await until(() => status() !== undefined, 'the status is there')
    const written = writes().length
    const rest = { spec: ingress, status: status() }
    const metadata = { name: 'front', namespace: 'shop', generation: 1 }
    server.put(resourceTypes.IngressBackend, { ...metadata, annotations: { 'a.example.com/b': 'c' } }, rest)
    await looked()
    expect(writes()).toHaveLength(written)
    server.put(resourceTypes.IngressBackend, metadata, { ...rest, spec: { ...ingress, matches: [] } })
    await until(() => status()?.observedGeneration === 2, 'it is observed')
    expect(condition('Accepted')?.observedGeneration).toBe(2)
    expect(writes()).toHaveLength(written + 1)
  })

  it('says which sidecar refuses what was made of it', async () => {
    await start()
    await until(() => status() !== undefined, 'the status is there')
    const row = {
      uuid: 'u',
      name: 'shop/store-0',
      identity: 'store.shop',
      class: 'envoy',
      connected: true,
      ready: true,
      state: 'rejected',
      revision: 1,
      appliedRevision: 0,
      rejected: [{ kind: 'ingress', id: 'i', message: 'no such filter', sources: [{ object, field: 'spec.sources' }] }],
      denied: [],
      conditions: [],
    } as const
    proxies = [row]
    await until(() => condition('Programmed')?.status === 'False', 'it is told')
    expect(condition('Programmed')).toMatchObject({
      reason: 'Refused',
      message: 'the sidecar of shop/store-0 refuses spec.sources: no such filter',
    })
    expect(condition('Accepted')?.status).toBe('True')
    expect(status()?.currentStatus).toBe('error')
    proxies = []
    await until(() => condition('Programmed')?.status === 'True', 'it is taken back')
  })

  it('says that it is programmed once all sidecars have acknowledged that version of it', async () => {
    awaited = new Set(['IngressBackend/shop/front'])
    await start()
    await until(() => status() !== undefined, 'the status is there')
    expect(condition('Programmed')).toMatchObject({
      status: 'Unknown',
      reason: 'Pending',
      message: 'a connected sidecar has not acknowledged it yet',
    })
    expect(status()?.currentStatus).toBe('committed')
    awaited = new Set()
    await until(() => condition('Programmed')?.status === 'True', 'it is acknowledged')
    const written = writes().length
    // A sidecar that has just connected has not acknowledged anything yet.
    awaited = new Set(['IngressBackend/shop/front'])
    await looked()
    expect(writes()).toHaveLength(written)
    const metadata = { name: 'front', namespace: 'shop', generation: 1 }
    server.put(resourceTypes.IngressBackend, metadata, { spec: { ...ingress, matches: [] }, status: status() })
    await until(() => condition('Programmed')?.status === 'Unknown', 'the new version is waited for')
    expect(condition('Programmed')?.observedGeneration).toBe(2)
  })

  it('does not repeat what a sidecar of another namespace says that it refuses', async () => {
    await start()
    await until(() => status() !== undefined, 'the status is there')
    const sources = [{ object, field: 'spec.sources' }]
    const refusing = (name: string, message: string): ProxyStatus => ({
      uuid: name,
      name,
      identity: 'store.shop',
      class: 'envoy',
      connected: true,
      ready: true,
      state: 'rejected',
      revision: 1,
      appliedRevision: 0,
      rejected: [{ kind: 'ingress', id: 'i', message, sources }],
      denied: [],
      conditions: [],
    })
    proxies = [refusing('aaa/attacker-0', 'call mallory.example'), refusing('shop/store-0', 'no such filter')]
    await until(() => condition('Programmed')?.status === 'False', 'what the own sidecar says is told')
    expect(JSON.stringify(stored())).not.toContain('mallory')
    proxies = [refusing('aaa/attacker-0', 'call mallory.example')]
    await until(() => condition('Programmed')?.status === 'True', 'no proxy refuses it')
    expect(JSON.stringify(stored())).not.toContain('mallory')
  })

  it('restores what others wrote over, and leaves their conditions alone', async () => {
    await start()
    await until(() => status() !== undefined, 'the status is there')
    const foreign = {
      type: 'Audited',
      status: 'True',
      reason: 'Ok',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    server.put(
      resourceTypes.IngressBackend,
      { name: 'front', namespace: 'shop', generation: 1 },
      { spec: ingress, status: { ...status(), conditions: [...(status()?.conditions ?? []), foreign] } },
    )
    const written = writes().length
    await looked()
    expect(writes()).toHaveLength(written)
    server.put(
      resourceTypes.IngressBackend,
      { name: 'front', namespace: 'shop', generation: 1 },
      { spec: ingress, status: { currentStatus: 'error' } },
    )
    await until(() => status()?.currentStatus === 'committed', 'it is restored')
  })

  it('says what a definition of OSM knows where conditions are not known, and does not try again', async () => {
    const undeclared = (message: string) =>
      server.fault({ action: { kind: 'status', status: 500, reason: 'InternalError', message }, when: isWrite })
    undeclared('failed to create typed patch object: .status.conditions: field not declared in schema')
    problems = [fault('is claimed already')]
    await start()
    await until(() => status() !== undefined, 'the status is there')
    expect(status()).toEqual({ currentStatus: 'error', reason: 'spec.backends[0]: is claimed already' })
    expect(writes()).toHaveLength(2)
    await looked()
    expect(writes()).toHaveLength(2)
    problems = []
    changed()
    await until(() => status()?.currentStatus === 'committed', 'it changes')
    expect(writes()).toHaveLength(3)
  })

  it('records an event where there is no status to write', async () => {
    cluster.serve('policy.openservicemesh.io', { v1alpha1: ['ingressbackends'] })
    problems = [fault('is claimed already')]
    await start()
    await until(() => events.length > 0, 'an event is recorded')
    await looked()
    problems = []
    changed()
    await until(() => events.length > 1, 'it is taken back')
    expect(events).toEqual([
      {
        object: expect.objectContaining({ ...object, apiVersion: 'policy.openservicemesh.io/v1alpha1' }),
        type: 'Warning',
        reason: 'OSM_SPEC_CONFLICT',
        message: 'spec.backends[0]: is claimed already',
      },
      expect.objectContaining({ type: 'Normal', reason: 'Accepted' }),
    ])
    expect(writes()).toEqual([])
  })

  it('writes nothing into what belongs to no mesh alone', async () => {
    cluster.serve('plugin.flomesh.io', { v1alpha1: ['plugins', 'plugins/status'] })
    cluster.custom('Plugin', '', 'shared', { priority: 1, pipyscript: 'pipy()' })
    problems = [{ ...fault('is too long'), object: { kind: 'Plugin', namespace: '', name: 'shared' } }]
    await start()
    await until(() => events.length > 0, 'an event is recorded')
    await until(() => status() !== undefined, 'the status of another is there')
    expect(events).toMatchObject([{ object: { kind: 'Plugin', name: 'shared' }, type: 'Warning' }])
    expect(server.objects.get(resourceTypes.Plugin, { namespace: '', name: 'shared' })?.status).toBeUndefined()
  })

  it('retries when the API server fails, and releases deleted objects', async () => {
    server.fault({ action: { kind: 'status', status: 503, reason: 'ServiceUnavailable' }, when: isWrite, times: 2 })
    await start()
    await until(() => status() !== undefined, 'the status is there')
    expect(writes()).toHaveLength(3)
    server.remove(resourceTypes.IngressBackend, { namespace: 'shop', name: 'front' })
    await looked()
    expect(writes()).toHaveLength(3)
  })

  it('says of a MeshConfig whether it needs a restart', async () => {
    cluster.serve('config.openservicemesh.io', { v1alpha2: ['meshconfigs', 'meshconfigs/status'] })
    cluster.custom('MeshConfig', 'osm-system', 'osm-mesh-config', {})
    problems = [
      {
        code: 'OSM_CONFIG_RESTART',
        severity: 'warning',
        message: 'takes effect when the control plane is restarted',
        object: { kind: 'MeshConfig', namespace: 'osm-system', name: 'osm-mesh-config' },
        field: 'spec.sidecar.sidecarClass',
      },
    ]
    await start()
    const conditions = () =>
      (
        server.objects.get(resourceTypes.MeshConfig, { namespace: 'osm-system', name: 'osm-mesh-config' })?.status as
          ObjectStatus | undefined
      )?.conditions
    await until(() => conditions() !== undefined, 'the status is there')
    expect(conditions()?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Accepted', 'True', 'Accepted'],
      ['Programmed', 'True', 'Programmed'],
      ['RestartRequired', 'True', 'OSM_CONFIG_RESTART'],
    ])
  })
})
