import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Clock,
  createLogger,
  MAX_TOKEN_TTL_MS,
  newProxyUUID,
  REPORT_OVERDUE_MS,
  SnapshotFeed,
  systemClock,
} from '@osm-ts/core'
import { resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { TextSource } from '../../test/controller-fixture.js'
import { MemoryApi } from '../../test/memory-api.js'
import { LeaseMachines } from './lease-machines.js'
import type { Machine } from './machine.js'

const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: store, namespace: shop }'
const service = (name: string, port: number): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { selector: { app: store }, ports: [{ port: ${port}, targetPort: 8080, appProtocol: http }] }`

const machine = (changes: Partial<Machine> = {}): Machine => ({
  uuid: newProxyUUID(),
  name: 'rack-7',
  namespace: 'shop',
  serviceAccount: 'store',
  labels: { app: 'store' },
  sidecarClass: 'envoy',
  address: '192.0.2.7',
  ports: [{ port: 8080, localPort: 18_080 }],
  listeners: { first: 15_100, last: 15_199 },
  ...changes,
})

interface Replica {
  readonly machines: LeaseMachines
  readonly feed: SnapshotFeed
}

describe('machines of a cluster', () => {
  let api: MemoryApi
  let end: AbortController
  /** What clocks say, beyond what they do. */
  let passedMs: number
  let text: TextSource
  let lines: string[]
  const running: Promise<void>[] = []
  const clock: Clock = {
    now: () => systemClock.now() + passedMs,
    setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs),
  }

  beforeEach(() => {
    api = new MemoryApi()
    end = new AbortController()
    passedMs = 0
    lines = []
    text = new TextSource()
    text.put(`${account}\n---\n${service('store', 80)}`)
  })
  afterEach(async () => {
    end.abort()
    await Promise.all(running.splice(0))
  })

  async function replica(): Promise<Replica> {
    const machines = new LeaseMachines({
      api: api.api,
      meshName: 'osm',
      osmNamespace: 'osm-system',
      clock,
      monotonic: () => performance.now() + passedMs,
      random: Math.random,
      logger: createLogger('test', 'warn', { write: (line: string) => lines.push(line) }),
    })
    const feed = new SnapshotFeed([text, machines])
    await feed.start(end.signal)
    running.push(machines.follow(feed).run(end.signal))
    return { machines, feed }
  }

  const instance = ({ feed }: Replica, name = 'rack-7') => feed.current()?.get('WorkloadInstance', 'shop', name)?.spec
  const until = (of: Replica, ready: boolean | undefined) =>
    eventually(
      () => instance(of)?.ready,
      (found) => found === ready,
      { what: `that the machine is ${String(ready)}` },
    )

  it('are instances at every replica, with the same listeners', async () => {
    const [one, two] = [await replica(), await replica()]
    const joined = machine()
    await one.machines.admit(joined)
    await expect(two.machines.find(joined.uuid)).resolves.toMatchObject({ name: 'rack-7' })
    await expect(two.machines.report(joined.uuid, { ready: true })).resolves.toMatchObject({
      HTTP_PROXY: 'http://127.0.0.1:15100',
    })
    for (const each of [one, two]) {
      await until(each, true)
      expect(instance(each)?.allocations?.inbound).toEqual({
        'shop/store|80': { address: '192.0.2.7', port: 15_103 },
      })
    }
    text.put(service('another', 81))
    for (const each of [one, two])
      await eventually(
        () => instance(each)?.allocations?.inbound['shop/another|81']?.port,
        (port) => port === 15_104,
        { what: 'a listener for the new Service' },
      )
    // A replica that starts now has the listeners that stand in the Lease.
    text.remove('Service/shop/store')
    const three = await replica()
    await eventually(
      () => instance(three)?.allocations?.inbound['shop/another|81']?.port,
      (port) => port === 15_104,
      { what: 'the listener where it was' },
    )
    await two.machines.remove(joined.uuid)
    for (const each of [one, two, three]) await until(each, undefined)
  })

  it('are told from pods, also where their connections are redirected', async () => {
    const own = await replica()
    const joined = machine({ mode: 'transparent' })
    await own.machines.admit(joined)
    await until(own, false)
    expect(instance(own)).toMatchObject({ mode: 'transparent' })
    expect(instance(own)).not.toHaveProperty('allocations')
    const object = own.feed.current()?.get('WorkloadInstance', 'shop', 'rack-7')
    if (object === undefined) throw new Error('expected the instance of the machine')
    const { metadata, spec } = object
    expect(own.machines.has(object)).toBe(true)
    expect(own.machines.has({ ...object, metadata: { ...metadata, name: 'pod' } })).toBe(false)
    expect(own.machines.has({ ...object, spec: { ...spec, uuid: newProxyUUID() } })).toBe(false)
  })

  it('have names of their own, and accounts of the mesh', async () => {
    const { machines, feed } = await replica()
    await machines.admit(machine())
    await expect(machines.admit(machine())).rejects.toMatchObject({ code: 'OSM_MACHINE_NAME' })
    await expect(machines.admit(machine({ name: 'other', namespace: 'elsewhere' }))).rejects.toMatchObject({
      code: 'OSM_MACHINE_ACCOUNT',
    })
    await until({ machines, feed }, false)
    text.remove('ServiceAccount/shop/store')
    await until({ machines, feed }, undefined)
  })

  it('get no traffic while no replica hears them, and are forgotten with their certificate', async () => {
    const own = await replica()
    const joined = machine()
    await own.machines.admit(joined)
    await own.machines.report(joined.uuid, { ready: true })
    await until(own, true)
    // The first look has noted when it was heard.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    passedMs += REPORT_OVERDUE_MS
    await until(own, false)
    expect(lines.join('\n')).toContain('a machine does not report')
    await own.machines.report(joined.uuid, { ready: true })
    await until(own, true)
    await own.machines.report(joined.uuid, { ready: false })
    await until(own, false)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    passedMs += MAX_TOKEN_TTL_MS
    await until(own, undefined)
    await expect(own.machines.report(joined.uuid, { ready: true })).rejects.toMatchObject({
      code: 'OSM_MACHINE_UNKNOWN',
    })
  })

  it('are heard from one process alone, whichever replica it asks, until that one is silent', async () => {
    const [one, two] = [await replica(), await replica()]
    const joined = machine()
    await one.machines.admit(joined)
    await one.machines.report(joined.uuid, { ready: true, run: 'first' })
    // Started again on the same machine.
    await two.machines.report(joined.uuid, { ready: true, run: 'second', after: 'first' })
    const copy = { ready: true, run: 'copy', after: 'first' }
    await eventually(
      () =>
        one.machines.report(joined.uuid, copy).then(
          () => '',
          (error: unknown) => (error as { readonly code?: string }).code,
        ),
      (code) => code === 'OSM_MACHINE_TWICE',
      { what: 'the refusal of a copy' },
    )
    await expect(two.machines.report(joined.uuid, copy)).rejects.toMatchObject({ code: 'OSM_MACHINE_TWICE' })
    await two.machines.report(joined.uuid, { ready: true, run: 'second', after: 'first' })
    passedMs += 2 * REPORT_OVERDUE_MS
    await expect(two.machines.report(joined.uuid, copy)).resolves.toMatchObject({})
  })

  it('replace what their virtual machine took part as before, by the same name or another', async () => {
    const own = await replica()
    const { machines } = own
    const virtual = (key: string, name: string): Machine => machine({ name, virtualMachine: { id: 'vm', key } })
    let before = virtual('first', 'rack-7')
    await machines.admit(before)
    for (const after of [virtual('second', 'rack-7'), virtual('third', 'rack-8')]) {
      await machines.admit(after, before.uuid)
      await expect(machines.ofVirtualMachine('vm')).resolves.toMatchObject({ uuid: after.uuid })
      await eventually(
        () => machines.find(before.uuid),
        (found) => found === undefined,
        { what: 'that the former machine is forgotten' },
      )
      before = after
    }
    await until(own, undefined)
    expect([machines.countOf('shop'), machines.countOf('bank')]).toEqual([1, 0])
    await expect(machines.ofVirtualMachine('other')).resolves.toBeUndefined()
  })

  it('are read from Leases of machines alone', async () => {
    const labels = { 'app.kubernetes.io/name': 'openservicemesh.io', 'app.kubernetes.io/instance': 'osm' }
    api.put(resourceTypes.Lease, {
      metadata: {
        namespace: 'osm-system',
        name: 'forged',
        labels: { ...labels, 'openservicemesh.io/machine-uuid': newProxyUUID() },
        annotations: { 'openservicemesh.io/machine': '{"uuid": 7' },
      },
      spec: {},
    })
    const { feed } = await replica()
    expect(feed.current()?.list('WorkloadInstance')).toEqual([])
  })
})
