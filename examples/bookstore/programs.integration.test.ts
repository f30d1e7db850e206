import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { send } from './lib/http.mjs'
import { tcpEndpoint } from './lib/tcp.mjs'
import { ForwardProxy } from './test/forward-proxy.js'
import { Program } from './test/program.js'

/** The programs as processes, with a plain forward proxy where a sidecar would be. */
describe('the programs of the bookstore', () => {
  const programs: Program[] = []
  let proxy: ForwardProxy
  let proxyUrl = ''

  beforeEach(async () => {
    proxy = new ForwardProxy()
    proxyUrl = await proxy.open()
  })

  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop()))
    await proxy.close()
  })

  function start(file: string, env: Readonly<Record<string, string>> = {}): Program {
    const program = new Program(file, { HTTP_PROXY: proxyUrl, ...env })
    programs.push(program)
    return program
  }

  async function startStore(identity: string): Promise<{ store: Program; url: string }> {
    const store = start('bookstore.mjs', { IDENTITY: identity })
    const address = await store.address()
    proxy.routes.set('bookstore.bookstore:14001', address)
    return { store, url: `http://${address}` }
  }

  async function startWarehouse(): Promise<string> {
    const address = await start('bookwarehouse.mjs').address()
    proxy.routes.set('bookwarehouse.bookwarehouse:14001', address)
    return `http://${address}`
  }

  it('buy, sell and restock books through the proxy that they are told of', async () => {
    await startWarehouse()
    const { store } = await startStore('bookstore-v1')
    const buyer = start('bookbuyer.mjs')
    expect(await buyer.line()).toEqual({
      t: expect.any(Number),
      client: 'bookbuyer',
      target: 'bookstore',
      path: '/buy-a-book/new',
      status: 200,
      server: 'bookstore-v1',
      ms: expect.any(Number),
      succeeded: 1,
      failed: 0,
    })
    expect(await buyer.line()).toMatchObject({ path: '/books-bought', status: 200, succeeded: 2 })
    expect(await store.line()).toMatchObject({
      client: 'bookstore-v1',
      target: 'bookwarehouse',
      path: '/restock-books',
      status: 200,
      server: 'bookwarehouse',
    })
    expect(proxy.seen[0]).toEqual({
      method: 'GET',
      url: 'http://bookstore.bookstore:14001/buy-a-book/new',
      host: 'bookstore.bookstore:14001',
    })
    expect(proxy.seen[1]).toEqual({
      method: 'POST',
      url: 'http://bookwarehouse.bookwarehouse:14001/restock-books',
      host: 'bookwarehouse.bookwarehouse:14001',
    })
  })

  it('report what the mesh denies, each client by its own counts', async () => {
    await startStore('bookstore-v2')
    proxy.decide = ({ url }) => (url.endsWith('/buy-a-book/new') ? 403 : undefined)
    const thief = start('bookthief.mjs')
    expect(await thief.line()).toMatchObject({
      path: '/books-bought',
      status: 200,
      server: 'bookstore-v2',
      succeeded: 1,
      failed: 0,
    })
    expect(await thief.line()).toMatchObject({ path: '/buy-a-book/new', status: 403, succeeded: 1, failed: 1 })
    expect(await thief.line()).toMatchObject({
      target: 'bookwarehouse',
      path: '/restock-books',
      status: 404,
      succeeded: 1,
      failed: 2,
    })
  })

  it('report status 0 and the reason where no one answers', async () => {
    const buyer = start('bookbuyer.mjs', { HTTP_PROXY: 'http://127.0.0.1:1' })
    expect(await buyer.line()).toMatchObject({ status: 0, error: 'ECONNREFUSED', succeeded: 0, failed: 1 })
  })

  it('run as many rounds side by side as they are told to', async () => {
    const waiting: (() => void)[] = []
    const crowd = new Promise<void>((resolve) => {
      proxy.decide = async () =>
        new Promise((answer) => {
          waiting.push(() => {
            answer(200)
          })
          if (waiting.length === 3) resolve()
        })
    })
    start('bookbuyer.mjs', { CONCURRENCY: '3' })
    await crowd
    for (const release of waiting) release()
    expect(waiting).toHaveLength(3)
  })

  it('end when a setting makes no sense', async () => {
    expect(await start('bookbuyer.mjs', { INTERVAL_MS: 'often' }).ended()).toEqual([1, null])
    expect(await start('tcp-client.mjs', { CONCURRENCY: '0' }).ended()).toEqual([1, null])
  })

  it('sell a book though no new one comes', async () => {
    const { store, url } = await startStore('bookstore')
    const { status, headers } = await send({ url: `${url}/buy-a-book/new` })
    expect([status, headers['identity'], headers['booksbought']]).toEqual([200, 'bookstore', '1'])
    expect(await store.line()).toMatchObject({ target: 'bookwarehouse', status: 404, succeeded: 0, failed: 1 })
  })

  it('set the number of books bought, and refuse what is none', async () => {
    const { url } = await startStore('bookstore')
    const update = async (body: unknown) => send({ method: 'POST', url: `${url}/update-books-bought`, body })
    expect(await update({ booksBought: 7 })).toMatchObject({
      status: 200,
      text: '{"identity":"bookstore","booksBought":7}\n',
    })
    expect(await update({ booksBought: -1 })).toMatchObject({ status: 400 })
    expect(await update('seven')).toMatchObject({ status: 400 })
    expect(await send({ url: `${url}/books-bought` })).toMatchObject({
      status: 200,
      text: '{"identity":"bookstore","booksBought":7}\n',
    })
    expect(await send({ url: `${url}/` })).toMatchObject({ status: 404 })
    expect(await send({ method: 'DELETE', url: `${url}/books-bought` })).toMatchObject({ status: 404 })
  })

  it('count the books sent', async () => {
    const url = await startWarehouse()
    const restock = async (body: unknown) => send({ method: 'POST', url: `${url}/restock-books`, body })
    expect(await restock({ books: 2 })).toMatchObject({ status: 200 })
    expect(await restock({ books: 3 })).toMatchObject({
      status: 200,
      text: '{"identity":"bookwarehouse","booksSent":5}\n',
    })
    expect(await restock({ books: 0 })).toMatchObject({ status: 400 })
    expect(await restock({ books: 'x'.repeat(100_000) })).toMatchObject({ status: 400 })
  })

  it('answer what is under way before they end', async () => {
    await startWarehouse()
    const { store, url } = await startStore('bookstore-v1')
    let release = (): void => undefined
    const asked = new Promise<void>((resolve) => {
      proxy.decide = async () =>
        new Promise((answer) => {
          release = () => {
            answer(undefined)
          }
          resolve()
        })
    })
    const answer = send({ url: `${url}/buy-a-book/new` })
    await asked
    store.terminate()
    release()
    expect(await answer).toMatchObject({ status: 200 })
    expect(await store.ended()).toEqual([0, null])
  })

  it.each(['bookbuyer.mjs', 'bookthief.mjs', 'tcp-client.mjs'])(
    'let %s end in the middle of an attempt, without a report of it',
    async (file) => {
      const silent = createServer()
      silent.listen(0, '127.0.0.1')
      await once(silent, 'listening')
      const { port } = silent.address() as AddressInfo
      const connected = once(silent, 'connection')
      const client = start(file, {
        HTTP_PROXY: `http://127.0.0.1:${String(port)}`,
        OSM_TCP_TCP_ECHO_TCP_DEMO_9000: `127.0.0.1:${String(port)}`,
      })
      await connected
      client.terminate()
      await expect(client.line()).rejects.toThrow('the program ended')
      expect(await client.ended()).toEqual([0, null])
      silent.close()
    },
  )

  describe('tcp-client', () => {
    it('hears its lines again', async () => {
      const address = await start('tcp-echo.mjs').address()
      const client = start('tcp-client.mjs', { OSM_TCP_TCP_ECHO_TCP_DEMO_9000: address })
      expect(await client.line()).toMatchObject({
        client: 'tcp-client',
        target: 'tcp-echo',
        path: 'tcp:9000',
        status: 200,
        succeeded: 1,
      })
      expect(await client.line()).toMatchObject({ status: 200, succeeded: 2, failed: 0 })
    })

    it.each([
      ['closed without an answer', ''],
      ['something else came back', 'nonsense\n'],
    ])('reports %s', async (error, words) => {
      const server = createServer((socket) =>
        socket
          .on('error', () => undefined)
          .resume()
          .end(words),
      )
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const client = start('tcp-client.mjs', { OSM_TCP_TCP_ECHO_TCP_DEMO_9000: `127.0.0.1:${String(port)}` })
      expect(await client.line()).toMatchObject({ status: 0, error, failed: 1 })
      server.close()
    })
  })
})

describe('finding the sidecar', () => {
  it('dials the service itself where nothing is given', () => {
    expect(tcpEndpoint({ name: 'tcp-echo', namespace: 'tcp-demo', port: 9000 })).toEqual({
      host: 'tcp-echo.tcp-demo',
      port: 9000,
    })
  })

  it.each([
    ['127.0.0.1:20001', { host: '127.0.0.1', port: 20001 }],
    ['[::1]:20001', { host: '::1', port: 20001 }],
  ])('dials %s where that is given', (value, endpoint) => {
    process.env['OSM_TCP_A_B_C_D_1'] = value
    try {
      expect(tcpEndpoint({ name: 'a.b', namespace: 'c-d', port: 1 })).toEqual(endpoint)
    } finally {
      delete process.env['OSM_TCP_A_B_C_D_1']
    }
  })
})
