import { createServer, type AddressInfo } from 'node:net'

import { describe, expect, it } from '@jest/globals'

import { serveHealth } from './health-endpoint.js'

describe('the health endpoint', () => {
  it('is healthy as long as the server takes connections', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const closed: string[] = []
    const subject = {
      listening: true,
      port: (server.address() as AddressInfo).port,
      close: async () => void closed.push('server'),
    }
    const stop = new AbortController()
    const { probes, stopped } = await serveHealth('server', '0.0.0.0', subject, stop.signal)
    const probe = probes.readiness
    expect(probe).toMatchObject({ http: true, tcpSocket: false })
    const ask = async (path = probe?.path ?? '') => (await fetch(`http://127.0.0.1:${probe?.port ?? 0}${path}`)).status
    expect(await ask()).toBe(200)
    expect(await ask('/other')).toBe(404)
    subject.listening = false
    expect(await ask()).toBe(503)
    subject.listening = true
    await new Promise((resolve) => server.close(resolve))
    expect(await ask()).toBe(503)
    expect(closed).toEqual([])
    stop.abort()
    await stopped
    expect(closed).toEqual(['server'])
    await expect(ask()).rejects.toThrow()
  })
})
