import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

import { describe, expect, it } from '@jest/globals'

import { parseTcpTable, untilListening } from './listening.js'

describe('untilListening', () => {
  it('waits for a listener to come, and not for connections', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    await new Promise((resolve) => probe.close(resolve))
    const waiting = untilListening({ pid: process.pid, ports: [port], withinMs: 30_000 }, new AbortController().signal)
    const server = createServer().listen(port, '127.0.0.1')
    let connections = 0
    server.on('connection', () => (connections += 1))
    await waiting
    expect(connections).toBe(0)
    await new Promise((resolve) => server.close(resolve))
  })

  it('takes no listener of another network namespace for one of the process', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const limit = new AbortController()
    let isListening = false
    // The file of a namespace that this process is not in: that of another kind.
    const expected = { pid: process.pid, ports: [port], withinMs: 60_000, networkNamespace: '/proc/self/ns/uts' }
    const waiting = untilListening(expected, limit.signal).then(() => (isListening = !limit.signal.aborted))
    await pause(100)
    limit.abort(new Error('long enough'))
    await waiting
    expect(isListening).toBe(false)
    await untilListening({ ...expected, networkNamespace: '/proc/self/ns/net' }, new AbortController().signal)
    await new Promise((resolve) => server.close(resolve))
  })

  it('gives up after its time, and with the signal', async () => {
    await untilListening({ pid: process.pid, ports: [1], withinMs: 30 }, new AbortController().signal)
    await untilListening({ pid: process.pid, ports: [1], withinMs: 60_000 }, AbortSignal.timeout(30))
  })

  it('reads listening ports out of a table of the kernel', () => {
    const table = `  sl  local_address rem_address   st tx_queue
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000
   1: 0100007F:1F91 0100007F:C000 01 00000000:00000000
   2: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 0
`
    expect(parseTcpTable(table)).toEqual([8080, 22])
  })
})
