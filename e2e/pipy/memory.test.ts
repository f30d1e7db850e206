import { readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

type Route = NonNullable<PipyConfig['called'][number]['routes']>[number]

const CALLERS = 16
const rules = { kind: 'http', allow: [{ match: {}, callers: 'client' }], limits: [] } as const

function rssMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

describe('memory of real sidecars', () => {
  let shop: Shop
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })

  beforeAll(async () => {
    shop = await Shop.open()
    const { served = [] } = serverConfig(shop)
    const client = clientConfig(shop)
    const [http, ...others] = client.called ?? []
    if (http === undefined) throw new Error('the client calls nothing')
    const copied: Route = {
      match: { path: { segments: '/copied' } },
      shares: [{ upstream: 'http', weight: 1, response: { add: [['x-served', 'http']] } }],
      rewrite: { path: { full: '/books/2' } },
      mirrors: [{ upstream: 'http', perMillion: 1_000_000 }],
    }
    const called = [{ ...http, routes: [copied, ...(http.routes ?? [])] }, ...others]
    await shop.apply(
      { ...client, called },
      {
        served: served.map((port) => (port.protocol === 'http' ? { ...port, rules } : port)),
      },
    )
  })
  afterAll(async () => {
    agent.destroy()
    await shop.stop()
  })

  const call = async (method: string, path: string): Promise<number> => {
    const [host, port] = shop.at.proxy.split(':')
    const outgoing = request({ host, port, agent, method, path: `http://server.demo:8080${path}` })
    outgoing.setHeader('host', 'server.demo:8080')
    // Without a length, so that it goes out in chunks.
    if (method === 'POST') outgoing.write('some')
    outgoing.end()
    const { statusCode = 0 } = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('error', reject)
      outgoing.on('response', (answer) => void text(answer).then(() => resolve(answer), reject))
    })
    return statusCode
  }
  const callOften = async (method: string, path: string, times: number): Promise<ReadonlySet<number>> => {
    const statuses = new Set<number>()
    let left = times
    const caller = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        statuses.add(await call(method, path))
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    return statuses
  }

  it.each([
    ['calls', 'GET', '/books/1', 3_000, 17_000],
    ['calls with a connection each', 'POST', '/books/1', 300, 1_700],
    ['calls that are changed and copied', 'GET', '/copied', 1_000, 4_000],
  ])(
    'does not grow with %s',
    async (_, method, path, first, more) => {
      const pids = [shop.workers.client.pipyPid(), shop.workers.server.pipyPid()]
      expect([...(await callOften(method, path, first))]).toEqual([200])
      const before = pids.map(rssMiB)
      expect([...(await callOften(method, path, more))]).toEqual([200])
      const growth = pids.map((pid, i) => rssMiB(pid) / (before[i] ?? 0))
      for (const factor of growth) expect(factor).toBeLessThan(1.2)
    },
    280_000,
  )
})
