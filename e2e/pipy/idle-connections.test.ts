import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'

import { through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

/** After which Node closes an idle connection, by default. */
const NODE_CLOSES_AFTER_MS = 5_000
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
    await sleep(NODE_CLOSES_AFTER_MS - 100)
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
