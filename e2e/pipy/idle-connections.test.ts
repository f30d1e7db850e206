import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'

import { through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

/** After which gunicorn closes an idle connection; Node does after 5 s. */
const GUNICORN_CLOSES_AFTER_MS = 2_000
const AT_ONCE = 5

it('asks a workload over no connection that it may be about to close', async () => {
  const shop = await Shop.open()
  const used = new Set<Socket>()
  const requests: { readonly isReused: boolean; readonly answer: () => void }[] = []
  const workload = createServer((request, response) => {
    requests.push({ isReused: used.has(request.socket), answer: () => response.end('served') })
    used.add(request.socket)
    // The first of them come at once, so that each has a connection.
    if (requests.length >= AT_ONCE) for (const { answer } of requests) answer()
  }).listen(0, '127.0.0.1')
  // Long enough that it never gets in between.
  workload.keepAliveTimeout = 60_000
  await once(workload, 'listening')
  const local = `127.0.0.1:${(workload.address() as AddressInfo).port}`
  try {
    const { served = [], ...config } = serverConfig(shop)
    await shop.apply(clientConfig(shop), {
      ...config,
      served: served.map((port) => (port.protocol === 'http' ? { ...port, local } : port)),
    })
    const ask = async (): Promise<number> => (await through(shop.at.proxy, 'http://server.demo:8080/books/1')).status
    await expect(Promise.all(Array.from({ length: AT_ONCE }, ask))).resolves.toEqual(
      Array.from({ length: AT_ONCE }, () => 200),
    )
    await expect(ask()).resolves.toBe(200)
    // Pipy looks once a second, and on a busy machine a little later.
    await sleep(GUNICORN_CLOSES_AFTER_MS + 500)
    await expect(ask()).resolves.toBe(200)
    expect(requests.map(({ isReused }) => isReused)).toEqual([
      ...Array.from({ length: AT_ONCE }, () => false),
      true,
      false,
    ])
  } finally {
    await shop.stop()
    workload.closeAllConnections()
    workload.close()
  }
})

describe('a workload that closes a connection as the next request comes over it', () => {
  let shop: Shop
  let workload: Server
  /** Requests in the order in which they came, each with its number on its connection. */
  let seen: string[]
  let answersOnNewConnections = true

  beforeAll(async () => {
    shop = await Shop.open()
    workload = createTcpServer((socket) => {
      let count = 0
      socket.on('error', () => undefined)
      socket.on('data', (data) => {
        count += 1
        seen.push(`${data.toString().split(' ')[0]} ${count}`)
        if (count > 1 || !answersOnNewConnections) socket.end()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    }).listen(0, '127.0.0.1')
    await once(workload, 'listening')
    const local = `127.0.0.1:${(workload.address() as AddressInfo).port}`
    const { served = [], ...config } = serverConfig(shop)
    await shop.apply(clientConfig(shop), {
      ...config,
      served: served.map((port) =>
        port.protocol === 'http'
          ? { ...port, local, rules: { kind: 'http', allow: [{ match: {}, callers: 'client' }], limits: [] } }
          : port,
      ),
    })
  })
  beforeEach(() => {
    seen = []
    answersOnNewConnections = true
  })
  afterAll(async () => {
    await shop.stop()
    workload.close()
  })

  const ask = async (method: string): Promise<number> =>
    (await through(shop.at.proxy, 'http://server.demo:8080/books/1', { method })).status
  /** A connection that has been used once. */
  const leaveOneIdle = async (): Promise<void> => {
    await ask('GET')
    seen = []
  }

  it.each(['GET', 'HEAD', 'OPTIONS'])('gets a %s once more, over a new connection', async (method) => {
    await leaveOneIdle()
    await expect(ask(method)).resolves.toBe(200)
    expect(seen).toEqual([`${method} 2`, `${method} 1`])
  })

  it.each(['POST', 'PUT', 'DELETE'])('gets no %s twice: it may have been done', async (method) => {
    await leaveOneIdle()
    await expect(ask(method)).resolves.toBe(503)
    expect(seen).toEqual([`${method} 2`])
  })

  it('gets a request no third time', async () => {
    answersOnNewConnections = false
    await expect(ask('GET')).resolves.toBe(503)
    expect(seen).toEqual(['GET 1', 'GET 1'])
  })

  it('loses none of 300 requests', async () => {
    for (let i = 0; i < 300; i += 1) await expect(ask('GET')).resolves.toBe(200)
  })
})
