import { describe, expect, it } from '@jest/globals'

import {
  gatewayText,
  parseAddress,
  parseControlPlane,
  parseGateway,
  parseLabel,
  parsePort,
  parsePorts,
  parseRange,
  parseRanges,
  parseTtl,
  parseUid,
} from './machine-values.js'
import { systemdUnit } from './systemd-unit.js'

describe('values of osm machine', () => {
  it('read ports, labels, ranges, durations and addresses', () => {
    expect(parsePort('web=8080:18080', parsePort('9090'))).toEqual([
      { port: 9090 },
      { name: 'web', port: 8080, localPort: 18_080 },
    ])
    expect(parseLabel('b=', parseLabel('app=store'))).toEqual({ app: 'store', b: '' })
    expect(parseRange('15100-15999')).toEqual({ first: 15_100, last: 15_999 })
    expect([parseTtl('90s'), parseTtl('10m'), parseTtl('1h')]).toEqual([90_000, 600_000, 3_600_000])
    expect(parseAddress('192.0.2.1')).toBe('192.0.2.1')
    expect(parsePorts('22,5432', parsePorts('25'))).toEqual([25, 22, 5432])
    expect(parseRanges('10.0.0.0/8,fd00::/8')).toEqual(['10.0.0.0/8', 'fd00::/8'])
    expect(parseUid('1501')).toBe(1501)
    expect(parseControlPlane('https://192.0.2.1:20003').host).toBe('192.0.2.1:20003')
  })

  it.each([
    [parsePort, ['0', '70000', 'web=', 'a b=1', '8080:0']],
    [parseLabel, ['app', '=x', 'a=b c']],
    [parseRange, ['1', '5-4', '0-9', '1-70000']],
    [parseTtl, ['0s', '1d', '10', '169h', '-1s']],
    [parsePorts, ['', '0', '22,', 'ssh', '70000']],
    [parseRanges, ['', '10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'a/8', '10.0.0.0/8/8']],
    [parseUid, ['', '0', '-1', 'nobody', '4294967295']],
    [parseAddress, ['localhost', '1.2.3', '']],
    [parseGateway, ['gateway.example', '192.0.2.1:0', '192.0.2.1:70000', '2001:db8::1:', '[192.0.2.1]:1', '']],
    [parseControlPlane, ['http://a:1', 'a:1', 'https://a/path', 'https://user@a']],
  ])('%p refuses what is none', (parse, texts) => {
    for (const text of texts) expect(() => parse(text)).toThrow(/^It must be/)
  })

  it.each([
    ['203.0.113.5', { address: '203.0.113.5' }],
    ['203.0.113.5:15443', { address: '203.0.113.5', port: 15_443 }],
    ['2001:db8::5', { address: '2001:db8::5' }],
    ['[2001:db8::5]:15443', { address: '2001:db8::5', port: 15_443 }],
  ])('read %s as a gateway, and write it the same way', (text, gateway) => {
    expect(parseGateway(text)).toEqual(gateway)
    expect(gatewayText(gateway)).toBe(text)
  })

  it('quote what systemd would read as something else', () => {
    const unit = systemdUnit({
      program: ['/usr/bin/node', '/opt/my osm/osm.mjs'],
      args: ['machine', 'join', '--name', 'a%b$c'],
      environment: { ENVOY_BIN: '/usr/bin/envoy' },
    })
    expect(unit).toContain('ExecStart=/usr/bin/node "/opt/my osm/osm.mjs" machine join --name a%%b$$c\n')
    expect(unit).toContain('Environment=ENVOY_BIN=/usr/bin/envoy\n')
  })
})
