import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { type SlowApp, slowApp } from './support/apps.js'
import { open, through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { containedProcesses, inContainer } from './support/contained.js'
import { Shop } from './support/shop.js'

/** As long as callers may take to learn that an endpoint goes. */
const ENDPOINTS_GO_MS = 3_000
const CALLERS = 8

describe.each([
  ['a container', inContainer, 0],
  // By force, and so without an exit code: no one waits for more than its end.
  ['a process', undefined, null],
])('a real sidecar in %s that is to end', (_where, enter, code) => {
  let shop: Shop
  let app: SlowApp

  beforeEach(async () => {
    shop = await Shop.open(enter)
    // As a process, it kills itself; in a container its shell does, and ends in order.
    if (enter === undefined) shop.workers.server.expectEnd()
    app = await slowApp()
    await shop.apply(clientConfig(shop), config())
  })
  afterEach(async () => {
    await shop.stop()
    await app.stop()
  })

  /** Serves what answers slowly. */
  function config(): ReturnType<typeof serverConfig> {
    const { served = [] } = serverConfig(shop)
    return { served: served.map((port) => (port.protocol === 'http' ? { ...port, local: app.address } : port)) }
  }

  const get = async (path: string): Promise<string> =>
    (await through(shop.at.proxy, `http://server.demo:8080/books${path}`)).body
  const tellToEnd = async (): Promise<void> => {
    if (enter !== undefined) process.kill(containedProcesses(shop.workers.server.pid).first, 'SIGTERM')
    else await fetch(`http://${shop.at.serverAdmin}/quitquitquit`, { method: 'POST' })
  }
  const isRunning = async (): Promise<boolean> =>
    (await Promise.race([shop.workers.server.ended, sleep(0, 'running')])) === 'running'

  it('serves all that is under way, and ends when nothing is', async () => {
    const held = get('/held')
    await shop.until(app.held, 1, 'a request that waits')
    const { socket, received } = open(shop.at.clientTcp)
    await shop.until(received, 'hello\n', 'the greeting')
    await tellToEnd()
    await sleep(ENDPOINTS_GO_MS)
    app.release()
    expect(await held).toBe('whole')
    socket.write('still there')
    await shop.until(received, 'hello\nstill there', 'the echo')
    expect(await isRunning()).toBe(true)
    socket.destroy()
    expect(await shop.workers.server.ended).toBe(code)
  })

  it('does not wait for a caller that has disconnected', async () => {
    const caller = open(shop.at.proxy)
    caller.socket.write('GET http://server.demo:8080/books/held HTTP/1.1\r\nhost: server.demo:8080\r\n\r\n')
    await shop.until(app.held, 1, 'a request that waits')
    caller.socket.resetAndDestroy()
    app.release()
    await tellToEnd()
    expect(await shop.workers.server.ended).toBe(code)
  })

  it('ends by itself when the policy says that its workload has', async () => {
    app.release()
    expect(await get('/1')).toBe('whole')
    await shop.give('server', { ...config(), ended: true })
    expect(await shop.workers.server.ended).toBe(code)
  })
})

describe('a real sidecar that is the first process of a container', () => {
  let shop: Shop

  beforeEach(async () => {
    shop = await Shop.open(inContainer)
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })
  afterEach(async () => {
    await shop.stop()
  })

  it('loses none of the requests that come until its endpoint is gone', async () => {
    let isOver = false
    const statuses: Record<string, number> = {}
    const call = async (): Promise<void> => {
      while (!isOver) {
        // A connection each, so that one that is not taken is seen.
        const status = await through(shop.at.proxy, 'http://server.demo:8080/books/1', {
          headers: { connection: 'close' },
        }).then(
          (answer) => `${answer.status}`,
          (error: unknown) => String(error),
        )
        statuses[status] = (statuses[status] ?? 0) + 1
      }
    }
    const callers = Promise.all(Array.from({ length: CALLERS }, call))
    await sleep(500)
    const before = statuses['200'] ?? 0
    process.kill(containedProcesses(shop.workers.server.pid).first, 'SIGTERM')
    await shop.until(() => shop.isReady(shop.at.serverAdmin), false, 'the end of its readiness')
    await sleep(ENDPOINTS_GO_MS)
    isOver = true
    await callers
    expect(Object.keys(statuses)).toEqual(['200'])
    expect(statuses['200']).toBeGreaterThan(before + 100)
    expect(await shop.workers.server.ended).toBe(0)
  })

  it('ends the container with its own exit code when it fails', async () => {
    shop.workers.server.expectEnd()
    process.kill(containedProcesses(shop.workers.server.pid).pipy, 'SIGSEGV')
    expect(await shop.workers.server.ended).toBe(139)
  })
})
