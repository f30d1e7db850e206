import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import type { Document } from '../agent/files.mjs'
import { Haproxy } from '../agent/haproxy.mjs'
import { describeWorker } from '../agent/runtime.mjs'
import { haproxyBinary } from '../test/files.js'

const ROUNDS = 12

/** A document that HAProxy takes by loading it. */
function document(revision: number): Document {
  const config = [
    'global',
    `  description layout-${revision}`,
    '  stats socket unix@haproxy.sock mode 600 level admin expose-fd listeners',
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 1s',
    '  timeout server 1s',
    'frontend closed',
    '  bind unix@closed.sock',
    '  default_backend nowhere',
    'backend nowhere',
  ]
  return {
    revision: String(revision),
    layout: `layout-${revision}`,
    access: [],
    withdrawalMs: 0,
    config: `${config.join('\n')}\n`,
    slots: [],
    files: [],
    certificate: '',
  }
}

describe('a real HAProxy', () => {
  let folder = ''
  let haproxy: Haproxy | undefined

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'haproxy-reload-'))
  })
  afterEach(async () => {
    await haproxy?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('takes what follows at once on its start, though it loses signals then', async () => {
    // Checking a document takes longer than the moments in which signals are lost.
    const binary = join(folder, 'unchecked')
    await writeFile(binary, `#!/bin/sh\n[ "$1" = -c ] || exec ${haproxyBinary()} "$@"\n`)
    await chmod(binary, 0o700)
    haproxy = new Haproxy({ binary, folder, log: () => undefined, onEnd: () => undefined })
    for (let round = 1; round <= ROUNDS; round += 1) {
      await haproxy.apply(document(round))
      expect(haproxy.revision).toBe(String(round))
      expect((await describeWorker(join(folder, 'haproxy.sock')))?.layout).toBe(`layout-${round}`)
    }
  })
})
