import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { Connections } from './connections.js'

/** A server that says a line after a while. */
const LINE_AFTER_MS = 200

describe('Connections', () => {
  const connections = new Connections()
  let server: Server
  let port: number

  beforeEach(async () => {
    server = createServer((socket) => {
      const timer = setTimeout(() => socket.write('hello\n'), LINE_AFTER_MS)
      socket.once('close', () => clearTimeout(timer))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    port = (server.address() as AddressInfo).port // a TCP server that listens has one
  })

  afterEach(async () => {
    connections.close()
    await once(server.close(), 'close')
  })

  it('wait for a line as long as the call says', async () => {
    const target = { host: '127.0.0.1', port }
    expect(await connections.perform({ kind: 'tcp', target: { ...target, timeoutMs: 50 } })).toEqual({
      status: 0,
      closed: false,
    })
    expect(await connections.perform({ kind: 'tcp', target: { ...target, timeoutMs: 120_000 } })).toEqual({
      status: 0,
      received: 'hello',
      closed: false,
    })
  })
})
