import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { fakeContext, typedInput } from '../../test/fake-context.js'
import { readKubernetesObjects } from './read-objects.js'

describe('a file for osm inject', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-inject-'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const read = (text: string) => {
    writeFileSync(join(folder, 'pods.yaml'), text)
    return readKubernetesObjects('pods.yaml', fakeContext({ cwd: folder }).context)
  }

  it('gives its objects, those of lists by themselves', async () => {
    expect(await read('kind: Pod\n---\nkind: List\nitems: [{ kind: Service }, { kind: Secret }]\n')).toEqual([
      { kind: 'Pod' },
      { kind: 'Service' },
      { kind: 'Secret' },
    ])
  })

  it('can be standard input', async () => {
    const { context } = fakeContext({ stdin: () => typedInput(['kind: Pod', '---', 'kind: Service']) })
    expect(await readKubernetesObjects('-', context)).toEqual([{ kind: 'Pod' }, { kind: 'Service' }])
  })

  it.each([
    ['an alias without its anchor', 'kind: Pod\nmetadata: *a\n', 'pods.yaml is not valid YAML: Unresolved alias'],
    ['an object without a kind', 'a: 1\n', 'an object without a kind'],
  ])('is refused by its name for %s', async (_what, text, message) => {
    await expect(read(text)).rejects.toThrow(message)
    await expect(read(text)).rejects.toMatchObject({ code: 'OSM_CLI_INPUT' })
  })
})
