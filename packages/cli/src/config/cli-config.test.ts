import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { defaultConfig, loadConfig } from './cli-config.js'

describe('the file of settings', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'osm-config-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  const write = (text: string, path = join(home, 'settings.yaml')): Promise<unknown> => {
    writeFileSync(path, text)
    return loadConfig({ OSM_CONFIG: path })
  }

  it('says what it says, by its own name or below the home folder', async () => {
    mkdirSync(join(home, '.osm'))
    const text = 'install:\n  kind: managed\n  distribution: example\n  namespace: kube-mesh\n'
    const expected = { kind: 'managed', distribution: 'example', namespace: 'kube-mesh' }
    await expect(write(text)).resolves.toEqual(expected)
    await write(text, join(home, '.osm', 'config.yaml'))
    await expect(loadConfig({ HOME: home })).resolves.toEqual(expected)
    await expect(loadConfig({ HOME: home, OSM_CONFIG: '' })).resolves.toEqual(expected)
    await expect(loadConfig({ USERPROFILE: home })).resolves.toEqual(expected)
  })

  it('leaves defaults where it says nothing, or is not there', async () => {
    for (const text of [
      '',
      'install:\n',
      'other: 1\n',
      'install:\n  kind: self-hosted\n',
      'install:\n  namespace: ""\n',
    ])
      await expect(write(text)).resolves.toEqual(defaultConfig)
    for (const variables of [{}, { HOME: home }, { OSM_CONFIG: join(home, 'none.yaml') }])
      await expect(loadConfig(variables)).resolves.toEqual(defaultConfig)
  })

  it.each([
    ['install:\n  kind: rented\n', 'install.kind is "rented"'],
    ['install:\n  namespace: [a]\n', 'install.namespace is ["a"]'],
    ['install: yes\n', 'must be a mapping'],
    ['just a text\n', 'must be a mapping'],
    ['install: {\n', 'is not valid YAML'],
  ])('is refused with its name and what is wrong: %j', async (text, message) => {
    await expect(write(text)).rejects.toMatchObject({
      code: 'OSM_CLI_CONFIG',
      message: expect.stringContaining(`settings.yaml: ${message}`),
    })
  })

  it('is refused when it cannot be read', async () => {
    await expect(loadConfig({ OSM_CONFIG: home })).rejects.toMatchObject({
      code: 'OSM_CLI_CONFIG',
      message: `${home} cannot be read`,
    })
  })
})
