import { request } from 'node:http'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { startTestMesh, type TestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { throughProxy, type Answer } from './support/traffic.js'

/** A metric with its labels. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

describe('metrics of requests on real Envoys', () => {
  let mesh: TestMesh

  async function scrape(workload: string, metric: string): Promise<readonly Sample[]> {
    const { uuid } = mesh.instance(workload)
    const { proxy } = JSON.parse(await mesh.debug(`/debug/policy?uuid=${uuid}`)) as ProxyPolicy
    const { address = '', port = 0 } = proxy.listen.metrics ?? {}
    const text = await (await fetch(`http://${address}:${port}/stats/prometheus`)).text()
    return [...text.matchAll(new RegExp(`^${metric}\\{(.*)\\} (\\d+)$`, 'gm'))].map(([, labels = '', value]) => ({
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', text = '']) => [name, text]),
      ),
      value: Number(value),
    }))
  }
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    throughProxy(mesh.proxyOf('shop/client'), `http://store-v1.shop:8080${path}`, { headers })

  beforeAll(async () => {
    mesh = await startTestMesh(shop({ featureFlags: { enableWASMStats: true } }))
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('are counted by the calling proxy, with the workloads of both sides', async () => {
    for (let n = 0; n < 3; n += 1) expect((await get('/books/1')).status).toBe(200)
    expect((await get('/admin')).status).toBe(403)
    const client = mesh.instance('shop/client')
    const server = mesh.instance('shop/store-v1')
    const labels = {
      source_namespace: 'shop',
      source_kind: 'Workload',
      source_name: 'client',
      source_pod: client.name,
      destination_namespace: 'shop',
      destination_kind: 'Workload',
      destination_name: 'store-v1',
      destination_pod: server.name,
    }
    const counted = await scrape('shop/client', 'envoy_osm_request_total')
    expect(counted).toHaveLength(2)
    expect(counted).toContainEqual({ labels: { ...labels, response_code: '200' }, value: 3 })
    expect(counted).toContainEqual({ labels: { ...labels, response_code: '403' }, value: 1 })
    expect(await scrape('shop/client', 'envoy_osm_request_duration_ms_count')).toEqual([{ labels, value: 4 }])
    expect(await scrape('shop/store-v1', 'envoy_osm_request_total')).toEqual([])
  })

  it('take no word of a workload to the application, nor from it', async () => {
    const url = 'http://store-v1.shop:8080/books/1'
    const proxy = new URL(mesh.proxyOf('shop/client'))
    const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      request(
        { host: proxy.hostname, port: proxy.port, path: url, headers: { host: 'store-v1.shop:8080' } },
        (answer) => {
          answer.resume()
          answer.on('end', () => {
            resolve(answer.headers)
          })
        },
      )
        .on('error', reject)
        .end()
    })
    expect(Object.keys(headers).filter((name) => name.startsWith('osm-stats'))).toEqual([])
    expect(JSON.stringify(await get('/books/1'))).not.toContain('osm-stats')
  })

  it('call a destination unknown that no workload answers for', async () => {
    const { status } = await throughProxy(mesh.proxyOf('shop/client'), 'http://nobody.shop:8080/')
    const counted = await scrape('shop/client', 'envoy_osm_request_total')
    expect(counted.filter(({ labels }) => labels.destination_name === 'unknown')).toEqual([
      { labels: expect.objectContaining({ source_name: 'client', response_code: String(status) }), value: 1 },
    ])
  })
})
