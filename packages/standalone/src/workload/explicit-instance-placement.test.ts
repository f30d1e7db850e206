import { join } from 'node:path'

import { MeshSnapshot, ObjectDecoder, objectKey, readObjects, type Snapshot } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { PortAllocator } from '../ports/port-allocator.js'
import { desiredInstances } from './desired-instances.js'
import { ExplicitInstancePlacement } from './explicit-instance-placement.js'

const folder = temporaryFolders()

function newAllocator(busy: ReadonlySet<number> = new Set()): PortAllocator {
  const range = { first: 20_000, last: 20_999 }
  return new PortAllocator({
    file: join(folder(), 'ports.json'),
    range,
    isFree: async (port) => !busy.has(port),
    seed: 'x',
  })
}

const workload = (spec: string): string =>
  `apiVersion: standalone.openservicemesh.io/v1alpha1\nkind: Workload\nmetadata: { name: web, namespace: shop, labels: { app: web } }\nspec: { command: [x], ${spec} }`
const service = (name: string, ports: string, selector = 'app: web'): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { selector: { ${selector} }, ports: [${ports}] }`

const decoder = new ObjectDecoder()

function snapshotOf(...documents: readonly string[]): Snapshot {
  const { objects, problems } = readObjects(documents.join('\n---\n'), { file: '/specs/web.yaml', decoder })
  expect(problems).toEqual([])
  return MeshSnapshot.empty().with(objects.map((after) => ({ key: objectKey(after), before: undefined, after })))
}

async function placeInstance(
  snapshot: Snapshot,
  allocator = newAllocator(),
  replica = 0,
): Promise<ExplicitInstancePlacement> {
  const desired = desiredInstances(snapshot, 'envoy')[replica]!
  return ExplicitInstancePlacement.open({ desired, allocator, folder: '/run/x', address: '127.0.0.1' }, snapshot)
}

describe('ExplicitInstancePlacement', () => {
  it('tells the program a free port, unless the workload says where it listens', async () => {
    const placement = await placeInstance(
      snapshotOf(workload('ports: [{ name: a, port: 80 }, { port: 81, localPort: 8081 }]')),
    )
    const [first, second] = placement.ports
    expect(first).toMatchObject({ name: 'a', port: 80 })
    expect(first!.localPort).toBeGreaterThanOrEqual(20_000)
    expect(second).toEqual({ port: 81, localPort: 8081 })
  })

  it('knows ports of the program that only services speak of', async () => {
    const placement = await placeInstance(snapshotOf(workload(''), service('web', '{ port: 80, targetPort: 8080 }')))
    expect(placement.ports.map(({ port }) => port)).toEqual([8080])
  })

  it('refuses a second replica on one fixed port', async () => {
    const snapshot = snapshotOf(workload('replicas: 2, ports: [{ port: 80, localPort: 8080 }]'))
    const allocator = newAllocator()
    await placeInstance(snapshot, allocator)
    await expect(placeInstance(snapshot, allocator, 1)).rejects.toMatchObject({ code: 'OSM_STANDALONE_PORT_TAKEN' })
  })

  it('has a listener for each port of each service, and one for ports that lead to the same one', async () => {
    const snapshot = snapshotOf(
      workload('ports: [{ name: main, port: 8080 }]'),
      service(
        'web',
        '{ port: 81, targetPort: main }, { port: 80, targetPort: 8080 }, { port: 90, targetPort: missing }',
      ),
      service('also', '{ port: 80, targetPort: 8080 }'),
      service('other', '{ port: 80 }', 'app: other'),
    )
    const { allocations } = await (await placeInstance(snapshot)).refresh(snapshot)
    const inbound = allocations!.inbound
    expect(Object.keys(inbound).sort()).toEqual(['shop/also|80', 'shop/web|80', 'shop/web|81'])
    expect(inbound['shop/web|81']).toEqual(inbound['shop/web|80'])
    expect(inbound['shop/also|80']).not.toEqual(inbound['shop/web|80'])
  })

  it('has a listener for callers from outside where an object opens a port of the workload, whatever port of a service leads there', async () => {
    const access = (kind: string, name: string, backends: string): string =>
      `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name}, namespace: shop }\nspec: { backends: [${backends}], sources: [{ kind: IPRange, name: 127.0.0.0/8 }] }`
    const closed = [
      workload('ports: [{ name: main, port: 8080 }]'),
      service('web', '{ port: 81, targetPort: main }, { port: 80, targetPort: 8080 }'),
    ]
    const open = snapshotOf(
      ...closed,
      access('IngressBackend', 'a', '{ name: web, port: { number: 8080, protocol: http } }'),
      access(
        'AccessControl',
        'b',
        '{ name: web, port: { number: 8080, protocol: https } }, { name: web, port: { number: 80, protocol: http } }',
      ),
    )
    const placement = await placeInstance(open)
    const { allocations } = await placement.refresh(open)
    expect(Object.keys(allocations?.ingress ?? {})).toEqual(['shop/web|8080'])
    const taken = Object.values(allocations?.inbound ?? {}).map(({ port }) => port)
    expect(taken).not.toContain(allocations?.ingress?.['shop/web|8080']?.port)
    expect((await placement.refresh(snapshotOf(...closed))).allocations).not.toHaveProperty('ingress')
    expect((await placement.refresh(open)).allocations).toEqual(allocations)
  })

  it('gives ports back that services no longer need, and finds them again', async () => {
    const bare = workload('')
    const before = snapshotOf(bare, service('db', '{ port: 5432, appProtocol: tcp }', 'app: db'))
    const allocator = newAllocator()
    const placement = await placeInstance(before, allocator)
    const { variables } = await placement.refresh(before)
    const { OSM_TCP_DB_SHOP_5432: address } = variables
    expect(address).toMatch(/^127\.0\.0\.1:20\d{3}$/)
    expect((await placement.refresh(snapshotOf(bare))).variables).not.toHaveProperty('OSM_TCP_DB_SHOP_5432')
    const port = Number(address!.split(':')[1])
    expect(await allocator.claimFixed('somebody', [port])).toBeUndefined()
    allocator.release('somebody')
    expect((await placement.refresh(before)).variables).toEqual(variables)
  })

  it('holds nothing any more after it has left', async () => {
    const snapshot = snapshotOf(workload('ports: [{ port: 80, localPort: 8080 }]'))
    const allocator = newAllocator()
    await (await placeInstance(snapshot, allocator)).leave()
    expect(await allocator.claimFixed('somebody', [8080])).toBeUndefined()
  })

  it('tells a workload without a sidecar nothing, and says which services lead nowhere', async () => {
    const snapshot = snapshotOf(workload('sidecar: false, ports: [{ port: 8080 }]'), service('web', '{ port: 80 }'))
    const placement = await placeInstance(snapshot)
    expect(placement.ports[0]).toEqual({ port: 8080, localPort: 8080 })
    expect(await placement.refresh(snapshot)).toMatchObject({
      variables: {},
      problems: [{ code: 'OSM_STANDALONE_UNREACHABLE', object: { kind: 'Service', name: 'web' } }],
    })
  })
})
