import { describe, expect, it } from '@jest/globals'
import { readChartValues } from './values.mjs'

describe('readChartValues', () => {
  it('takes descriptions, forms and refinements from the comments above keys', () => {
    const [mesh] = readChartValues(`# A comment for readers of the file.

# The mesh,
# in two lines.
mesh:
  # Its name.
  # @form dnsLabel
  name: osm
  # How loud.
  # @schema {enum: [info, 'off']}
  level: info
`)

    expect(mesh).toMatchObject({ path: 'mesh', description: 'The mesh, in two lines.', form: undefined })
    expect(mesh?.children).toEqual([
      {
        path: 'mesh.name',
        description: 'Its name.',
        form: 'dnsLabel',
        refinement: undefined,
        default: 'osm',
        children: [],
      },
      {
        path: 'mesh.level',
        description: 'How loud.',
        form: undefined,
        refinement: { enum: ['info', 'off'] },
        default: 'info',
        children: [],
      },
    ])
  })

  it('does not look into maps whose keys are the user’s', () => {
    const [labels] = readChartValues('# Labels.\n# @form labels\nlabels: {a: b}\n')
    expect(labels).toMatchObject({ default: { a: 'b' }, children: [] })
  })

  it.each([
    ['a value without a comment', 'name: osm\n', 'name has no comment'],
    ['a comment of nothing but a directive', '# @form port\nport: 1\n', 'port has no comment'],
    ['an unknown directive', '# Port.\n# @from port\nport: 1\n', '"@from port" is neither @form nor @schema'],
    ['invalid YAML', '# Port.\nport: [\n', 'values.yaml:'],
  ])('refuses %s', (_name, text, message) => {
    expect(() => readChartValues(text)).toThrow(message)
  })
})
