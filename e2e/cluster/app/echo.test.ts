import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { Connections, perform } from '@osm-ts/driver-testkit/testing'
import { answerLines, echoCall, httpEcho, parseEchoPorts } from './echo.js'

describe('parseEchoPorts', () => {
  it('reads what the manifests of the suite say, without ports that speak TLS', () => {
    const manifest = ['--tcp=9090', '--port=8080', '--grpc=7070', '--port=8443', '--tls=8443', '--crt=/a', '--key=/b']
    expect(parseEchoPorts(manifest)).toEqual({ http: [8080], grpc: [7070], tcp: [9090] })
    expect(parseEchoPorts([])).toEqual({ http: [8080], grpc: [], tcp: [] })
  })
})

describe('echoCall', () => {
  it('takes another authority from a header Host, and one method for all calls by gRPC', () => {
    const header = ['Host:echo-v1', 'Version:two']
    expect(echoCall(new URL('http://echo-v2/path?a=1'), { method: 'GET', header })).toMatchObject({
      target: { host: 'echo-v2', port: 80 },
      authority: 'echo-v1',
      path: '/path?a=1',
      headers: { version: 'two' },
    })
    expect(echoCall(new URL('grpc://echo:7070'), { method: 'GET', header: [] })).toMatchObject({
      kind: 'grpc',
      path: '/proto.EchoTestService/Echo',
    })
  })
})

describe('answers', () => {
  it('are lines with the status, the headers of the answer, the name of the server and each header of the request', async () => {
    const server = httpEcho('echo-v1-1').listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const call = echoCall(new URL(`http://127.0.0.1:${port}/here`), { method: 'PUT', header: ['X-Set:a,b'] })
    const lines = answerLines(await perform(call, new Connections())).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'StatusCode=200',
        'ResponseHeader=content-type:text/plain',
        'Hostname=echo-v1-1',
        'Method=PUT',
        'URL=/here',
        'RequestHeader=x-set:a,b',
      ]),
    )
    server.close()
  })

  it('have no HTTP status where gRPC failed', () => {
    expect(answerLines({ status: 200, code: 14 })).toBe('StatusCode=grpc-14')
    expect(answerLines({ status: 200, code: 0 })).toBe('StatusCode=200')
  })
})
