import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@osm-ts/driver-api/toolkit'

import { FakeClock } from '../../core/test/certificates/fake-clock.js'
import { FakeApiServer } from '../test/fake-api-server.js'
import { MemoryLogger } from '../test/memory-logger.js'
import type { KubernetesObject } from './api.js'
import { EventRecorder, type RecordedEvent } from './event-recorder.js'
import { resourceTypes } from './resource-types.js'

const { Event } = resourceTypes
const SECOND = 1_000
const pod = { apiVersion: 'v1', kind: 'Pod', namespace: 'osm-system', name: 'osm-controller-0', uid: 'u1' }
const failed: RecordedEvent = {
  object: pod,
  type: 'Warning',
  reason: 'FatalInitializationError',
  message: 'no configuration',
}

let server: FakeApiServer
let clock: FakeClock
let recorder: EventRecorder

beforeEach(async () => {
  server = await FakeApiServer.start()
  clock = new FakeClock()
  const api = await server.api()
  const logger = new MemoryLogger()
  recorder = new EventRecorder({ api, component: 'osm-controller', namespace: 'osm-system', clock, logger })
})

afterEach(async () => {
  await recorder.close()
  await server.close()
})

describe('an event recorder', () => {
  it('writes an event beside its object', async () => {
    recorder.record(failed)
    await until(() => events().length === 1)
    expect(events()[0]).toMatchObject({
      metadata: { namespace: 'osm-system', name: expect.stringMatching(/^osm-controller-0\.[0-9a-f]{16}$/) },
      involvedObject: pod,
      type: 'Warning',
      reason: 'FatalInitializationError',
      message: 'no configuration',
      source: { component: 'osm-controller' },
      count: 1,
      firstTimestamp: '2026-11-21T10:00:00Z',
      lastTimestamp: '2026-11-21T10:00:00Z',
    })
  })

  it('writes no character that would steer the terminal of a reader', async () => {
    recorder.record({ ...failed, message: 'refused: \u001B[2J\u009B2J\u202Ex\n' })
    await until(() => events().length === 1)
    expect(events()[0]).toMatchObject({ message: 'refused: ·[2J·2J·x·' })
  })

  it('writes events about cluster-scoped objects to the namespace that they have to be in', async () => {
    recorder.record({ ...failed, object: { apiVersion: 'v1', kind: 'Namespace', name: 'shop' } })
    await until(() => events().length === 1)
    expect(events()[0]?.metadata.namespace).toBe('default')
  })

  it('counts what happens again, and writes the count now and then', async () => {
    for (let times = 0; times < 500; times += 1) {
      recorder.record(failed)
      if (times % 100 === 0) await clock.pass(SECOND)
    }
    await until(() => events().length === 1)
    expect(writes()).toHaveLength(1)
    await clock.pass(30 * SECOND)
    await until(() => events()[0]?.count === 500)
    expect(writes()).toHaveLength(2)
    expect(events()[0]).toMatchObject({ firstTimestamp: '2026-11-21T10:00:00Z', lastTimestamp: '2026-11-21T10:00:05Z' })
  })

  it('counts together what differs in its text only, once there are many texts', async () => {
    for (let index = 0; index < 50; index += 1) recorder.record({ ...failed, message: `attempt ${index}` })
    await until(() => events().length === 11)
    expect(events().map(({ count }) => count)).toEqual(expect.arrayContaining([1, 40]))
    expect(events().find(({ count }) => count === 40)?.message).toBe('attempt 49')
  })

  it('begins a new event when the API server has forgotten the old one', async () => {
    recorder.record(failed)
    await until(() => events().length === 1)
    server.remove(Event, nameOf(events()[0]!))
    recorder.record(failed)
    await clock.pass(30 * SECOND)
    await until(() => events()[0]?.count === 2)
  })

  it('tries again for a while when the API server fails, and gives up then', async () => {
    server.fault({ action: { kind: 'cut' }, times: 3 })
    recorder.record(failed)
    await until(() => {
      void clock.pass(SECOND)
      return events().length === 1
    })
    server.fault({ action: { kind: 'status', status: 403, reason: 'Forbidden' }, times: 100 })
    recorder.record({ ...failed, reason: 'Other' })
    await until(() => {
      void clock.pass(10 * SECOND)
      return writes().length === 9
    })
    await clock.pass(600 * SECOND)
    expect(writes()).toHaveLength(9)
  })

  it('writes what is left when it is closed, and nothing afterwards', async () => {
    recorder.record(failed)
    recorder.record({ ...failed, reason: 'Other' })
    await recorder.close()
    expect(events()).toHaveLength(2)
    recorder.record({ ...failed, reason: 'Late' })
    await recorder.close()
    expect(events()).toHaveLength(2)
  })

  it('does not wait for an API server that does not answer', async () => {
    server.freeze()
    recorder.record(failed)
    const closing = recorder.close()
    await until(() => {
      void clock.pass(SECOND)
      return clock.pending === 0
    })
    await closing
  })

  it('remembers a bounded number of events', async () => {
    server.freeze()
    for (let index = 0; index < 5_000; index += 1) recorder.record({ ...failed, object: { ...pod, name: `p${index}` } })
    server.thaw()
    await recorder.close()
    expect(events().length).toBeLessThanOrEqual(1_002)
  })

  it('shortens long messages and names', async () => {
    recorder.record({ ...failed, object: { ...pod, name: 'n'.repeat(253) }, message: 'm'.repeat(5_000) })
    await until(() => events().length === 1)
    expect(events()[0]?.metadata.name.length).toBeLessThanOrEqual(253)
    expect(String(events()[0]?.message)).toHaveLength(1_024)
  })
})

function events(): readonly KubernetesObject[] {
  return server.objects.list(Event)
}

function writes(): readonly unknown[] {
  return server.requests.filter(({ method }) => method !== 'GET')
}

function nameOf({ metadata }: KubernetesObject): { readonly namespace: string; readonly name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name }
}
