import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createLogger,
  MeshSnapshot,
  newProxyUUID,
  ObjectDecoder,
  objectKey,
  readObjects,
  type Snapshot,
} from '@osm-ts/core'
import type { Machine } from '@osm-ts/controller'

import { FolderMachines } from './folder-machines.js'

const decoder = new ObjectDecoder()
const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: store, namespace: shop }'
const service = (name: string, port: number, protocol: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { selector: { app: ${name} }, ports: [{ port: ${port}, appProtocol: ${protocol} }] }`

function snapshotOf(...documents: readonly string[]): Snapshot {
  const { objects, problems } = readObjects(documents.join('\n---\n'), { decoder })
  expect(problems).toEqual([])
  return MeshSnapshot.empty().with(objects.map((after) => ({ key: objectKey(after), before: undefined, after })))
}

const machine = (changes: Partial<Machine> = {}): Machine => ({
  uuid: newProxyUUID(),
  name: 'rack-7',
  namespace: 'shop',
  serviceAccount: 'store',
  labels: { app: 'store' },
  sidecarClass: 'envoy',
  address: '192.0.2.7',
  ports: [{ port: 8080, localPort: 18_080 }],
  listeners: { first: 15_100, last: 15_104 },
  ...changes,
})

interface Instance {
  readonly spec: {
    readonly ready: boolean
    readonly allocations: {
      readonly inbound: Readonly<Record<string, { readonly address: string; readonly port: number }>>
      readonly outboundTcp: Readonly<Record<string, { readonly port: number }>>
    }
  }
}

describe('machines of a standalone mesh', () => {
  let folder: string
  let snapshot: Snapshot
  let look: () => void
  let lines: string[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-machines-'))
    mkdirSync(join(folder, 'instances'))
    snapshot = snapshotOf(account, service('store', 8080, 'http'), service('database', 5432, 'tcp'))
    lines = []
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const open = (): FolderMachines =>
    new FolderMachines({
      folder: join(folder, 'machines'),
      instances: join(folder, 'instances'),
      feed: {
        current: () => snapshot,
        subscribe: (listener) => {
          look = () => listener({ snapshot, changed: [] })
          return () => undefined
        },
      },
      now: () => 0,
      logger: createLogger('test', 'info', { write: (line) => void lines.push(line) }),
    })
  const instance = (): Instance =>
    JSON.parse(readFileSync(join(folder, 'instances', 'shop.rack-7.json'), 'utf8')) as Instance

  it('have listeners for callers at their address, and for their workload on loopback', async () => {
    const machines = open()
    const it = machine()
    await machines.admit(it)
    expect(instance().spec).toMatchObject({
      ready: false,
      allocations: {
        inbound: { 'shop/store|8080': { address: '192.0.2.7', port: 15_103 } },
        outboundTcp: { 'shop/database|5432': { address: '127.0.0.1', port: 15_104 } },
      },
    })
    await expect(machines.report(it.uuid, { ready: true })).resolves.toEqual({
      HTTP_PROXY: 'http://127.0.0.1:15100',
      http_proxy: 'http://127.0.0.1:15100',
      OSM_TCP_DATABASE_SHOP_5432: '127.0.0.1:15104',
    })
    expect(instance().spec.ready).toBe(true)
  })

  it('keep their listeners when services come, and a restart of the controller', async () => {
    const machines = open()
    const it = machine()
    await machines.admit(it)
    const end = new AbortController()
    const running = machines.run(end.signal)
    snapshot = snapshotOf(
      account,
      service('store', 8080, 'http'),
      service('database', 5432, 'tcp'),
      service('a', 1, 'tcp'),
    )
    look()
    end.abort()
    await running
    expect(instance().spec.allocations.outboundTcp).toEqual({
      'shop/database|5432': { address: '127.0.0.1', port: 15_104 },
    })
    expect(lines.join('')).toContain('OSM_MACHINE_LISTENERS')
    const before = instance()
    const again = open()
    await expect(again.find(it.uuid)).resolves.toMatchObject({ name: 'rack-7' })
    expect(instance()).toEqual(before)
  })

  it('have no listeners of their own choice where connections are redirected', async () => {
    const machines = open()
    const it = machine({ mode: 'transparent' })
    await machines.admit(it)
    const { spec } = instance()
    expect(spec).toMatchObject({ mode: 'transparent', addresses: ['192.0.2.7'] })
    expect(spec).not.toHaveProperty('allocations')
    await expect(machines.report(it.uuid, { ready: true })).resolves.toEqual({})
    await expect(open().find(it.uuid)).resolves.toMatchObject({ mode: 'transparent' })
  })

  it('have names of their own, and accounts that exist', async () => {
    const machines = open()
    await machines.admit(machine())
    await expect(machines.admit(machine())).rejects.toMatchObject({ code: 'OSM_MACHINE_NAME' })
    await expect(machines.admit(machine({ name: 'other', serviceAccount: 'nobody' }))).rejects.toMatchObject({
      code: 'OSM_MACHINE_ACCOUNT',
    })
  })

  it('replace what their virtual machine took part as before, by the same name', async () => {
    const machines = open()
    const before = machine({ virtualMachine: { id: 'vm', key: 'first' } })
    await machines.admit(before)
    await expect(machines.ofVirtualMachine('vm')).resolves.toMatchObject({ uuid: before.uuid })
    const after = machine({ virtualMachine: { id: 'vm', key: 'second' } })
    await machines.admit(after, before.uuid)
    await expect(machines.ofVirtualMachine('vm')).resolves.toMatchObject({ uuid: after.uuid })
    await expect(machines.find(before.uuid)).resolves.toBeUndefined()
    expect([machines.countOf('shop'), machines.countOf('bank')]).toEqual([1, 0])
    expect(readdirSync(join(folder, 'instances'))).toEqual(['shop.rack-7.json'])
  })

  it('leave nothing when they are removed', async () => {
    const machines = open()
    const it = machine()
    await machines.admit(it)
    await machines.remove(it.uuid)
    expect([readdirSync(join(folder, 'machines')), readdirSync(join(folder, 'instances'))]).toEqual([[], []])
  })
})
