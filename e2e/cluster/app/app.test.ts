import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from '@jest/globals'
import { answerCalls } from '@osm-ts/driver-testkit/testing'
import { parseCall } from './call.js'
import { parseServedPort } from './serve.js'

const plain = { method: 'GET', header: [], http2: false }

describe('parseCall', () => {
  it('reads requests', () => {
    expect(parseCall(new URL('http://shop/books?a=1'), { ...plain, header: ['X-User: me'] })).toEqual({
      kind: 'http',
      target: { host: 'shop', port: 80 },
      scheme: 'http',
      authority: 'shop',
      path: '/books?a=1',
      headers: { 'x-user': 'me' },
      method: 'GET',
      version: '1.1',
    })
    expect(parseCall(new URL('grpc://shop:9000/Books/List'), plain)).toMatchObject({
      kind: 'grpc',
      path: '/Books/List',
    })
    expect(parseCall(new URL('grpcs://shop:9000/Books/List'), plain)).toMatchObject({
      kind: 'grpc',
      tls: { serverName: 'shop' },
    })
    expect(parseCall(new URL('https://shop/'), { ...plain, http2: true })).toMatchObject({
      version: '2',
      tls: { serverName: 'shop' },
    })
    expect(parseCall(new URL('https://10.0.0.1/'), plain)).toMatchObject({ tls: {} })
    expect(parseCall(new URL('http://[fd00::1]:8080/'), plain)).toMatchObject({
      target: { host: 'fd00::1', port: 8080 },
      authority: '[fd00::1]:8080',
    })
  })

  it('reads connections', () => {
    const target = { host: 'shop', port: 9000 }
    expect(parseCall(new URL('tcp://shop:9000'), { ...plain, send: 'hello' })).toEqual({
      kind: 'tcp',
      target,
      send: 'hello',
    })
  })

  it('refuses what it cannot call', () => {
    expect(() => parseCall(new URL('tcp://shop'), plain)).toThrow('names no port')
    expect(() => parseCall(new URL('gopher://shop:70'), plain)).toThrow('expected http, https, grpc, grpcs or tcp')
    expect(() => parseCall(new URL('http://shop'), { ...plain, header: ['nothing'] })).toThrow('--header nothing')
  })
})

describe('parseServedPort', () => {
  it('reads a port and how it answers', () => {
    expect(parseServedPort('8080=http')).toEqual({ port: 8080, app: 'http' })
  })

  it('refuses applications that there are not, and what is not a port', () => {
    for (const text of ['8080=spdy', 'http', '0=http', 'x=tcp']) expect(() => parseServedPort(text)).toThrow(text)
  })
})

describe('answerCalls', () => {
  it('answers every line with the number that it had, and ends with its input', async () => {
    const server = createServer((socket) => socket.end('hello\n')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const call = { kind: 'tcp', target: { host: '127.0.0.1', port } }
    const output = new PassThrough()
    await answerCalls(Readable.from([1, 2].map((id) => `${JSON.stringify({ id, call })}\n`)), output)
    output.end()
    const answers = (await text(output)).trim().split('\n')
    expect(answers.map((line) => JSON.parse(line) as unknown)).toEqual(
      expect.arrayContaining([1, 2].map((id) => ({ id, answer: expect.objectContaining({ received: 'hello' }) }))),
    )
    server.close()
  })
})
