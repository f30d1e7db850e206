import { createServer } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { type TestMesh, startTestMesh } from './support/mesh.js'
import { shop, shopPolicy } from './support/shop.js'
import { throughProxy } from './support/traffic.js'
import { eventually } from './support/wait.js'
import { account, routeGroup, service, trafficTarget, workload } from './support/yaml.js'
import { programs } from './support/mesh.js'

/** RE2 in core reads it; Envoy's RE2 refuses the program it compiles to, which is far larger than its limit. */
const tooLarge = '/books/' + Array.from({ length: 40 }, (_, n) => `(x${n}[a-z]{200})?`).join('')

describe('what Envoy refuses', () => {
  let mesh: TestMesh
  const get = (from: string, path: string, host = 'store-v1.shop:8080') =>
    throughProxy(mesh.proxyOf(`shop/${from}`), `http://${host}${path}`)

  beforeAll(async () => {
    mesh = await startTestMesh(shop())
  }, 120_000)
  afterAll(async () => {
    await mesh.stop()
  }, 60_000)

  it('keeps the last good configuration when a listener port is taken, and names the object', async () => {
    // The new service gets its listener on a port of the sidecar of store-v1 that somebody else took first.
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { readonly port: number }
    try {
      await mesh.write(
        'extra.yaml',
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Service',
          metadata: {
            name: 'extra',
            namespace: 'shop',
            annotations: { 'standalone.openservicemesh.io/inbound-port': String(port) },
          },
          spec: { selector: { app: 'store-v1' }, ports: [{ name: 'main', port: 8081, targetPort: 8080 }] },
        }),
      )
      const status = await eventually(
        () => mesh.status('shop/store-v1'),
        ({ state }) => state === 'rejected',
        { what: 'a rejection in the status' },
      )
      expect(status.rejected[0]?.message).toMatch(/address already in use|cannot bind/i)
      expect(status.rejected[0]?.id).toContain('shop/extra')
      expect(status.rejected[0]?.sources).toContainEqual(
        expect.objectContaining({ object: { kind: 'Service', namespace: 'shop', name: 'extra' } }),
      )
      await expect(get('client', '/books/1')).resolves.toMatchObject({ status: 200 })
    } finally {
      taken.close()
      await mesh.write('extra.yaml')
    }
    await mesh.settled()
  }, 60_000)

  it('falls back to the deny form when a refused change removes access, and names the rule', async () => {
    await expect(get('thief', '/books/1')).resolves.toMatchObject({ status: 200 })
    const narrowed = shopPolicy().map((document) => document.replace('"/books/.*"', JSON.stringify(tooLarge)))
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
  }, 60_000)

  it('keeps serving when a refused change only adds access', async () => {
    await mesh.write(
      'more.yaml',
      routeGroup('shop/large', [{ name: 'large', pathRegex: tooLarge }]),
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
  }, 60_000)

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
  }, 60_000)
})
