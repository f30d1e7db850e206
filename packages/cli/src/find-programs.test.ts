import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { checkEnvoyVersion, findEnvoy } from './find-programs.js'

describe('the Envoy that is to be run', () => {
  let folder = ''
  const program = async (name: string, says: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, `#!/bin/sh\necho "${says}"\n`, { mode: 0o755 })
    return path
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-find-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  it.each([
    ['envoy  version: dc2d3098ae56/1.37.0/Clean/RELEASE/BoringSSL'],
    ['envoy  version: dc2d3098ae56/1.40.1-dev/Modified/DEBUG/BoringSSL'],
    ['envoy  version: dc2d3098ae56/2.0.0/Clean/RELEASE/BoringSSL'],
  ])('may say "%s"', async (says) => {
    await expect(checkEnvoyVersion(await program('new', says))).resolves.toBeUndefined()
  })

  it('must not be older than what our configuration needs', async () => {
    const path = await program('old', 'envoy  version: dc2d3098ae56/1.36.2/Clean/RELEASE/BoringSSL')
    await expect(checkEnvoyVersion(path)).rejects.toMatchObject({
      code: 'OSM_CLI_SIDECAR_OLD',
      message: `${path} is Envoy 1.36, which is too old`,
      details: { hint: expect.stringContaining('1.37 or newer') },
    })
  })

  it('must be an Envoy', async () => {
    const path = await program('other', 'something else 4.2')
    await expect(checkEnvoyVersion(path)).rejects.toMatchObject({ code: 'OSM_CLI_SIDECAR_OLD' })
  })

  it('must be there', () => {
    const context = { cwd: folder, variables: { ENVOY_BIN: 'nowhere' } }
    expect(() => findEnvoy(context, undefined)).toThrow('nowhere is no program that can be run')
    expect(() => findEnvoy({ cwd: folder, variables: { PATH: folder } }, undefined)).toThrow(
      'there is no envoy on the PATH',
    )
  })
})
