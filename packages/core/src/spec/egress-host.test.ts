import { describe, expect, it } from '@jest/globals'

import { parseEgressHost } from './egress-host.js'

describe('hosts of an Egress', () => {
  it.each([
    ['api.example.com', { kind: 'named', text: 'api.example.com', name: 'api.example.com' }],
    ['API.Example.COM.', { kind: 'named', text: 'api.example.com', name: 'api.example.com' }],
    ['localhost', { kind: 'named', text: 'localhost', name: 'localhost' }],
    ['192.0.2.1', { kind: 'named', text: '192.0.2.1', name: '192.0.2.1' }],
    ['2001:DB8::1', { kind: 'named', text: '2001:db8::1', name: '2001:db8::1' }],
    ['*.Example.com', { kind: 'domain', text: '*.example.com', name: 'example.com' }],
    ['*', { kind: 'any', text: '*', name: '' }],
  ])('%s is read', (written, host) => {
    expect(parseEgressHost(written)).toEqual(host)
  })

  it.each([
    '',
    '.',
    '*.',
    'http://x.example',
    'x.example:80',
    'x.example/path',
    '*x.example',
    'a.*.example',
    '*.*',
    '[::1]',
    '*.10.0.0.1',
    '10.0.0.256',
    '10.1',
    'x y',
  ])('%j is none', (written) => {
    expect(parseEgressHost(written)).toBeUndefined()
  })
})
