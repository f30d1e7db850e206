import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterEach, describe, expect, it } from '@jest/globals'

import { prometheusTraffic } from './prometheus-traffic.js'

const { signal } = new AbortController()
const proxies = ['buyer-1', 'buyer-2'].map((name) => ({ name: `shop/${name}`, identity: 'buyer.shop' }))
const of = (pod: string, labels: object, value: string) => ({
  metric: { source_namespace: 'shop', source_pod_name: pod, upstream: 'shop/store|80', ...labels },
  value: [1, value],
})

describe('traffic by a Prometheus', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.close()
  })

  /** A server that answers queries for durations and for requests. */
  async function serve(answer: (expression: string) => readonly object[], base = ''): Promise<URL> {
    const made = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://none')
      if (pathname !== `${base}/api/v1/query`) response.writeHead(404).end('nothing here')
      else {
        const result = answer(searchParams.get('query') ?? '')
        response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }))
      }
    })
    server = made
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
    return new URL(`http://127.0.0.1:${(made.address() as AddressInfo).port}${base}`)
  }

  it('is that of all pods of a workload, of this mesh alone', async () => {
    const url = await serve(
      (expression) =>
        expression.includes('duration')
          ? [of('buyer-1', { le: '5' }, '1'), of('buyer-2', { le: '10' }, '1'), of('buyer-1', { le: '10' }, '1')]
          : [
              of('buyer-1', { response_class: '2' }, '3'),
              of('buyer-2', { response_class: '5' }, '1'),
              of('stranger', { response_class: '2' }, '100'),
              of('buyer-2', { response_class: '4' }, 'NaN'),
            ],
      '/prometheus',
    )
    const read = await prometheusTraffic(url, signal)
    expect(await read(proxies)).toEqual([
      { from: 'workload shop/buyer', to: 'service shop/store', perSecond: 4, success: 0.75, p99Ms: 9.9 },
    ])
  })

  it('is refused from what is not a Prometheus, and from what does not answer', async () => {
    const url = await serve(() => [])
    await expect(prometheusTraffic(new URL('/elsewhere', url), signal)).rejects.toMatchObject({
      code: 'OSM_CLI_UNREACHABLE',
      message: expect.stringContaining('status 404') as unknown,
    })
    server?.close()
    await expect(prometheusTraffic(url, signal)).rejects.toMatchObject({ code: 'OSM_CLI_UNREACHABLE' })
  })
})
