import { describe, expect, it } from '@jest/globals'
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
    expect(parseCall(new URL('https://shop/'), { ...plain, http2: true })).toMatchObject({ version: '2', tls: {} })
  })

  it('reads connections', () => {
    const target = { host: 'shop', port: 9000 }
    expect(parseCall(new URL('tcp://shop:9000'), { ...plain, send: 'hello' })).toEqual({
      kind: 'tcp',
      target,
      send: 'hello',
    })
  })

  it('refuses what it can not call', () => {
    expect(() => parseCall(new URL('tcp://shop'), plain)).toThrow('names no port')
    expect(() => parseCall(new URL('gopher://shop:70'), plain)).toThrow('expected http, https, grpc or tcp')
    expect(() => parseCall(new URL('http://shop'), { ...plain, header: ['nothing'] })).toThrow('--header nothing')
  })
})

describe('parseServedPort', () => {
  it('reads a port and how it answers', () => {
    expect(parseServedPort('8080=http')).toEqual({ port: 8080, app: 'http' })
  })

  it('refuses applications that there are not, and what is no port', () => {
    for (const text of ['8080=https', 'http', '0=http', 'x=tcp']) expect(() => parseServedPort(text)).toThrow(text)
  })
})
