import { describe, expect, it } from '@jest/globals'

import { resource } from '../../../test/xds/resources.js'
import { resourcesNamedBy } from './named-resources.js'

const among = (...names: readonly string[]) => names.map((name) => resource(name, '1'))

describe('resourcesNamedBy', () => {
  it.each([
    ['one cluster', 'Error adding/updating cluster(s) a/b|80: no good', ['a/b|80', 'a/b|8080'], ['a/b|80']],
    [
      'several clusters, whatever their reasons hold',
      'Error adding/updating cluster(s) a/b|80: strange, very strange: c/d|80 is meant, c/d|80: no good',
      ['a/b|80', 'c/d|80', 'e/f|80'],
      ['a/b|80', 'c/d|80'],
    ],
    [
      'several listeners, one a line',
      'Error adding/updating listener(s) inbound-listener: no: good\noutbound-listener: bad address\n',
      ['inbound-listener', 'inbound-prometheus-listener', 'outbound-listener'],
      ['inbound-listener', 'outbound-listener'],
    ],
    [
      'a name with a colon',
      'Error adding/updating cluster(s) db.example:5432: no',
      ['db.example', 'db.example:5432'],
      ['db.example:5432'],
    ],
    [
      'a cluster that begins like another',
      'Error adding/updating cluster(s) a/b|80|local: no',
      ['a/b|80', 'a/b|80|local'],
      ['a/b|80|local'],
    ],
    [
      'a quoted name',
      "route config 'rds-inbound.80' has a bad match",
      ['rds-inbound.80', 'rds-inbound.8080'],
      ['rds-inbound.80'],
    ],
    [
      'a name in a dump',
      'Proto constraint validation failed: name: "x" connect_timeout { }',
      ['x', 'name'],
      ['x', 'name'],
    ],
    ['nothing', 'Proto constraint validation failed (ClusterValidationError.Name)', ['a/b|80'], []],
    ['nothing, though parts of words look alike', 'abc-def/ghi', ['abc', 'def', 'ghi'], []],
    ['nothing for empty names', 'no good', [''], []],
  ])('finds %s', (_, message, names, expected) => {
    expect([...resourcesNamedBy(message, among(...names))].sort()).toEqual([...expected].sort())
  })

  it('takes no long time over a message made to take long', () => {
    const message = `Error adding/updating cluster(s) ${'a: , '.repeat(1600)}`
    const names = Array.from({ length: 3000 }, (_, index) => `namespace/service-${index}|80`)
    const start = performance.now()
    expect(resourcesNamedBy(message, among(...names))).toEqual([])
    expect(performance.now() - start).toBeLessThan(1000)
  })
})
