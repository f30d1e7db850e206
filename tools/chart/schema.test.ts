import { describe, expect, it } from '@jest/globals'
import { renderChartReference } from './reference.mjs'
import { valuesSchema } from './schema.mjs'
import { readChartValues } from './values.mjs'

const values = readChartValues(`# The mesh.
mesh:
  # Its name; a | in it.
  # @form meshName
  name: osm
  # How many.
  # @schema {minimum: 0}
  replicas: 1
  # Whether.
  enable: false
  # How loud.
  # @schema {enum: [info, debug]}
  level: info
# A chart that is not there.
# @form subchart
gateway:
  # Whether.
  enabled: false
`)

describe('valuesSchema', () => {
  it('takes types from defaults, and adds forms and refinements', () => {
    expect(valuesSchema(values)).toMatchObject({
      type: 'object',
      additionalProperties: false,
      properties: {
        mesh: {
          type: 'object',
          description: 'The mesh.',
          additionalProperties: false,
          properties: {
            name: { type: 'string', pattern: expect.any(String) },
            replicas: { type: 'integer', minimum: 0 },
            enable: { type: 'boolean' },
            level: { type: 'string', enum: ['info', 'debug'] },
          },
        },
        gateway: { additionalProperties: true, properties: { enabled: { type: 'boolean' } } },
        global: { type: 'object' },
      },
    })
  })

  it('names a form that does not exist', () => {
    expect(() => valuesSchema(readChartValues('# Port.\n# @form prot\nport: 1\n'))).toThrow('no form "prot"')
  })

  it.each(['null', '~'])('refuses the default %s, which has no type', (text) => {
    expect(() => valuesSchema(readChartValues(`# Port.\nport: ${text}\n`))).toThrow(
      'port has a default of no known type',
    )
  })
})

describe('renderChartReference', () => {
  it('has one row a value, sections included', () => {
    const rows = renderChartReference(values)
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    expect(rows).toEqual([
      '| `mesh` | | The mesh. |',
      '| `mesh.name` | `osm` | Its name; a \\| in it. |',
      '| `mesh.replicas` | `1` | How many. |',
      '| `mesh.enable` | `false` | Whether. |',
      '| `mesh.level` | `info` | How loud. One of `info`, `debug`. |',
      '| `gateway` | | A chart that is not there. |',
      '| `gateway.enabled` | `false` | Whether. |',
    ])
  })
})
