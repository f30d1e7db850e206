import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'

import { afterAll, beforeAll, expect, it } from '@jest/globals'

import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

const CONNECTIONS = 200
const REQUEST = 'all that I have to say'
const ANSWER = `heard: ${REQUEST}`

let shop: Shop
let workload: Server

beforeAll(async () => {
  shop = await Shop.open()
  // Answers once the caller has closed its half, as a server for `nc -N` does.
  workload = createServer({ allowHalfOpen: true }, (socket) => {
    let received = ''
    socket.on('error', () => undefined)
    socket.on('data', (data) => (received += data.toString()))
    socket.on('end', () => socket.end(`heard: ${received}`))
  }).listen(0, '127.0.0.1')
  await once(workload, 'listening')
  const local = `127.0.0.1:${(workload.address() as AddressInfo).port}`
  const { served = [], ...config } = serverConfig(shop)
  await shop.apply(clientConfig(shop), {
    ...config,
    served: served.map((port) => (port.protocol === 'tcp' ? { ...port, local } : port)),
  })
})
afterAll(async () => {
  await shop.stop()
  workload.close()
})

/** What comes back to a caller that closes its half right after its words. */
async function answerTo(address: string, request: string): Promise<string> {
  const [host, port] = address.split(':')
  const socket = connect({ host, port: Number(port), allowHalfOpen: true })
  let received = ''
  socket.on('data', (data) => (received += data.toString()))
  socket.end(request)
  await Promise.race([once(socket, 'end'), once(socket, 'close')])
  socket.destroy()
  return received
}

it('answers callers that close their half together with their first bytes', async () => {
  const counts = new Map<string, number>()
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const answer = await answerTo(shop.at.clientTcp, REQUEST)
    counts.set(answer, (counts.get(answer) ?? 0) + 1)
  }
  expect(Object.fromEntries(counts)).toEqual({ [ANSWER]: CONNECTIONS })
})

it('serves callers that close their half without a byte', async () => {
  await expect(answerTo(shop.at.clientTcp, '')).resolves.toBe('heard: ')
})
