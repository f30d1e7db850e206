import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from './support/mesh.js'
import { startRateLimitService, type RateLimitService } from './support/rate-limit-service.js'
import { clientAndStore, echo } from './support/store.js'
import { openTcp, throughProxy, type Answer } from './support/traffic.js'
import { meshConfig, upstreamTrafficSetting } from './support/yaml.js'

const store = 'http://store.shop:8080'
const host = 'store.shop.svc.cluster.local'
/** Long enough that no bucket is refilled while a test runs. */
const hourly = (requests: number) => ({ requests, unit: 'hour' })

describe('UpstreamTrafficSettings on real Envoys', () => {
  let mesh: TestMesh
  const get = (path: string): Promise<Answer> => throughProxy(mesh.proxyOf('shop/client'), `${store}${path}`)
  const statuses = async (path: string, times: number): Promise<readonly number[]> => {
    const all: number[] = []
    for (let n = 0; n < times; n += 1) all.push((await get(path)).status)
    return all
  }
  const apply = (spec: Readonly<Record<string, unknown>>): Promise<void> =>
    mesh.apply('setting.yaml', upstreamTrafficSetting('shop/store', spec))

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })],
      'workloads.yaml': [...clientAndStore, ...echo],
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('limit the requests of a host on the called side', async () => {
    await apply({
      host,
      rateLimit: {
        local: { http: { ...hourly(1), burst: 1, responseHeadersToAdd: [{ name: 'x-limit', value: '100%' }] } },
      },
    })
    expect(await statuses('/any', 4)).toEqual([200, 200, 429, 429])
  })

  it('limit the requests of a route apart from those of the host', async () => {
    await apply({
      host: 'store.shop',
      rateLimit: { local: { http: hourly(2) } },
      httpRoutes: [{ path: '/buy/.*', rateLimit: { local: { ...hourly(1), responseStatusCode: 503 } } }],
    })
    expect(await statuses('/buy/1', 3)).toEqual([200, 503, 503])
    expect(await statuses('/any', 3)).toEqual([200, 200, 429])
  })

  it('limit connections on the called side', async () => {
    const ask = async (): Promise<string> => {
      const connection = openTcp(mesh.tcpAddress('shop/client', 'echo_shop_9000'))
      try {
        return await connection.ask('hello', 10_000)
      } finally {
        connection.socket.destroy()
      }
    }
    expect(await ask()).toContain('hello')
    await mesh.apply(
      'echo.yaml',
      upstreamTrafficSetting('shop/echo', {
        host: 'echo.shop.svc.cluster.local',
        rateLimit: { local: { tcp: { connections: 1, unit: 'hour', burst: 1 } } },
      }),
    )
    expect(await ask()).toContain('hello')
    expect(await ask()).toContain('hello')
    expect(await ask()).toBe('closed')
    await mesh.apply('echo.yaml')
    expect(await ask()).toContain('hello')
  })

  describe('and a service that counts', () => {
    let limits: RateLimitService

    beforeAll(async () => {
      limits = await startRateLimitService((descriptor) => /route=buy|user=thief|who=100%/.test(descriptor))
    })
    afterAll(() => {
      limits.stop()
    })
    const service = (more: Readonly<Record<string, unknown>> = {}) => ({
      rateLimitService: { host: '127.0.0.1', port: limits.port },
      timeout: '5s',
      ...more,
    })
    const ask = (path: string, user: string): Promise<Answer> =>
      throughProxy(mesh.proxyOf('shop/client'), `${store}${path}`, { headers: { 'X-User': user } })

    it('ask it about requests, by descriptors of the host or of the route', async () => {
      await apply({
        host,
        rateLimit: {
          global: {
            http: service({
              domain: 'requests',
              responseStatusCode: 503,
              descriptors: [
                { entries: [{ genericKey: { value: '100%' } }, { requestHeader: { name: 'X-User', key: 'user' } }] },
              ],
            }),
          },
        },
        httpRoutes: [
          {
            path: '/buy',
            rateLimit: { global: { descriptors: [{ entries: [{ genericKey: { key: 'route', value: 'buy' } }] }] } },
          },
        ],
      })
      // Connections from before the limit are drained first.
      await eventually(
        () => ask('/read', 'thief'),
        ({ status }) => status === 503,
        { what: 'a refusal' },
      )
      expect((await ask('/read', 'client')).status).toBe(200)
      expect((await ask('/buy', 'client')).status).toBe(503)
      expect(new Set(limits.seen)).toEqual(
        new Set([
          'requests generic_key=100%,user=client',
          'requests generic_key=100%,user=thief',
          'requests route=buy',
        ]),
      )
    })

    it('let requests pass, or refuse them, while it cannot be asked', async () => {
      const nobody = (failOpen: boolean) => ({
        host,
        rateLimit: {
          global: {
            http: {
              // No one listens there.
              rateLimitService: { host: '127.0.0.1', port: 1 },
              domain: 'requests',
              failOpen,
              descriptors: [{ entries: [{ remoteAddress: {} }] }],
            },
          },
        },
      })
      await apply(nobody(true))
      expect(await statuses('/any', 2)).toEqual([200, 200])
      await apply(nobody(false))
      await eventually(
        () => get('/any'),
        ({ status }) => status === 500,
        { what: 'a refusal' },
      )
    })

    it('ask it about connections', async () => {
      await mesh.apply(
        'echo.yaml',
        upstreamTrafficSetting('shop/echo', {
          host: 'echo.shop.svc',
          rateLimit: {
            global: { tcp: service({ domain: 'tcp', descriptors: [{ entries: [{ key: 'who', value: '100%' }] }] }) },
          },
        }),
      )
      const connection = openTcp(mesh.tcpAddress('shop/client', 'echo_shop_9000'))
      expect(await connection.ask('hello', 10_000)).toBe('closed')
      connection.socket.destroy()
      expect(limits.seen).toContain('tcp who=100%')
      await mesh.apply('echo.yaml')
    })
  })

  it('bound connections and requests on the calling side', async () => {
    const together = async (): Promise<readonly number[]> =>
      (await Promise.all(Array.from({ length: 20 }, () => get('/slow?delay=400')))).map(({ status }) => status)
    await apply({ host, connectionSettings: { tcp: { maxConnections: 1 }, http: { maxPendingRequests: 1 } } })
    const bounded = await together()
    expect(new Set(bounded)).toEqual(new Set([200, 503]))
    await apply({ host, connectionSettings: { http: { maxRequests: 0 } } })
    expect(new Set(await together())).toEqual(new Set([503]))
    await mesh.apply('setting.yaml')
    expect(new Set(await together())).toEqual(new Set([200]))
  })

  it('count for one host once: the first by name holds, and the other is told', async () => {
    await mesh.apply(
      'setting.yaml',
      upstreamTrafficSetting('shop/a', { host, rateLimit: { local: { http: hourly(1) } } }),
      upstreamTrafficSetting('shop/b', { host: 'store.shop', rateLimit: { local: { http: hourly(3) } } }),
    )
    expect(await statuses('/any', 3)).toEqual([200, 429, 429])
    const [problem] = await eventually(
      async () => (await mesh.problems()).filter(({ object }) => object?.kind === 'UpstreamTrafficSetting'),
      (found) => found.length > 0,
      { what: 'a problem' },
    )
    expect(problem).toMatchObject({ code: 'OSM_SPEC_CONFLICT', object: { name: 'b' }, field: 'spec.host' })
  })
})
