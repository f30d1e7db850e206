import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { readKubernetesObjects } from './read-objects.js'

describe('a file for osm inject', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-inject-'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const read = (text: string) => {
    writeFileSync(join(folder, 'pods.yaml'), text)
    return readKubernetesObjects('pods.yaml', folder)
  }

  it('gives its objects, those of lists by themselves', () => {
    expect(read('kind: Pod\n---\nkind: List\nitems: [{ kind: Service }, { kind: Secret }]\n')).toEqual([
      { kind: 'Pod' },
      { kind: 'Service' },
      { kind: 'Secret' },
    ])
  })

  it.each([
    ['an alias without its anchor', 'kind: Pod\nmetadata: *a\n', 'pods.yaml is not valid YAML: Unresolved alias'],
    ['an object without a kind', 'a: 1\n', 'an object without a kind'],
  ])('is refused by its name for %s', (_what, text, message) => {
    expect(() => read(text)).toThrow(message)
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'OSM_CLI_INPUT' }))
  })
})
