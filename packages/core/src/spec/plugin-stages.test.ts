import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'

import { pluginStages } from './plugin-stages.js'

describe('built-in stages', () => {
  it('are those that the chart writes', () => {
    const values = readFileSync(fileURLToPath(new URL('../../../../charts/osm/values.yaml', import.meta.url)), 'utf8')
    const { osm } = parse(values) as {
      readonly osm: {
        readonly pluginChains: Record<string, readonly { readonly plugin: string; readonly priority: number }[]>
      }
    }
    const written = Object.entries(osm.pluginChains).map(([chain, stages]) => [
      chain,
      Object.fromEntries(stages.map(({ plugin, priority }) => [plugin, priority])),
    ])
    expect(pluginStages).toEqual(Object.fromEntries(written))
  })
})
