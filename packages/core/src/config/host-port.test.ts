import { describe, expect, it } from '@jest/globals'

import { parseHostPort } from './host-port.js'

describe('addresses of servers', () => {
  it.each<[string, string, number | undefined]>([
    ['jaeger', 'jaeger', undefined],
    ['jaeger.osm-system.svc.cluster.local:9411', 'jaeger.osm-system.svc.cluster.local', 9411],
    ['10.0.0.1', '10.0.0.1', undefined],
    ['10.0.0.1:4318', '10.0.0.1', 4318],
    ['fd00::1', 'fd00::1', undefined],
    ['[fd00::1]', 'fd00::1', undefined],
    ['[fd00::1]:65535', 'fd00::1', 65_535],
    ['my_collector:1', 'my_collector', 1],
  ])('%s', (text, host, port) => {
    expect(parseHostPort(text)).toEqual({ host, ...(port === undefined ? {} : { port }) })
  })

  it.each(['', ':9411', 'a:', 'a:0', 'a:65536', 'a:b', 'http://a:9411', 'a:1/path', 'a b', '[a]:1', '[::1', '::1:x'])(
    'refuses %j',
    (text) => {
      expect(parseHostPort(text)).toBeUndefined()
    },
  )
})
