import { getEventListeners } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import type { HealthProbe } from '../health.js'
import { askProbe } from './ask-probe.js'

describe('askProbe', () => {
  let server: Server
  let answer: (response: ServerResponse) => void
  let end: AbortController
  const port = (): number => (server.address() as AddressInfo).port
  const ask = (changes: Partial<HealthProbe> = {}): Promise<boolean> =>
    askProbe({ port: port(), path: '/ready', http: true, timeoutMs: 10_000, tcpSocket: false, ...changes }, end.signal)
  const listeners = (): number => getEventListeners(end.signal, 'abort').length

  beforeEach(async () => {
    end = new AbortController()
    answer = (response) => response.end()
    server = createServer((_request, response) => answer(response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })

  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it.each([
    [200, true],
    [302, true],
    [400, false],
    [503, false],
  ])('takes status %i for health: %s', async (status, healthy) => {
    answer = (response) => response.writeHead(status).end()
    await expect(ask()).resolves.toBe(healthy)
  })

  it('takes a connection for health where no more is asked', async () => {
    await expect(ask({ tcpSocket: true })).resolves.toBe(true)
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const closed = (other.address() as AddressInfo).port
    await new Promise((resolve) => other.close(resolve))
    await expect(ask({ tcpSocket: true, port: closed })).resolves.toBe(false)
  })

  it('takes no probe for health', async () => {
    await expect(askProbe(undefined, end.signal)).resolves.toBe(true)
  })

  it('is not healthy when the answer takes too long', async () => {
    answer = () => undefined
    await expect(ask({ timeoutMs: 20 })).resolves.toBe(false)
  })

  it('ends with its signal', async () => {
    answer = () => end.abort(new Error('ended'))
    await expect(ask()).resolves.toBe(false)
  })

  // A signal here lives as long as the program, and probes are asked every few seconds.
  it('listens to its signal while it asks, and leaves nothing there', async () => {
    let meanwhile = 0
    answer = (response) => {
      meanwhile = listeners()
      response.end()
    }
    await expect(ask()).resolves.toBe(true)
    expect(meanwhile).toBe(1)
    expect(listeners()).toBe(0)
    answer = () => undefined
    await expect(ask({ timeoutMs: 20 })).resolves.toBe(false)
    expect(listeners()).toBe(0)
  })
})
