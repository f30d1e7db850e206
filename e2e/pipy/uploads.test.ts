import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

const MIB = 1024 * 1024
const rules = { kind: 'http', allow: [{ match: {}, callers: 'client' }], limits: [] } as const
const piece = Buffer.alloc(MIB, 'x')

/** `/books/early` answers before it reads, `/books/never` reads nothing, and others tell how many bytes have come. */
async function uploadApp(): Promise<Server> {
  const server = createServer((incoming, answer) => {
    incoming.on('error', () => undefined)
    if (incoming.url === '/books/never') return
    if (incoming.url === '/books/early') {
      answer.writeHead(413, { 'content-length': 9 }).end('too large')
      incoming.resume()
      return
    }
    let bytes = 0
    incoming.on('data', (data: Buffer) => (bytes += data.length))
    incoming.on('end', () => answer.setHeader('x-framing', framingOf(incoming)).end(String(bytes)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function framingOf({ headers }: IncomingMessage): string {
  return headers['transfer-encoding'] ?? `length ${headers['content-length'] ?? ''}`
}

/** The most memory that a process has had since the last reset, in MiB. */
function peakMiB(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

describe('uploads through real sidecars', () => {
  let shop: Shop
  let app: Server

  beforeAll(async () => {
    shop = await Shop.open()
    app = await uploadApp()
    const { served = [] } = serverConfig(shop)
    const local = `127.0.0.1:${(app.address() as AddressInfo).port}`
    await shop.apply(clientConfig(shop), {
      served: served.map((port) => (port.protocol === 'http' ? { ...port, local, rules } : port)),
    })
  })
  afterAll(async () => {
    await shop.stop()
    app.closeAllConnections()
    app.close()
  })
  afterEach(() => {
    expect([shop.workers.client.hasEnded(), shop.workers.server.hasEnded()]).toEqual([false, false])
  })

  const open = (path: string, headers: Readonly<Record<string, string | number>> = {}): ClientRequest => {
    const [host, port] = shop.at.proxy.split(':')
    const outgoing = request({
      host,
      port,
      method: 'POST',
      path: `http://server.demo:8080/books/${path}`,
      headers: { host: 'server.demo:8080', ...headers },
      agent: false,
    })
    outgoing.on('error', () => undefined)
    return outgoing
  }
  const answerOf = async (outgoing: ClientRequest): Promise<IncomingMessage> => {
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    return answer
  }
  const send = async (outgoing: ClientRequest, pieces: number): Promise<void> => {
    for (let sent = 0; sent < pieces; sent += 1) if (!outgoing.write(piece)) await once(outgoing, 'drain')
  }
  const workers = (): readonly number[] => [shop.workers.client.pipyPid(), shop.workers.server.pipyPid()]

  it('are answered before they end, if the workload answers then', async () => {
    const outgoing = open('early', { 'content-length': 200_000 })
    const answered = answerOf(outgoing)
    outgoing.write(piece.subarray(0, 1_000))
    const answer = await answered
    expect([answer.statusCode, await text(answer)]).toEqual([413, 'too large'])
    outgoing.end(piece.subarray(0, 199_000))
  })

  it.each([
    ['by their length', { 'content-length': 3 * MIB }, `length ${3 * MIB}`],
    ['in chunks', { 'transfer-encoding': 'chunked' }, 'chunked'],
  ])('arrive %s', async (_, headers, framing) => {
    const outgoing = open('count', headers)
    const answered = answerOf(outgoing)
    await send(outgoing, 3)
    outgoing.end()
    const answer = await answered
    expect([answer.headers['x-framing'], await text(answer)]).toEqual([framing, String(3 * MIB)])
  })

  it('of 300 MiB are not kept in memory', async () => {
    for (const pid of workers()) expect(peakMiB(pid)).toBeLessThan(100)
    const outgoing = open('count', { 'transfer-encoding': 'chunked' })
    const answered = answerOf(outgoing)
    await send(outgoing, 300)
    outgoing.end()
    expect(await text(await answered)).toBe(String(300 * MIB))
    for (const pid of workers()) expect(peakMiB(pid)).toBeLessThan(150)
  })

  it('that the workload does not read are held back', async () => {
    const outgoing = open('never', { 'transfer-encoding': 'chunked' })
    let sent = 0
    const abort = new AbortController()
    const sending = (async () => {
      for (; sent < 300; sent += 1) if (!outgoing.write(piece)) await once(outgoing, 'drain', { signal: abort.signal })
    })().catch(() => undefined)
    for (let before = -1; before !== sent;) {
      before = sent
      await sleep(2_000)
    }
    expect(sent).toBeLessThan(100)
    for (const pid of workers()) expect(peakMiB(pid)).toBeLessThan(150)
    abort.abort()
    outgoing.destroy()
    await sending
  })

  it('that callers give up leave nothing behind', async () => {
    for (let i = 0; i < 30; i += 1) {
      const outgoing = open('count', { 'transfer-encoding': 'chunked' })
      outgoing.write(piece.subarray(0, 100_000))
      await sleep(20)
      outgoing.destroy()
    }
    const outgoing = open('count', { 'content-length': 4 })
    outgoing.end('last')
    expect(await text(await answerOf(outgoing))).toBe('4')
  })
})
