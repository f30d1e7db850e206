import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { overHttp2 } from './support/http2-call.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { clientAndStore } from './support/store.js'
import { throughProxy, type Answer } from './support/traffic.js'
import {
  account,
  egress,
  meshConfig,
  retry,
  service,
  trafficSplit,
  upstreamTrafficSetting,
  workload,
} from './support/yaml.js'

type Breaker = Readonly<Record<string, unknown>>

/** What would end a string of Lua, or a header, and what Envoy expands in formats. */
const hostile = '"\'; os.exit(1) --]] ]==] \\" \\n\n\r\t\u0000\u0001\u007f %REQ(:PATH)% %s ${x} \u{1f512}'

/** Long enough that nothing ends while a test runs. */
const lasting: Breaker = { statTimeWindow: '1h', degradedTimeWindow: '1h' }
const degraded = { status: 409, body: 'Coming soon ...' }
const store = 'store.shop:8080'
const twin = 'twin.shop:8080'

describe('Statistical circuit breakers on real Envoys', () => {
  let mesh: TestMesh
  const proxy = (): string => mesh.proxyOf('shop/client')
  const get = (path: string, host = store, method = 'GET'): Promise<Answer> =>
    throughProxy(proxy(), `http://${host}${path}`, { method, timeoutMs: 60_000 })
  const statuses = async (paths: readonly string[], host?: string): Promise<readonly number[]> => {
    const all: number[] = []
    for (const path of paths) all.push((await get(path, host)).status)
    return all
  }
  const setting = (circuitBreaking: Breaker, name = 'store', host = `${name}.shop.svc.cluster.local`): string =>
    upstreamTrafficSetting(`shop/${name}`, { host, connectionSettings: { http: { circuitBreaking } } })
  const apply = (circuitBreaking: Breaker): Promise<void> => mesh.apply('setting.yaml', setting(circuitBreaking))

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [
        meshConfig({
          traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false },
          featureFlags: { enableRetryPolicy: true },
        }),
      ],
      'workloads.yaml': [
        ...clientAndStore,
        account('shop/twin'),
        workload('shop/twin', { program: programs.http, port: 8080 }),
        service('shop/twin', 'twin', 8080),
        account('shop/greeter'),
        workload('shop/greeter', { program: programs.grpc, port: 9000 }),
        service('shop/greeter', 'greeter', 9000, { protocol: 'grpc' }),
      ],
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  /** Without a breaker nothing counts, so that each test starts from zero. */
  afterEach(async () => {
    await mesh.apply('setting.yaml')
  })

  it('open after a number of errors, only for their service, and answer with the configured status and body', async () => {
    await apply({ ...lasting, errorAmountThreshold: 2 })
    expect(await mesh.problems()).toEqual([])
    expect(await statuses(['/a?status=404', '/a?status=503', '/a?status=500'])).toEqual([404, 503, 500])
    expect(await get('/a')).toEqual(degraded)
    expect(await get('/a', store, 'HEAD')).toEqual({ status: 409, body: '' })
    expect(await statuses(['/a'], twin)).toEqual([200])
  })

  it('open by a share of errors, among as many requests as the setting asks for', async () => {
    await apply({ ...lasting, minRequestAmount: 4, errorRatioThreshold: 0.5 })
    expect(await statuses(['/a?status=503', '/a?status=503', '/a', '/a'])).toEqual([503, 503, 200, 200])
    expect(await get('/a')).toEqual(degraded)
  })

  it('stay closed below a share of errors', async () => {
    await apply({ ...lasting, minRequestAmount: 2, errorRatioThreshold: 0.5 })
    expect(await statuses(['/a', '/a', '/a?status=503', '/a', '/a'])).toEqual([200, 200, 503, 200, 200])
    expect(await statuses(['/a?status=503', '/a?status=503', '/a?status=503'])).toEqual([503, 503, 503])
    expect(await get('/a')).toEqual(degraded)
  })

  it('open by slow answers, by number and by share', async () => {
    const slow = ['/a?delay=400', '/a?delay=400']
    await apply({ ...lasting, slowTimeThreshold: '1h', slowAmountThreshold: 1, slowRatioThreshold: 0.01 })
    expect(await statuses(slow)).toEqual([200, 200])
    await apply({ ...lasting, slowTimeThreshold: '200ms', slowAmountThreshold: 2 })
    expect(await statuses(slow)).toEqual([200, 200])
    expect(await get('/a')).toEqual(degraded)
    await mesh.apply('setting.yaml')
    await apply({ ...lasting, slowTimeThreshold: '200ms', slowRatioThreshold: 1, minRequestAmount: 2 })
    expect(await statuses(slow)).toEqual([200, 200])
    expect(await get('/a')).toEqual(degraded)
  })

  it('count requests that are not answered in time', async () => {
    await mesh.apply(
      'setting.yaml',
      setting({ ...lasting, errorAmountThreshold: 1 }),
      retry('shop/retry', {
        from: 'shop/client',
        to: 'shop/store',
        retryOn: '404',
        times: 1,
        perTryTimeout: '200ms',
      }),
    )
    expect(await statuses(['/a?delay=600000', '/a'])).toEqual([504, 409])
  })

  it('count refused connections, of hosts outside the mesh as well', async () => {
    await mesh.apply(
      'setting.yaml',
      setting({ ...lasting, errorAmountThreshold: 2 }, 'outside', 'api.example.com'),
      egress('shop/outside', {
        from: ['shop/client'],
        hosts: ['localhost'],
        // No one listens there.
        ports: ['1/http'],
        settings: 'outside',
      }),
    )
    expect(await statuses(['/a', '/a', '/a'], 'localhost:1')).toEqual([503, 503, 409])
  })

  it('close after their time, and start counting again', async () => {
    const settings = { statTimeWindow: '1h', errorAmountThreshold: 2 }
    await apply({ ...settings, degradedTimeWindow: '1h' })
    expect(await statuses(['/a?status=503', '/a?status=503', '/a'])).toEqual([503, 503, 409])
    // That much time has passed.
    await apply({ ...settings, degradedTimeWindow: '1ms' })
    expect(await statuses(['/a'])).toEqual([200])
    await apply({ ...settings, degradedTimeWindow: '1h' })
    expect(await statuses(['/a?status=503', '/a', '/a?status=503', '/a'])).toEqual([503, 200, 503, 409])
    await apply({ ...settings, degradedTimeWindow: '1s' })
    await eventually(
      () => get('/a'),
      ({ status }) => status === 200,
      { what: 'an answer of the service' },
    )
  })

  it('forget requests that are older than their window', async () => {
    await apply({ statTimeWindow: '1ms', degradedTimeWindow: '1h', errorAmountThreshold: 2 })
    const apart = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return (await get('/a?status=503')).status
    }
    expect([await apart(), await apart(), await apart()]).toEqual([503, 503, 503])
  })

  it('leave the other backends of a split alone', async () => {
    await mesh.apply(
      'setting.yaml',
      setting({ ...lasting, errorAmountThreshold: 1 }),
      service('shop/both', 'none', 8080),
      trafficSplit('shop/both', 'both', { store: 50, twin: 50 }),
    )
    expect(await statuses(['/a?status=503', '/a'])).toEqual([503, 409])
    const answers = await Promise.all(Array.from({ length: 60 }, () => get('/a', 'both.shop:8080')))
    const seen = answers.map(({ status, server }) => `${status} ${server ?? 'none'}`)
    expect(new Set(seen)).toEqual(new Set(['200 twin', '409 none']))
  })

  it('answer with the body of a user unchanged, and do not execute it', async () => {
    await apply({
      ...lasting,
      errorAmountThreshold: 1,
      degradedStatusCode: 418,
      degradedResponseContent: hostile,
    })
    expect(await statuses(['/a?status=503'])).toEqual([503])
    expect(await get('/a')).toEqual({ status: 418, body: hostile })
    const { status, body } = await overHttp2(proxy(), `http://${store}/a`, 'get')
    expect([status, body.toString()]).toEqual([418, hostile])
    expect(await statuses(['/a'], twin)).toEqual([200])
  })

  it('end an answer where its status ends it', async () => {
    await apply({
      ...lasting,
      errorAmountThreshold: 1,
      degradedStatusCode: 204,
      degradedResponseContent: 'HTTP/1.1 200',
    })
    expect(await statuses(['/a?status=503'])).toEqual([503])
    expect(await get('/a')).toEqual({ status: 204, body: '' })
  })

  it('count and answer calls of gRPC by their codes', async () => {
    const call = async (path: string, kind: 'grpc' | 'first-message' = 'grpc'): Promise<readonly unknown[]> => {
      const { status, code, message } = await overHttp2(proxy(), `http://greeter.shop:9000${path}`, kind)
      return [status, code, message === undefined ? undefined : decodeURIComponent(message)]
    }
    await mesh.apply(
      'setting.yaml',
      setting({ ...lasting, errorAmountThreshold: 2, degradedResponseContent: hostile }, 'greeter'),
    )
    expect(await call('/Echo/0')).toEqual([200, '0', undefined])
    expect(await call('/Hold/0', 'first-message')).toEqual([200, undefined, undefined])
    expect(await call('/Echo/5')).toEqual([200, '5', undefined])
    expect(await call('/Refuse/5')).toEqual([200, '5', undefined])
    expect(await call('/Refuse/13')).toEqual([200, '13', undefined])
    expect(await call('/Echo/14')).toEqual([200, '14', undefined])
    expect(await call('/Echo/0')).toEqual([200, '14', hostile])
  })
})
