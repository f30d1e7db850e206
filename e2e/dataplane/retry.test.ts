import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { startTestMesh, type TestMesh } from './support/mesh.js'
import { clientAndStore } from './support/store.js'
import { throughProxy } from './support/traffic.js'
import { meshConfig, retry } from './support/yaml.js'

const config = (enableRetryPolicy: boolean): string =>
  meshConfig({
    traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false },
    featureFlags: { enableRetryPolicy },
  })

describe('Retries on real Envoys', () => {
  let mesh: TestMesh

  /** How often the client's proxy has tried again towards the store, and has given up. */
  async function counters(): Promise<{ readonly retries: number; readonly exceeded: number }> {
    const { address = '', port = 0 } = mesh.instance('shop/client').admin ?? {}
    const text = await (await fetch(`http://${address}:${port}/stats?filter=upstream_rq_retry`)).text()
    const value = (name: string): number =>
      Number(new RegExp(`^cluster\\.shop/store\\|8080\\.${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    return { retries: value('upstream_rq_retry'), exceeded: value('upstream_rq_retry_limit_exceeded') }
  }

  async function triesFor(status: number): Promise<{ readonly retries: number; readonly exceeded: number }> {
    const before = await counters()
    const answer = await throughProxy(mesh.proxyOf('shop/client'), `http://store.shop:8080/?status=${status}`)
    expect(answer.status).toBe(status)
    const after = await counters()
    return { retries: after.retries - before.retries, exceeded: after.exceeded - before.exceeded }
  }

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [config(true)],
      'workloads.yaml': clientAndStore,
      'retry.yaml': [retry('shop/retry', { from: 'shop/client', to: 'shop/store', retryOn: '5xx', times: 5 })],
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('retry as often as the Retry allows, and then fail', async () => {
    expect(await triesFor(503)).toEqual({ retries: 5, exceeded: 1 })
    expect(await triesFor(404)).toEqual({ retries: 0, exceeded: 0 })
  })

  it('obey a Retry for all services, with single statuses', async () => {
    await mesh.apply('retry.yaml', retry('shop/all', { from: 'shop/client', to: '*/*', retryOn: '404', times: 2 }))
    expect(await triesFor(404)).toEqual({ retries: 2, exceeded: 1 })
    expect(await triesFor(503)).toEqual({ retries: 0, exceeded: 0 })
  })

  it('obey the Retry that names the service most closely', async () => {
    await mesh.apply(
      'retry.yaml',
      retry('shop/all', { from: 'shop/client', to: '*/*', retryOn: '5xx', times: 2 }),
      retry('shop/store', { from: 'shop/client', to: 'shop/*', retryOn: '5xx', times: 3 }),
    )
    expect(await triesFor(503)).toEqual({ retries: 3, exceeded: 1 })
  })

  it('do not try again while the flag is off', async () => {
    await mesh.apply('config.yaml', config(false))
    expect(await triesFor(503)).toEqual({ retries: 0, exceeded: 0 })
  })
})
