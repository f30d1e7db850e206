import { connect, type Socket } from 'node:net'

import { afterEach, describe, expect, it } from '@jest/globals'

import { ConnectionGate, type ConnectionGateOptions } from './connection-gate.js'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function listening(options: Partial<ConnectionGateOptions> = {}) {
  const injected: Socket[] = []
  const gate = new ConnectionGate({
    inject: (socket) => void injected.push(socket),
    maxPending: 2,
    maxHandshakes: 2,
    handshakeTurnMs: 60_000,
    maxArrivals: 10,
    arrivalTurnMs: 60_000,
    establishTimeoutMs: 60_000,
    ...options,
  })
  const port = await gate.listen('127.0.0.1', 0)
  closers.push(() => gate.close())
  const dial = async () => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('error', () => undefined)
    closers.push(() => void socket.destroy())
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    return { closed, peer: `127.0.0.1:${socket.localPort ?? 0}`, socket: socket.resume() }
  }
  return { gate, dial, injected, port }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

describe('the connection gate', () => {
  it('closes what comes while too many have not shown who they are', async () => {
    const { gate, dial, injected } = await listening()
    const first = await dial()
    await dial()
    await until(() => injected.length === 2)
    await (
      await dial()
    ).closed
    gate.establish(first.peer)
    await dial()
    await until(() => injected.length === 3)
    expect(gate.size).toBe(3)
  })

  it('lets a few shake hands at a time, the others in the order in which they came', async () => {
    const { gate, dial, injected } = await listening({ maxPending: 10, maxHandshakes: 2 })
    const dialled = [await dial(), await dial(), await dial(), await dial(), await dial()] as const
    await until(() => gate.size === 5)
    const peers = () => injected.map(({ remotePort }) => `127.0.0.1:${remotePort ?? 0}`)
    expect(peers()).toEqual([dialled[0].peer, dialled[1].peer])
    // Who leaves while waiting has no turn.
    dialled[2].socket.destroy()
    await until(() => gate.size === 4)
    gate.establish(dialled[1].peer)
    gate.establish(dialled[1].peer)
    expect(peers()).toEqual([dialled[0].peer, dialled[1].peer, dialled[3].peer])
    gate.cut(dialled[0].peer)
    await until(() => injected.length === 4)
    expect(peers().at(-1)).toBe(dialled[4].peer)
  })

  it('does not keep others waiting for a slow handshake, which may still come to its end', async () => {
    const { gate, dial, injected } = await listening({ maxPending: 10, maxHandshakes: 1, handshakeTurnMs: 20 })
    const slow = await dial()
    await dial()
    await until(() => injected.length === 2)
    gate.establish(slow.peer)
    await dial()
    await until(() => injected.length === 3)
    expect(slow.socket.destroyed).toBe(false)
    expect(gate.size).toBe(3)
  })

  it('bounds those that wait for their first configuration, each for some time', async () => {
    const { gate, dial, injected } = await listening({ maxPending: 10, maxArrivals: 2 })
    const [first, second, third] = [await dial(), await dial(), await dial()]
    await until(() => gate.size === 3)
    gate.arrived(first.peer)
    expect(injected).toHaveLength(2)
    gate.establish(first.peer)
    expect(injected).toHaveLength(2)
    gate.arrived(first.peer)
    gate.arrived(first.peer)
    expect(injected).toHaveLength(3)
    await dial()
    await until(() => gate.size === 4)
    gate.establish(second.peer)
    gate.establish(third.peer)
    expect(injected).toHaveLength(3)
    gate.cut(third.peer)
    await until(() => injected.length === 4)
  })

  it('does not keep others waiting for a first configuration that takes long', async () => {
    const { gate, dial, injected } = await listening({ maxArrivals: 1, arrivalTurnMs: 20 })
    const slow = await dial()
    await until(() => injected.length === 1)
    gate.establish(slow.peer)
    await dial()
    await until(() => injected.length === 2)
    expect(slow.socket.destroyed).toBe(false)
  })

  it('closes a connection that does not show in time who it is, and no other', async () => {
    const { gate, dial, injected } = await listening({ establishTimeoutMs: 50 })
    const known = await dial()
    await until(() => injected.length === 1)
    gate.establish(known.peer)
    await (
      await dial()
    ).closed
    await until(() => gate.size === 1)
    expect(known.socket.destroyed).toBe(false)
  })

  it('cuts off one connection', async () => {
    const { gate, dial, injected } = await listening()
    const [one] = [await dial(), await dial()]
    await until(() => injected.length === 2)
    gate.cut(one.peer)
    gate.cut('nobody:1')
    await one.closed
    await until(() => gate.size === 1)
  })

  it('lets what is on its way leave a connection that it is about to close, and starts nothing more on it', async () => {
    const { gate, dial, injected } = await listening()
    const one = await dial()
    await until(() => injected.length === 1)
    expect(gate.isCondemned(one.peer)).toBe(false)
    gate.condemn(one.peer, 20)
    gate.condemn(one.peer, 20)
    expect(gate.isCondemned(one.peer)).toBe(true)
    await one.closed
    await until(() => gate.size === 0)
    expect(gate.isCondemned(one.peer)).toBe(true)
  })

  it('closes everything when it closes', async () => {
    const { gate, dial, injected, port } = await listening()
    const { closed } = await dial()
    await until(() => injected.length === 1)
    await gate.close()
    await closed
    expect(gate.listening).toBe(false)
    await expect(
      new Promise((resolve, reject) =>
        connect({ host: '127.0.0.1', port }).once('connect', resolve).once('error', reject),
      ),
    ).rejects.toThrow(/ECONNREFUSED/)
  })
})
