import { connect, type Socket } from 'node:net'

import { afterEach, describe, expect, it } from '@jest/globals'

import { limits } from './limits.js'
import { ProxyConnections, type ProxyConnectionsOptions } from './proxy-connections.js'

const quiet = {
  metrics: { counter: () => ({ inc: () => undefined }) },
  logger: { warn: () => undefined },
}
/** A whole TLS record. */
const hello = Buffer.from([0x16, 3, 1, 0, 1, 1])

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

type Options = Partial<ProxyConnectionsOptions> & { readonly turns?: number; readonly maxPerIdentity?: number }

async function listening({ turns = 2, maxPerIdentity = 4, ...options }: Options = {}) {
  const injected: Socket[] = []
  const { handshaking, authenticated } = limits.connections
  const connections = new ProxyConnections({
    ...(quiet as unknown as Pick<ProxyConnectionsOptions, 'metrics' | 'logger'>), // all that is used of both
    inject: (socket) => void injected.push(socket),
    limits: {
      ...limits.connections,
      handshaking: { ...handshaking, turns, turnsPerSource: turns, turnMs: 60_000 },
      authenticated: { ...authenticated, maxPerKey: maxPerIdentity },
    },
    maxArrivals: 10,
    arrivalTurnMs: 60_000,
    ...options,
  })
  const port = await connections.listen('127.0.0.1', 0)
  closers.push(() => connections.close())
  const dial = async () => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('error', () => undefined)
    closers.push(() => void socket.destroy())
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    socket.write(hello)
    return { closed, peer: `127.0.0.1:${socket.localPort ?? 0}`, socket: socket.resume() }
  }
  return { connections, dial, injected, port }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

describe('connections of proxies', () => {
  it('have their handshake when one before them has proven who it is', async () => {
    const { connections, dial, injected } = await listening({ turns: 1 })
    const first = await dial()
    await until(() => injected.length === 1)
    await dial()
    await until(() => connections.size === 2)
    expect(injected).toHaveLength(1)
    connections.establish(first.peer, 'a')
    connections.establish(first.peer, 'a')
    await until(() => injected.length === 2)
  })

  it('are bounded while they wait for their first configuration, each for some time', async () => {
    const { connections, dial, injected } = await listening({ maxArrivals: 2 })
    const first = await dial()
    await until(() => injected.length === 1)
    const second = await dial()
    await until(() => injected.length === 2)
    const third = await dial()
    await until(() => connections.size === 3)
    connections.arrived(first.peer)
    expect(injected).toHaveLength(2)
    connections.establish(first.peer, 'a')
    await new Promise((resolve) => setImmediate(resolve))
    expect(injected).toHaveLength(2)
    connections.arrived(first.peer)
    connections.arrived(first.peer)
    await until(() => injected.length === 3)
    await dial()
    await until(() => connections.size === 4)
    connections.establish(second.peer, 'b')
    connections.establish(third.peer, 'c')
    await new Promise((resolve) => setImmediate(resolve))
    expect(injected).toHaveLength(3)
    connections.cut(third.peer)
    await until(() => injected.length === 4)
  })

  it('keep no one waiting for a first configuration that takes long', async () => {
    const { connections, dial, injected } = await listening({ maxArrivals: 1, arrivalTurnMs: 20 })
    const slow = await dial()
    await until(() => injected.length === 1)
    connections.establish(slow.peer, 'a')
    await dial()
    await until(() => injected.length === 2)
    expect(slow.socket.destroyed).toBe(false)
  })

  it('are bounded for each proxy: the oldest gives way', async () => {
    const { connections, dial, injected } = await listening({ turns: 4, maxPerIdentity: 2 })
    const dialled = [await dial(), await dial(), await dial(), await dial()] as const
    await until(() => injected.length === 4)
    const [one, two, three, other] = dialled
    connections.establish(one.peer, 'a')
    connections.establish(other.peer, 'b')
    connections.establish(two.peer, 'a')
    connections.establish(three.peer, 'a')
    await one.closed
    expect(connections.size).toBe(3)
    expect(other.socket.destroyed).toBe(false)
  })

  it('are cut off one by one', async () => {
    const { connections, dial, injected } = await listening()
    const [one] = [await dial(), await dial()]
    await until(() => injected.length === 2)
    connections.cut(one.peer)
    connections.cut('nobody:1')
    await one.closed
    await until(() => connections.size === 1)
  })

  it('let what is on its way leave before they are closed, and start nothing more', async () => {
    const { connections, dial, injected } = await listening()
    const one = await dial()
    await until(() => injected.length === 1)
    expect(connections.isCondemned(one.peer)).toBe(false)
    connections.condemn(one.peer, 20)
    connections.condemn(one.peer, 20)
    expect(connections.isCondemned(one.peer)).toBe(true)
    await one.closed
    await until(() => connections.size === 0)
    expect(connections.isCondemned(one.peer)).toBe(true)
  })

  it('are all closed when the server closes', async () => {
    const { connections, dial, injected, port } = await listening()
    const { closed } = await dial()
    await until(() => injected.length === 1)
    await connections.close()
    await closed
    expect(connections.listening).toBe(false)
    await expect(
      new Promise((resolve, reject) =>
        connect({ host: '127.0.0.1', port }).once('connect', resolve).once('error', reject),
      ),
    ).rejects.toThrow(/ECONNREFUSED/)
  })
})
