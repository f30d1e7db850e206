import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, it } from '@jest/globals'

import { through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

// Pipy ends connections of its own after 60 s of silence, unless it is told otherwise. It looks once a second.
const SILENCE_MS = 63_000

let shop: Shop
let workload: Server

beforeAll(async () => {
  shop = await Shop.open()
  workload = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      if (!data.toString().startsWith('GET ')) socket.write(`heard ${data.toString()}`)
      else setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'), SILENCE_MS)
    })
  }).listen(0, '127.0.0.1')
  await once(workload, 'listening')
  const local = `127.0.0.1:${(workload.address() as AddressInfo).port}`
  const { served = [], ...config } = serverConfig(shop)
  const idleMs = 300_000
  await shop.apply(
    { ...clientConfig(shop), idleMs },
    { ...config, idleMs, served: served.map((port) => ({ ...port, local })) },
  )
})
afterAll(async () => {
  await shop.stop()
  workload.close()
})

it('outlasts more than a minute of silence: of a TCP connection, and of a request without an answer', async () => {
  const poll = through(shop.at.proxy, 'http://server.demo:8080/books/1')
  const [host, port] = shop.at.clientTcp.split(':')
  const socket = connect({ host, port: Number(port) })
  const heard = async (): Promise<string> => {
    const [data] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as unknown[]
    return String(data)
  }
  socket.write('one')
  await expect(heard()).resolves.toBe('heard one')
  await sleep(SILENCE_MS)
  socket.write('two')
  await expect(heard()).resolves.toBe('heard two')
  socket.destroy()
  await expect(poll).resolves.toMatchObject({ status: 200 })
})
