import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { injectorContext, resolveValue, testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { patch } from '@osm-ts/driver-pipy/testing'
import { CONTROL_PLANE, sidecarName } from './support/base-config.js'

const before = testAuthority('the previous root')
const next = testAuthority('the root that takes its place')

/** A list of one script, and that script, over mutual TLS. */
async function repo(signer: typeof before): Promise<{ readonly server: Server; readonly seen: string[] }> {
  const seen: string[] = []
  const { chain, privateKey } = signer.issue(CONTROL_PLANE)
  const ca = [before.certificate, next.certificate]
  const server = createServer(
    { cert: chain, key: privateKey, ca, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const path = request.url ?? ''
      seen.push(path.split('/').at(-1) ?? '')
      response.setHeader('etag', 'one')
      response.end(path.endsWith('/main.js') ? 'new Timeout(3600).wait()' : '/main.js\n')
    },
  )
  server.on('tlsClientError', () => seen.push('refused'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, seen }
}

describe('a real Pipy that starts while a root takes the place of another', () => {
  let folder: string
  let pipy: ChildProcess | undefined
  let server: Server | undefined

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-pipy-'))
  })
  afterEach(async () => {
    if (pipy?.pid !== undefined && pipy.exitCode === null && pipy.signalCode === null) {
      const ended = once(pipy, 'exit')
      process.kill(-pipy.pid, 'SIGKILL')
      await ended
    }
    server?.closeAllConnections()
    server?.close()
    await rm(folder, { recursive: true })
  })

  /** Starts Pipy as the patch has it, with the roots as they are in its files. Gives what the repo sees first. */
  async function firstSeen(
    signer: typeof before,
    bundle: readonly string[],
    keep: (arg: string) => boolean = () => true,
  ): Promise<string> {
    const started = await repo(signer)
    server = started.server
    const { port } = started.server.address() as AddressInfo
    const controlPlane = { address: '127.0.0.1', port, serverName: CONTROL_PLANE }
    const { sidecar, files } = await patch(injectorContext({ controlPlane }))
    const own = before.issue(sidecarName('client'))
    const contents: Readonly<Record<string, string>> = {
      'bootstrap.chain': own.chain,
      'bootstrap.key': own.privateKey,
      trustBundle: bundle.join(''),
      'trustBundle.last': bundle.at(-1) ?? '',
    }
    for (const { path, content } of files)
      await writeFile(join(folder, path), 'from' in content ? (contents[content.from] ?? '') : '')
    const args = sidecar.args.map((arg) => resolveValue(arg).replace('/etc/sidecar', folder)).filter(keep)
    pipy = spawn('timeout', ['-k', '1', '60', process.env['PIPY_BIN'] ?? '', ...args], {
      stdio: 'ignore',
      detached: true,
    })
    await eventually(
      () => started.seen.length,
      (count) => count > 0,
      { what: 'a handshake' },
    )
    // A list is followed by what is in it.
    if (started.seen[0] !== 'refused')
      await eventually(
        () => started.seen.includes('main.js'),
        (has) => has,
        { what: 'a download' },
      )
    return started.seen[0] === 'refused' ? 'refused' : 'downloaded'
  }

  const bundles = [
    ['the old one signs', before, [before.certificate, next.certificate]],
    ['the new one signs and stands behind the old one', next, [before.certificate, next.certificate]],
    ['the new one signs and stands first', next, [next.certificate, before.certificate]],
    ['there is only one', before, [before.certificate]],
  ] as const

  it.each(bundles)('gets its scripts when %s', async (_what, signer, bundle) => {
    expect(await firstSeen(signer, bundle)).toBe('downloaded')
  })

  it('refuses a repo of another root, and would not know the new one by the file of both', async () => {
    const isFirst = (arg: string): boolean => !arg.includes('last-root')
    expect(await firstSeen(next, [before.certificate, next.certificate], isFirst)).toBe('refused')
  })
})
