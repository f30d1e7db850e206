import { connect, createServer, type Socket } from 'node:net'

import { afterEach, describe, expect, it } from '@jest/globals'

import { ConnectionGuard, type ConnectionGuardOptions, type GuardedConnection } from './connection-guard.js'
import { admissionLimits, type ServerConnectionLimits } from './connection-limits.js'
import { until } from '../async/eventually.js'

/** A whole TLS record. */
const hello = Buffer.from([0x16, 3, 1, 0, 1, 1])
const open = { max: 100, maxPerKey: 100 }
const limits: ServerConnectionLimits = { ...admissionLimits, anonymous: open, authenticated: open }

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Client {
  readonly socket: Socket
  readonly closed: Promise<void>
  readonly port: number
}

async function guarded(options: Partial<ConnectionGuardOptions> & { readonly limits: ServerConnectionLimits }) {
  const injected: Socket[] = []
  const counts = new Map<string, number>()
  const lines: unknown[] = []
  const accepted = new Map<number, GuardedConnection>()
  const guard = new ConnectionGuard({
    server: 'test',
    protocol: 'tls',
    inject: (socket) => void injected.push(socket),
    metrics: {
      counter: () => ({
        inc: ({ stage, limit }, by = 1) => {
          const key = `${stage ?? ''} ${limit ?? ''}`
          counts.set(key, (counts.get(key) ?? 0) + by)
        },
      }),
    },
    logger: { warn: (fields) => void lines.push(fields) },
    ...options,
  })
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const connection = guard.accept(socket)
    if (connection !== undefined) accepted.set(socket.remotePort ?? 0, connection)
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  closers.push(async () => {
    guard.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const dial = async (peer = '127.0.0.1', ...pieces: readonly Buffer[]): Promise<Client> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: peer })
    socket.on('error', () => undefined)
    closers.push(() => void socket.destroy())
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    const known = socket.localPort ?? 0
    for (const piece of pieces) socket.write(piece)
    await until(() => accepted.has(known))
    if (pieces.length > 0) await until(() => accepted.get(known)?.stage !== 'silent')
    return { socket: socket.resume(), closed, port: known }
  }
  const sources = (): string[] => injected.map(({ remoteAddress = '' }) => remoteAddress)
  return { guard, dial, injected, sources, counts, lines, accepted }
}

/** A connection that another server has accepted. */
async function acceptedSocket(): Promise<Socket> {
  const server = createServer()
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const client = connect({
    host: '127.0.0.1',
    port: typeof address === 'object' && address !== null ? address.port : 0,
  })
  client.on('error', () => undefined)
  const socket = await accepted
  closers.push(async () => {
    client.destroy()
    socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return socket
}

function oneTurn(changes: Partial<ServerConnectionLimits['handshaking']> = {}): ServerConnectionLimits {
  const handshaking = { ...limits.handshaking, turns: 1, turnsPerSource: 1, turnMs: 60_000, ...changes }
  return { ...limits, handshaking }
}

describe('the guard of a server', () => {
  it('gives silent connections no turn, and closes them after a short time', async () => {
    const silent = { ...limits.silent, timeoutMs: 40 }
    const { guard, dial, injected, counts } = await guarded({ limits: { ...oneTurn(), silent } })
    const idle = await Promise.all([dial(), dial(), dial()])
    idle[2].socket.write(hello.subarray(0, 4))
    await dial('127.0.0.2', hello)
    expect(injected).toHaveLength(1)
    await Promise.all(idle.map(({ closed }) => closed))
    guard.stop()
    expect(counts).toEqual(new Map([['silent timeout', 3]]))
  })

  it('hands on every byte that it has read', async () => {
    const { dial, injected } = await guarded({ limits })
    const { socket } = await dial()
    socket.setNoDelay(true)
    for (const piece of [hello.subarray(0, 2), hello.subarray(2, 5), hello.subarray(5)]) {
      socket.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => injected.length === 1)
    const chunk: unknown = injected[0]?.read()
    expect(chunk).toEqual(hello)
  })

  it('gives turns by source address, so that a few connections need not wait for many of another peer', async () => {
    // On a machine that is busy, the connections of this test take longer than the usual times.
    const waiting = { ...limits.waiting, timeoutMs: 120_000, newestFirstAfterMs: 120_000 }
    const { guard, dial, injected, sources, accepted } = await guarded({
      limits: { ...oneTurn({ timeoutMs: 120_000 }), waiting },
    })
    for (let count = 0; count < 6; count += 1) await dial('127.0.0.2', hello)
    await dial('127.0.0.3', hello)
    while (guard.sizeOf('handshaking') > 0 && injected.length < 7) {
      const connection = accepted.get(injected.at(-1)?.remotePort ?? 0)
      if (connection !== undefined) guard.open(connection, 'a-peer')
    }
    expect(
      sources()
        .map((source) => source.slice(-1))
        .join(''),
    ).toBe('2232222')
  })

  it('keeps turns for others, however many connections of one peer wait', async () => {
    const { dial, sources } = await guarded({ limits: oneTurn({ turns: 3, turnsPerSource: 2 }) })
    for (let count = 0; count < 5; count += 1) await dial('127.0.0.2', hello)
    expect(sources()).toHaveLength(2)
    await dial('127.0.0.3', hello)
    expect(sources()).toHaveLength(3)
  })

  it('starts long handshakes one after the other, so that other work runs between them', async () => {
    let [now, mayBegin] = [0, false]
    const { guard, dial, injected } = await guarded({ limits, now: () => (now += 2), mayBegin: () => mayBegin })
    for (let count = 0; count < 4; count += 1) await dial(`127.0.0.${2 + count}`, hello)
    mayBegin = true
    guard.continue()
    guard.continue()
    expect(injected).toHaveLength(1)
    await until(() => injected.length === 4)
  })

  it('accepts connections that come in before it begins the next handshake', async () => {
    let [now, mayBegin] = [0, false]
    const { guard, dial, injected } = await guarded({ limits, now: () => (now += 2), mayBegin: () => mayBegin })
    await dial('127.0.0.2', hello)
    await dial('127.0.0.3', hello)
    mayBegin = true
    guard.continue()
    guard.accept(await acceptedSocket())
    await new Promise((resolve) => setImmediate(resolve))
    expect(injected).toHaveLength(1)
    await until(() => injected.length === 2)
  })

  it('does not wait for a slow handshake, which may still come to its end', async () => {
    const { dial, injected, accepted } = await guarded({ limits: oneTurn({ turnMs: 20 }) })
    const slow = await dial('127.0.0.2', hello)
    await dial('127.0.0.2', hello)
    await until(() => injected.length === 2)
    expect(accepted.get(slow.port)?.stage).toBe('handshaking')
  })

  it('closes a handshake that is not done in time, and no open connection', async () => {
    const { guard, dial, accepted, counts } = await guarded({
      limits: oneTurn({ turns: 2, turnsPerSource: 2, timeoutMs: 40 }),
    })
    const done = await dial('127.0.0.2', hello)
    guard.open(accepted.get(done.port) ?? fail(), undefined)
    const late = await dial('127.0.0.2', hello)
    await late.closed
    guard.stop()
    expect(counts).toEqual(new Map([['handshaking timeout', 1]]))
    expect(guard.sizeOf('anonymous')).toBe(1)
  })

  it('closes the oldest of the peer that has most', async () => {
    const silent = { ...limits.silent, max: 4, maxPerKey: 3 }
    const { guard, dial, counts } = await guarded({ limits: { ...limits, silent } })
    const many = [await dial('127.0.0.2'), await dial('127.0.0.2'), await dial('127.0.0.2')] as const
    await dial('127.0.0.2')
    await many[0].closed
    await dial('127.0.0.3')
    await dial('127.0.0.4')
    await many[1].closed
    guard.stop()
    expect(counts).toEqual(
      new Map([
        ['silent per-peer', 1],
        ['silent in-all', 1],
      ]),
    )
    expect(many[2].socket.destroyed).toBe(false)
  })

  it('keeps places of identities apart from those of peers without one', async () => {
    const places = { anonymous: { max: 2, maxPerKey: 2 }, authenticated: { max: 10, maxPerKey: 1 } }
    const { guard, dial, accepted } = await guarded({ limits: { ...limits, ...places } })
    const connected = async (identity?: string): Promise<Client> => {
      const client = await dial('127.0.0.2', hello)
      guard.open(accepted.get(client.port) ?? fail(), identity)
      return client
    }
    const proxies = [await connected('a'), await connected('b'), await connected('c')]
    for (let count = 0; count < 5; count += 1) await connected()
    expect([guard.sizeOf('authenticated'), guard.sizeOf('anonymous')]).toEqual([3, 2])
    await connected('a')
    await proxies[0]?.closed
    expect(guard.sizeOf('authenticated')).toBe(3)
  })

  it('closes a peer that sends much, or in tiny pieces, before its turn', async () => {
    const { guard, dial, counts } = await guarded({ limits: oneTurn() })
    await dial('127.0.0.2', hello)
    const big = await dial('127.0.0.3', Buffer.concat([hello, Buffer.alloc(40_000)]))
    await big.closed
    const waiting = await dial('127.0.0.2', hello)
    waiting.socket.write(Buffer.alloc(40_000))
    await waiting.closed
    guard.stop()
    expect([...counts.keys()].sort()).toEqual(['silent size', 'waiting size'])
  })

  it('forgets a peer that disconnects before its turn, also one that closes its half only', async () => {
    const { guard, dial, injected } = await guarded({ limits: oneTurn() })
    const first = await dial('127.0.0.2', hello)
    const [gone, ended] = [await dial('127.0.0.2', hello), await dial('127.0.0.2', hello)]
    const silent = await dial('127.0.0.2')
    gone.socket.resetAndDestroy()
    ended.socket.end()
    silent.socket.end()
    await until(() => guard.size === 1)
    first.socket.resetAndDestroy()
    await until(() => guard.size === 0)
    expect(injected).toHaveLength(1)
  })

  it('opens plain connections with their first byte', async () => {
    const { guard, dial, injected } = await guarded({ limits, protocol: 'plain' })
    await dial('127.0.0.1')
    await dial('127.0.0.1', Buffer.from('G'))
    expect([injected.length, guard.sizeOf('silent'), guard.sizeOf('anonymous')]).toEqual([1, 1, 1])
  })

  it('closes plain connections that do not speak HTTP', async () => {
    const { guard, dial, injected, counts } = await guarded({ limits, protocol: 'plain' })
    const { closed } = await dial('127.0.0.1', hello)
    await closed
    guard.stop()
    expect(injected).toHaveLength(0)
    expect([...counts.keys()]).toEqual(['silent protocol'])
  })

  it('logs one line a minute, which adds up what was closed', async () => {
    let now = 0
    const silent = { ...limits.silent, max: 1 }
    const { guard, dial, lines } = await guarded({ limits: { ...limits, silent }, now: () => now })
    for (let count = 0; count < 4; count += 1) await dial('127.0.0.2')
    await until(() => lines.length === 1)
    const line = { code: 'OSM_CONNECTION_LIMIT', server: 'test', lastPeer: '127.0.0.2' }
    expect(lines).toEqual([{ ...line, closed: { 'silent in-all': 3 } }])
    await dial('127.0.0.2')
    await dial('127.0.0.2')
    guard.stop()
    expect(lines).toHaveLength(1)
    now = 61_000
    guard.stop()
    expect(lines).toEqual([expect.anything(), { ...line, closed: { 'silent in-all': 2 } }])
  })
})

function fail(): never {
  throw new Error('the connection was not accepted')
}
