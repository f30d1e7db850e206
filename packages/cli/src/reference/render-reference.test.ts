import { existsSync, readFileSync, writeFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { defaultConfig } from '../config/cli-config.js'
import { buildProgram } from '../program.js'
import { renderReference } from './render-reference.js'

const page = new URL('../../../../docs/reference/cli.md', import.meta.url)

describe('docs/reference/cli.md', () => {
  const { context } = fakeContext()
  const text = renderReference(buildProgram({ context, config: defaultConfig, onExit: () => undefined }))

  it('says what the commands say', () => {
    if (process.env['UPDATE_GOLDEN'] === '1' || !existsSync(page)) writeFileSync(page, text)
    expect(readFileSync(page, 'utf8')).toBe(text)
  })

  it('has every command, its options and its arguments', () => {
    for (const name of [
      'osm standalone run',
      'osm standalone validate',
      'osm proxy list',
      'osm proxy status',
      'osm proxy config',
      'osm proxy get',
      'osm policy can',
      'osm support error-info',
      'osm demo',
      'osm env',
      'osm completion',
    ])
      expect(text).toContain(`## ${name}\n`)
    expect(text).toContain('-o, --output <form>')
  })
})
