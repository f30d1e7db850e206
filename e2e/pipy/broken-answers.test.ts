import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { SERVICE } from './support/base-config.js'
import { intrude, through } from './support/calls.js'
import { clientConfig, serverConfig, withDirect } from './support/configs.js'
import { Shop } from './support/shop.js'

const body = 'x'.repeat(50_000)
const much = 'x'.repeat(5_000_000)

/** Answers by path, and then ends the connection whether or not that was all. */
const answers: Readonly<Record<string, string>> = {
  '/books/length': `content-length: ${body.length + 1}\r\n\r\n${body}`,
  '/books/little': 'content-length: 2\r\n\r\nx',
  '/books/chunks': `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`,
  '/books/chunk': `transfer-encoding: chunked\r\n\r\n20\r\nhalf a chunk`,
  '/books/much': `content-length: ${much.length + 1}\r\n\r\n${much}`,
  '/books/whole': `content-length: ${body.length}\r\n\r\n${body}`,
  '/books/all-chunks': `transfer-encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n`,
  '/books/until-the-end': `\r\n${body}`,
  '/books/nothing': 'content-length: 0\r\n\r\n',
  '/books/head': `content-length: ${body.length}\r\n\r\n`,
}

async function breakingApp(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    let text = ''
    socket.on('data', (data) => {
      text += data.toString()
      const path = /^\w+ (\S+) HTTP.*\r\n\r\n/s.exec(text)?.[1]
      if (path !== undefined) socket.end(`HTTP/1.1 200 OK\r\n${answers[path] ?? 'content-length: 0\r\n\r\n'}`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

describe('answers that break off, through real sidecars', () => {
  let shop: Shop
  let app: Server

  beforeAll(async () => {
    shop = await Shop.open()
    app = await breakingApp()
    const address = `127.0.0.1:${(app.address() as AddressInfo).port}`
    const { served = [] } = serverConfig(shop)
    await shop.apply(withDirect(clientConfig(shop), address), {
      served: served.map((port) => (port.protocol === 'http' ? { ...port, local: address } : port)),
    })
  })
  afterAll(async () => {
    await shop.stop()
    app.close()
  })

  const hosts = [
    ['by a server outside of the mesh', 'direct', /aborted|hang up|reset/i],
    ['by a workload behind its sidecar', 'server.demo:8080', /aborted|hang up|reset|^503$/i],
  ] as const

  describe.each(hosts)('%s', (_where, host, early) => {
    const ask = (path: string, method = 'GET') => through(shop.at.proxy, `http://${host}/books/${path}`, { method })

    it.each(['length', 'little', 'chunks', 'chunk', 'much'])('are seen by the caller (%s)', async (path) => {
      const seen = await ask(path).then(
        ({ status }) => String(status),
        (error: unknown) => String(error),
      )
      // What was broken off before anything of it had gone on is an answer of no one.
      expect(seen).toMatch(early)
      // The next one has its own connection.
      expect((await ask('whole')).body).toBe(body)
    })

    it.each([
      ['whole', body],
      ['all-chunks', 'four'],
      ['until-the-end', body],
      ['nothing', ''],
    ])('are told from whole ones (%s)', async (path, expected) => {
      expect(await ask(path)).toMatchObject({ status: 200, body: expected })
    })
  })

  it('are told from heads without a body', async () => {
    expect(await through(shop.at.proxy, 'http://direct/books/head', { method: 'HEAD' })).toMatchObject({ status: 200 })
  })

  it('are seen by sidecars of other classes', async () => {
    const as = { serverName: SERVICE, credential: shop.issue('client') }
    expect(await intrude(shop.at.servedHttp, as, 'GET /books/little HTTP/1.1\r\nhost: x\r\n\r\n')).toBe('closed')
  })
})
