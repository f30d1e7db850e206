import { describe, expect, it } from '@jest/globals'

import { portProtocol } from './protocol.js'

describe('portProtocol', () => {
  it.each([
    [{}, 'http', 'default'],
    [{ name: 'web' }, 'http', 'default'],
    [{ name: 'http' }, 'http', 'name'],
    [{ name: 'http-web' }, 'http', 'name'],
    [{ name: 'http2-web' }, 'http2', 'name'],
    [{ name: 'https-web' }, 'https', 'name'],
    [{ name: 'grpc-web' }, 'grpc', 'name'],
    [{ name: 'tcp-mysql' }, 'tcp', 'name'],
    [{ name: 'tcp-server-first' }, 'tcp-server-first', 'name'],
    [{ name: 'tcp-server-first-mysql' }, 'tcp-server-first', 'name'],
    [{ name: 'tcpx' }, 'http', 'default'],
    [{ name: 'tcp-mysql', appProtocol: 'grpc' }, 'grpc', 'appProtocol'],
    [{ name: 'tcp-mysql', appProtocol: '' }, 'tcp', 'name'],
    [{ appProtocol: 'TCP' }, 'tcp', 'appProtocol'],
    [{ appProtocol: 'kubernetes.io/h2c' }, 'http2', 'appProtocol'],
  ] as const)('%j is %s, told by %s', (port, protocol, toldBy) => {
    expect(portProtocol(port)).toEqual({ protocol, toldBy })
  })

  it('takes an unknown appProtocol for http and says so', () => {
    expect(portProtocol({ name: 'tcp', appProtocol: 'redis' })).toEqual({
      protocol: 'http',
      toldBy: 'default',
      unknown: 'redis',
    })
    expect(portProtocol({ appProtocol: 'constructor' })).toMatchObject({ unknown: 'constructor' })
  })
})
