import { describe, expect, it } from '@jest/globals'

import { portProtocol, suggestedProtocol } from './protocol.js'

describe('portProtocol', () => {
  it.each([
    [{}, 'http', 'default'],
    [{ name: 'web' }, 'http', 'default'],
    [{ name: 'http' }, 'http', 'name'],
    [{ name: 'http-web' }, 'http', 'name'],
    [{ name: 'http2-web' }, 'http2', 'name'],
    [{ name: 'https-web' }, 'https', 'name'],
    [{ name: 'grpc-web' }, 'http', 'name'],
    [{ name: 'grpc-web-public' }, 'http', 'name'],
    [{ name: 'grpc-webhook' }, 'grpc', 'name'],
    [{ name: 'tcp-mysql' }, 'tcp', 'name'],
    [{ name: 'tcp-server-first' }, 'tcp-server-first', 'name'],
    [{ name: 'tcp-server-first-mysql' }, 'tcp-server-first', 'name'],
    [{ name: 'tcpx' }, 'http', 'default'],
    [{ name: 'tcp-mysql', appProtocol: 'grpc' }, 'grpc', 'appProtocol'],
    [{ name: 'tcp-mysql', appProtocol: '' }, 'tcp', 'name'],
    [{ appProtocol: 'TCP' }, 'tcp', 'appProtocol'],
    [{ appProtocol: 'kubernetes.io/h2c' }, 'http2', 'appProtocol'],
    [{ appProtocol: 'kubernetes.io/ws' }, 'http', 'appProtocol'],
    [{ appProtocol: 'kubernetes.io/wss' }, 'https', 'appProtocol'],
    [{ name: 'http', appProtocol: 'tls' }, 'https', 'appProtocol'],
  ] as const)('%j is %s, told by %s', (port, protocol, toldBy) => {
    expect(portProtocol(port)).toEqual({ protocol, toldBy })
  })

  it.each(['redis', 'mysql', 'amqp', 'postgresql', 'example.com/own', 'constructor', '__proto__'])(
    'takes the unknown appProtocol %s for tcp and says so',
    (appProtocol) => {
      expect(portProtocol({ name: 'http', appProtocol })).toEqual({
        protocol: 'tcp',
        toldBy: 'default',
        unknown: appProtocol,
      })
    },
  )
})

describe('suggestedProtocol', () => {
  it.each([
    [
      { name: 'mysql', port: 80 },
      { name: 'mysql', beginsWithTls: false },
    ],
    [
      { name: 'client-redis', port: 80 },
      { name: 'redis', beginsWithTls: false },
    ],
    [
      { name: 'data', port: 5432 },
      { name: 'postgresql', beginsWithTls: false },
    ],
    [{ port: 27017 }, { name: 'mongodb', beginsWithTls: false }],
    [{ port: 443 }, { name: 'https', beginsWithTls: true }],
    [
      { name: 'webhook', port: 9443 },
      { name: 'https', beginsWithTls: true },
    ],
    [
      { name: 'web-https', port: 8080 },
      { name: 'https', beginsWithTls: true },
    ],
    [{ name: 'http-web', port: 443 }, undefined],
    [{ name: 'grpc', port: 443 }, undefined],
    [{ name: 'web', port: 8080 }, undefined],
    [{ name: 'tcp-mysql', port: 3306 }, undefined],
    [{ name: 'http-redis', port: 6379 }, undefined],
    [{ name: 'mysql', port: 3306, appProtocol: 'tcp' }, undefined],
    [{ name: 'mysql', port: 3306, appProtocol: 'mysql' }, undefined],
  ] as const)('%j suggests %j', (port, protocol) => {
    expect(suggestedProtocol(port)).toEqual(protocol)
  })
})
