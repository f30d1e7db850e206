import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { ensureEnvoy } from './envoy-binary.mjs'

const folder = temporaryFolders()

function program(output: string): string {
  const path = join(folder({ envoy: `#!/bin/sh\necho '${output}'\n` }), 'envoy')
  chmodSync(path, 0o755)
  return path
}

describe('ENVOY_BIN', () => {
  it('is used when it is an Envoy', async () => {
    const path = program('envoy  version: 0123abcd/1.33.0/Clean/RELEASE/BoringSSL')
    await expect(ensureEnvoy({ ENVOY_BIN: path })).resolves.toBe(path)
  })

  it.each([program('something else'), '/nonexistent/envoy'])('is refused when it is not: %s', async (path) => {
    await expect(ensureEnvoy({ ENVOY_BIN: path })).rejects.toThrow(`ENVOY_BIN=${path} does not run as Envoy`)
  })
})
