import { readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

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
    await shop.apply(clientConfig(shop), {
      served: served.map((port) => (port.protocol === 'http' ? { ...port, rules } : port)),
    })
  })
  afterAll(async () => {
    agent.destroy()
    await shop.stop()
  })

  const call = async (method: string): Promise<number> => {
    const [host, port] = shop.at.proxy.split(':')
    const outgoing = request({ host, port, agent, method, path: 'http://server.demo:8080/books/1' })
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
  const callOften = async (method: string, times: number): Promise<ReadonlySet<number>> => {
    const statuses = new Set<number>()
    let left = times
    const caller = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        statuses.add(await call(method))
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    return statuses
  }

  it.each([
    ['calls', 'GET', 3_000, 17_000],
    ['calls with a connection each', 'POST', 300, 1_700],
  ])(
    'does not grow with %s',
    async (_, method, first, more) => {
      const pids = [shop.workers.client.pipyPid(), shop.workers.server.pipyPid()]
      expect([...(await callOften(method, first))]).toEqual([200])
      const before = pids.map(rssMiB)
      expect([...(await callOften(method, more))]).toEqual([200])
      const growth = pids.map((pid, i) => rssMiB(pid) / (before[i] ?? 0))
      for (const factor of growth) expect(factor).toBeLessThan(1.2)
    },
    280_000,
  )
})
