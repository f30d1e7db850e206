import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { type App, httpApp, type Seen } from './support/apps.js'
import { principalOf } from './support/base-config.js'
import { intrude, through } from './support/calls.js'
import { SERVICE } from './support/base-config.js'
import { clientConfig, meshUpstream, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

type Check = NonNullable<PipyConfig['upstreams'][string]['check']>

const HEADER = 'x-osm-envoy-healthcheck'
const PATH = '/healthz/osm'
const check: Check = {
  kind: 'http',
  path: PATH,
  header: HEADER,
  intervalMs: 300,
  timeoutMs: 200,
  unhealthyThreshold: 2,
  healthyThreshold: 1,
}

describe('active health checks of real sidecars', () => {
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
  })
  afterAll(async () => {
    await shop.stop()
  })

  const answering = () => ({ ...serverConfig(shop), healthCheck: { path: PATH, header: HEADER } })
  /** Has the client check an upstream. */
  const watch = (upstream: Partial<PipyConfig['upstreams'][string]>, name: 'http' | 'tcp' = 'http') => {
    const client = clientConfig(shop)
    const at = name === 'http' ? shop.at.servedHttp : shop.at.servedTcp
    return { ...client, upstreams: { ...client.upstreams, [name]: meshUpstream([at], { check, ...upstream }) } }
  }
  /** What the client counts for an upstream. */
  async function counted(name: string, upstream = 'http'): Promise<number> {
    const text = await (await fetch(`http://${shop.at.clientAdmin}/stats`)).text()
    return Number(new RegExp(String.raw`^cluster\.${upstream}\.${name}: (\d+)$`, 'm').exec(text)?.[1] ?? -1)
  }
  const settled = (name: string, expected: number, upstream?: string): Promise<void> =>
    shop.until(() => counted(name, upstream), expected, `${name} ${expected}`)
  const more = async (name: string, upstream?: string): Promise<void> => {
    const before = await counted(name, upstream)
    await shop.until(async () => (await counted(name, upstream)) > before + 1, true, `more of ${name}`)
  }

  it.each([false, true])(
    'find a sidecar that answers (HTTP/2: %s), whatever its callers may ask of the workload',
    async (http2) => {
      await shop.apply(watch({ http2 }), { ...answering(), callers: { client: { names: [] } } })
      const failed = await counted('health_check.failure')
      await more('health_check.success')
      expect(await counted('health_check.failure')).toBe(failed)
      await settled('membership_healthy', 1)
      const metrics = await (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
      expect(metrics).toMatch(/^sidecar_cluster_health_check_success\{sidecar_cluster_name="http"\} \d+$/m)
      expect((await through(shop.at.proxy, 'http://server.demo:8080/books/1')).status).toBe(403)
    },
  )

  it('leave out anyone who is somebody else, and take who is there', async () => {
    await shop.apply(watch({ tls: { serverName: SERVICE, principals: [principalOf('other')] } }), answering())
    await settled('membership_healthy', 0)
    await shop.give('client', watch({}))
    await settled('membership_healthy', 1)
    expect((await through(shop.at.proxy, 'http://server.demo:8080/books/1')).status).toBe(200)
  })

  it('know TCP by its handshake', async () => {
    await shop.apply(watch({ check: { ...check, kind: 'tcp' } }, 'tcp'), answering())
    await more('health_check.success', 'tcp')
    const tls = { serverName: SERVICE, principals: [principalOf('other')] }
    await shop.give('client', watch({ check: { ...check, kind: 'tcp' }, tls }, 'tcp'))
    await settled('membership_healthy', 0, 'tcp')
  })

  it('keep requests from an endpoint that takes connections and answers nothing, until it does', async () => {
    const apps: readonly App[] = await Promise.all(['a', 'b'].map(httpApp))
    try {
      const [a = '', b = ''] = apps.map(({ address }) => address)
      const direct: PipyConfig['upstreams'][string] = {
        http2: false,
        addresses: { kind: 'endpoints', priorities: [[a, b].map((address) => ({ address, weight: 1 }))] },
        connectTimeoutMs: 1_000,
        balancing: 'round-robin',
        // The app's status is what its query says.
        check: { ...check, path: '/?status=200' },
      }
      const give = (path: string) => {
        const client = clientConfig(shop)
        return shop.give('client', {
          ...client,
          upstreams: { ...client.upstreams, http: { ...direct, check: { ...check, path } } },
        })
      }
      const servers = async (): Promise<string> => {
        const seen = new Set<string>()
        for (let i = 0; i < 6; i += 1) {
          const { body, status } = await through(shop.at.proxy, 'http://server.demo:8080/')
          seen.add(status === 200 ? (JSON.parse(body) as Seen).server : `${status}`)
        }
        return [...seen].sort().join('')
      }
      await give('/?status=200')
      await settled('membership_healthy', 2)
      expect(await servers()).toBe('ab')
      await apps[1]?.stop()
      await settled('membership_healthy', 1)
      expect(await servers()).toBe('a')
      // When all fail, all are used: checks may be wrong.
      await give('/?status=500')
      await settled('membership_healthy', 0)
      expect(await servers()).toContain('a')
    } finally {
      await apps[0]?.stop()
    }
  })

  it('are answered for sidecars alone, and only with their header', async () => {
    await shop.apply(clientConfig(shop), answering())
    const credential = shop.issue('other')
    const as = { serverName: SERVICE, credential }
    const ask = (header: string) =>
      intrude(shop.at.servedHttp, as, `GET ${PATH} HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`)
    expect(await ask(`${HEADER}: 1`)).toBe('HTTP/1.1 200 OK')
    expect(await ask('x-other: 1')).toBe('HTTP/1.1 403 Forbidden')
    await shop.give('server', serverConfig(shop))
    expect(await ask(`${HEADER}: 1`)).toBe('HTTP/1.1 403 Forbidden')
  })
})
