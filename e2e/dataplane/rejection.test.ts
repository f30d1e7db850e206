import { readFile, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type TestMesh, startTestMesh } from './support/mesh.js'
import { narrowEnvoy, type NarrowEnvoy, tooLargeForEnvoy } from './support/narrow-envoy.js'
import { shop, shopPolicy } from './support/shop.js'
import { throughProxy } from './support/traffic.js'
import { account, routeGroup, service, trafficTarget, workload } from './support/yaml.js'
import { programs } from './support/mesh.js'

const openLonely = trafficTarget('shop/lonely', {
  to: 'shop/lonely',
  from: ['shop/client'],
  rules: [{ kind: 'HTTPRouteGroup', name: 'store' }],
})

/** No load of the machine makes a refusal take so long. */
const BOUND_MS = 120_000

jest.setTimeout(4 * BOUND_MS)

describe('what Envoy refuses', () => {
  let mesh: TestMesh
  let allocatedPort: number
  const get = (from: string, path: string, host = 'store-v1.shop:8080') =>
    throughProxy(mesh.proxyOf(`shop/${from}`), `http://${host}${path}`)

  let envoy: NarrowEnvoy

  beforeAll(async () => {
    envoy = await narrowEnvoy()
    mesh = await startTestMesh(shop(), { envoy: envoy.path })
    allocatedPort = await inboundPortOf(mesh, 'lonely', 'shop/lonely|8080')
  })
  afterAll(async () => {
    await mesh.stop()
    await envoy.remove()
  })

  it('keeps the last good configuration when a listener port is taken, and names the object', async () => {
    // No policy opens `lonely` yet, so that its sidecar does not listen on the port that is set aside for it. Somebody else takes it.
    const taken = createServer()
    await new Promise<void>((resolve, reject) => {
      taken.once('error', reject)
      taken.listen(allocatedPort, '127.0.0.1', resolve)
    })
    try {
      await mesh.write('extra.yaml', openLonely)
      const status = await eventually(
        () => mesh.status('shop/lonely'),
        ({ state }) => state === 'rejected',
        { what: 'a rejection in the status' },
      )
      expect(status.rejected[0]?.message).toMatch(/address already in use|cannot bind/i)
      expect(status.rejected[0]?.id).toContain('shop/lonely')
      expect(
        status.rejected[0]?.sources.map(({ object }) => `${object.kind} ${object.namespace}/${object.name}`),
      ).toContain('TrafficTarget shop/lonely')
      await expect(get('client', '/books/1')).resolves.toMatchObject({ status: 200 })
    } finally {
      await new Promise((resolve) => taken.close(resolve))
      await mesh.write('extra.yaml')
    }
    await mesh.settled()
    await mesh.write('extra.yaml', openLonely)
    await eventually(
      () => get('client', '/books/1', 'lonely.shop:8080'),
      ({ status }) => status === 200,
      { what: 'access, now that the port is free' },
    )
    await mesh.write('extra.yaml')
    await mesh.settled()
  })

  it('falls back to the deny form when a refused change removes access, and names the rule', async () => {
    await expect(get('thief', '/books/1')).resolves.toMatchObject({ status: 200 })
    const narrowed = shopPolicy().map((document) => document.replace('"/books/.*"', JSON.stringify(tooLargeForEnvoy)))
    await mesh.write('policy.yaml', ...narrowed)
    const status = await eventually(
      () => mesh.status('shop/store-v1'),
      ({ denied }) => denied.length > 0,
      { what: 'the deny form' },
    )
    expect(status).toMatchObject({ state: 'rejected' })
    expect(status.rejected[0]?.message).toMatch(/regex|program size|too large/i)
    expect(status.rejected.flatMap(({ sources }) => sources.map(({ object }) => object.kind))).toContain(
      'HTTPRouteGroup',
    )
    await eventually(
      () => get('thief', '/books/1'),
      (answer) => answer.status === 403,
      { what: 'a refusal' },
    )
    await eventually(
      () => get('client', '/books/1'),
      (answer) => answer.status === 403,
      { what: 'a refusal' },
    )

    await mesh.write('policy.yaml', ...shopPolicy())
    await eventually(
      () => get('client', '/books/1'),
      (answer) => answer.status === 200,
      { what: 'access' },
    )
    await mesh.settled()
    await expect(mesh.status('shop/store-v1')).resolves.toMatchObject({ denied: [], rejected: [] })
  })

  it('keeps serving when a refused change only adds access', async () => {
    await mesh.write(
      'more.yaml',
      routeGroup('shop/large', [{ name: 'large', pathRegex: tooLargeForEnvoy }]),
      trafficTarget('shop/store-v1-large', {
        to: 'shop/store-v1',
        from: ['shop/thief'],
        rules: [{ kind: 'HTTPRouteGroup', name: 'large', matches: ['large'] }],
      }),
    )
    await eventually(
      () => mesh.status('shop/store-v1'),
      ({ state }) => state === 'rejected',
      { what: 'a rejection' },
    )
    await expect(get('client', '/books/1')).resolves.toMatchObject({ status: 200 })
    await expect(mesh.status('shop/store-v1')).resolves.toMatchObject({ denied: [] })
    await mesh.write('more.yaml')
    await mesh.settled()
  })

  it('leaves a workload whose program does not exist to itself', async () => {
    await mesh.write(
      'broken.yaml',
      account('shop/broken'),
      workload('shop/broken', { program: programs.http, port: 8080 }).replace(
        JSON.stringify(process.execPath),
        '"/no/such/program"',
      ),
      service('shop/broken', 'broken', 8080),
    )
    await eventually(
      () =>
        mesh.events.some(
          (event) => event.type === 'workload' && event.state === 'failed' && event.instance.startsWith('broken'),
        ),
      (failed) => failed,
      { what: 'word of the failure' },
    )
    await expect(get('client', '/books/1')).resolves.toMatchObject({ status: 200 })
    await mesh.write('broken.yaml')
  })
})

/** The port that the supervisor has set aside for a service port of a workload. */
async function inboundPortOf(mesh: TestMesh, workload: string, key: string): Promise<number> {
  const folder = join(mesh.stateFolder, 'instances')
  for (const file of await readdir(folder)) {
    const { spec } = JSON.parse(await readFile(join(folder, file), 'utf8')) as {
      readonly spec: {
        readonly workload: string
        readonly allocations?: { readonly inbound: Readonly<Record<string, { readonly port: number }>> }
      }
    }
    const port = spec.workload === workload ? spec.allocations?.inbound[key]?.port : undefined
    if (port !== undefined) return port
  }
  throw new Error(`no instance of ${workload} has a port for ${key}`)
}
