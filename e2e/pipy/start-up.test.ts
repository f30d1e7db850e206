import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { injectorContext, resolveValue } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { patch, RepoFixture } from '@osm-ts/driver-pipy/testing'

/** Pipy retries a refused download after this time. */
const RETRY_MS = 5_000

describe('a real Pipy that starts before its workload is known', () => {
  let folder: string
  let repo: RepoFixture
  let pipy: ChildProcess | undefined

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-pipy-'))
    repo = new RepoFixture()
    await repo.start()
  })
  afterEach(async () => {
    if (pipy?.pid !== undefined && pipy.exitCode === null && pipy.signalCode === null) {
      const ended = once(pipy, 'exit')
      process.kill(-pipy.pid, 'SIGKILL')
      await ended
    }
    await repo.stop()
    await rm(folder, { recursive: true })
  })

  it('gets its scripts as soon as it is known, and not with its next try', async () => {
    const controlPlane = { address: '127.0.0.1', port: repo.server.port, serverName: 'osm-controller.test' }
    const { sidecar, files } = await patch(injectorContext({ controlPlane }))
    const all = sidecar.args.map((arg) => resolveValue(arg).replace('/etc/sidecar', folder))
    const [, uuid = '', identity = ''] = /\/([^/.]+)\.sidecar\.([^/]+)\/$/.exec(all.at(-1) ?? '') ?? []
    const { commonName, credential } = repo.host.admit(uuid, identity)
    repo.host.say(uuid, 'hello')
    repo.host.forget(commonName)
    const root = repo.host.controlPlane.certificate
    const contents: Readonly<Record<string, string>> = {
      'bootstrap.chain': credential.chain,
      'bootstrap.key': credential.privateKey,
      trustBundle: root,
      'trustBundle.last': root,
    }
    for (const { path, content } of files)
      await writeFile(join(folder, path), 'from' in content ? (contents[content.from] ?? '') : '')
    pipy = spawn('timeout', ['-k', '1', '60', process.env['PIPY_BIN'] ?? '', ...all], {
      stdio: 'ignore',
      detached: true,
    })
    await sleep(1_000)
    const known = Date.now()
    repo.host.admit(uuid, identity)
    await eventually(
      () => [...repo.server.sessions].length,
      (count) => count === 1,
      { what: 'a session' },
    )
    expect(Date.now() - known).toBeLessThan(RETRY_MS - 500)
  })
})
