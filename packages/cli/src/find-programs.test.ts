import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { checkEnvoyVersion, checkPipyVersion, findEnvoy, findPipy } from './find-programs.js'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-find-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function program(name: string, says: string, then = ''): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\necho "${says}"\n${then}\n`, { mode: 0o755 })
  return path
}

describe('the Envoy that is to be run', () => {
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
    expect(() => findEnvoy(context, undefined)).toThrow('nowhere is not a program that can be run')
    expect(() => findEnvoy({ cwd: folder, variables: { PATH: folder } }, undefined)).toThrow(
      'there is no envoy on the PATH',
    )
  })
})

describe('the Pipy that is to be run', () => {
  it('is one of 1.5 or a later one of that line', async () => {
    for (const version of ['1.5.18', '1.10.0'])
      await expect(
        checkPipyVersion(await program('pipy-new', `Version          : ${version}`)),
      ).resolves.toBeUndefined()
    for (const version of ['0.90.3', '1.4.9', '2.0.2'])
      await expect(checkPipyVersion(await program('pipy-old', `Version          : ${version}`))).rejects.toMatchObject({
        code: 'OSM_CLI_SIDECAR_OLD',
        details: { hint: expect.stringContaining('Pipy 1.5 is required') },
      })
  })

  it('may hang once it has said its version, as Pipy does at times', async () => {
    await expect(
      checkPipyVersion(await program('pipy-hung', 'Version : 1.5.18', 'exec sleep 60')),
    ).resolves.toBeUndefined()
  })

  it('must be a Pipy, and there', async () => {
    await expect(checkPipyVersion(await program('pipy-other', 'nothing'))).rejects.toMatchObject({
      code: 'OSM_CLI_SIDECAR_OLD',
    })
    expect(() => findPipy({ cwd: folder, variables: { PATH: folder } }, undefined)).toThrow(
      'there is no pipy on the PATH',
    )
    const named = findPipy({ cwd: folder, variables: { PIPY_BIN: await program('mine', 'x') } }, undefined)
    expect(named).toBe(join(folder, 'mine'))
  })
})
