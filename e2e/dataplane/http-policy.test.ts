import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type TestMesh, startTestMesh } from './support/mesh.js'
import { shop, shopPolicy, shopSplit } from './support/shop.js'
import { throughProxy } from './support/traffic.js'
import { meshConfig } from './support/yaml.js'

const store = 'http://store.shop:8080'

describe('HTTP policy on real Envoys', () => {
  let mesh: TestMesh
  const get = (from: string, url: string, method = 'GET') => throughProxy(mesh.proxyOf(`shop/${from}`), url, { method })

  beforeAll(async () => {
    mesh = await startTestMesh(shop())
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('lets an allowed caller through', async () => {
    await expect(get('client', `${store}/books/1`)).resolves.toMatchObject({ status: 200 })
    await expect(get('client', `${store}/buy`, 'POST')).resolves.toMatchObject({ status: 200 })
    await expect(get('thief', `${store}/books/1`)).resolves.toMatchObject({ status: 200 })
  })

  it.each([
    ['a caller whom only another rule allows', 'thief', '/buy', 'POST'],
    ['a method that no rule names', 'client', '/books/1', 'DELETE'],
    ['a path that no rule matches', 'client', '/admin', 'GET'],
    ['a path that a rule matches in part only', 'client', '/buy/now', 'POST'],
    ['a path in other letters', 'client', '/Buy', 'POST'],
  ])('answers 403 to %s', async (_what, from, path, method) => {
    await expect(get(from, `${store}${path}`, method)).resolves.toMatchObject({ status: 403 })
  })

  it.each([
    '/books/../admin',
    '/books/%2e%2e/admin',
    '/books/.%2e/admin',
    '/books/%2fx',
    '/books/%5cx',
    '/books\\..\\admin',
  ])('answers 400 to the path %s, which two readers could read in two ways', async (path) => {
    await expect(get('client', `${store}${path}`)).resolves.toMatchObject({ status: 400 })
  })

  it('refuses a service that no policy opens', async () => {
    await expect(get('client', 'http://lonely.shop:8080/')).resolves.toMatchObject({ status: 403 })
    const policy = JSON.parse(
      await mesh.debug(`/debug/policy?uuid=${mesh.instance('shop/lonely').uuid}`),
    ) as ProxyPolicy
    expect(policy.proxy.inbound).toEqual([])
  })

  it('splits by weight, and sends nothing to a weight of 0', async () => {
    const requests = 400
    const counts = new Map<string, number>()
    for (let sent = 0; sent < requests; sent += 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => get('client', `${store}/books/1`)))
      for (const { status, server } of answers) {
        expect(status).toBe(200)
        counts.set(server ?? '', (counts.get(server ?? '') ?? 0) + 1)
      }
    }
    // Five standard deviations of a binomial of 400 at 0.75 are 43: a correct split leaves that band less than once in a million runs.
    expect(Math.abs((counts.get('store-v1') ?? 0) - 300)).toBeLessThan(44)
    expect(counts.get('store-v3')).toBeUndefined()
    expect((counts.get('store-v1') ?? 0) + (counts.get('store-v2') ?? 0)).toBe(requests)
  })

  it('reaches each version by its own name too', async () => {
    for (const version of ['store-v1', 'store-v2', 'store-v3'])
      await expect(get('client', `http://${version}.shop:8080/books/1`)).resolves.toMatchObject({
        status: 200,
        server: version,
      })
  })

  it('follows edits of split and policy while it runs', async () => {
    await mesh.write('split.yaml', ...shopSplit({ 'store-v1': 0, 'store-v2': 0, 'store-v3': 1 }))
    await eventually(
      () => get('client', `${store}/books/1`),
      ({ server }) => server === 'store-v3',
      { what: 'an answer of store-v3' },
    )
    await mesh.settled()
    for (let n = 0; n < 20; n += 1)
      await expect(get('client', `${store}/books/1`)).resolves.toMatchObject({ server: 'store-v3' })

    await mesh.write('policy.yaml', ...shopPolicy(['client']))
    await eventually(
      () => get('thief', `${store}/books/1`),
      ({ status }) => status === 403,
      { what: 'a refusal' },
    )
    await expect(get('client', `${store}/books/1`)).resolves.toMatchObject({ status: 200 })

    await mesh.write('policy.yaml', ...shopPolicy())
    await eventually(
      () => get('thief', `${store}/books/1`),
      ({ status }) => status === 200,
      { what: 'access' },
    )
  })

  it('continues with the last good state when a file is invalid, and reports its line', async () => {
    await mesh.write(
      'split.yaml',
      'apiVersion: split.smi-spec.io/v1alpha4\nkind: TrafficSplit\nmetadata: { name: store, namespace: shop }\nspec:\n  service: store\n  backends:\n  - { service: store-v3, weight: -1 }\n',
    )
    const problem = await eventually(
      async () =>
        (await mesh.problems()).find(({ object, severity }) => severity === 'error' && object?.kind === 'TrafficSplit'),
      (found) => found !== undefined,
      { what: 'a problem of the split' },
    )
    expect(problem).toMatchObject({
      object: { kind: 'TrafficSplit', namespace: 'shop', name: 'store' },
      origin: { kind: 'file', line: expect.any(Number) },
    })
    expect(problem?.field).toContain('weight')
    await expect(get('client', `${store}/books/1`)).resolves.toMatchObject({ status: 200, server: 'store-v3' })
  })

  it('continues with the last good rule when an expression is none', async () => {
    await mesh.write('policy.yaml', ...shopPolicy().map((document) => document.replace('"/buy"', '"/buy("')))
    const problem = await eventually(
      async () => (await mesh.problems()).find(({ code }) => code === 'OSM_SPEC_REGEX'),
      (found) => found !== undefined,
      { what: 'a problem of the expression' },
    )
    expect(problem).toMatchObject({
      object: { kind: 'HTTPRouteGroup', name: 'store' },
      field: 'spec.matches[1].pathRegex',
    })
    await expect(get('client', `${store}/buy`, 'POST')).resolves.toMatchObject({ status: 200 })
    await mesh.write('policy.yaml', ...shopPolicy())
  })

  it('opens everything to everybody of the mesh in permissive mode', async () => {
    await mesh.write(
      'config.yaml',
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } }),
    )
    await eventually(
      () => get('thief', 'http://lonely.shop:8080/anything', 'DELETE'),
      ({ status }) => status === 200,
      { what: 'access' },
    )
    await mesh.write(
      'config.yaml',
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
    )
    await eventually(
      () => get('thief', 'http://lonely.shop:8080/anything', 'DELETE'),
      ({ status }) => status !== 200,
      { what: 'a refusal' },
    )
  })
})
