import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { quitCluster, messageRegistry, encodedResource, resourceJson } from '@osm-ts/driver-envoy/testing'
import { envoyBinary } from './support/mesh.js'
import { type Json, writeXdsFiles } from './support/xds-files.js'

const noSecrets = { chain: '', privateKey: '', roots: '' }
const nothing = { cluster: {}, endpoints: {}, listener: {}, extension: {}, route: {}, callers: {} }
const limitMs = 20_000

/** File from which an Envoy with that bootstrap configuration reads its clusters. */
function clustersOf(bootstrap: Json): string {
  const { dynamicResources } = bootstrap as {
    readonly dynamicResources: { readonly cdsConfig: { readonly pathConfigSource: { readonly path: string } } }
  }
  return dynamicResources.cdsConfig.pathConfigSource.path
}

describe('a real Envoy', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-workload-end-'))
  })

  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  it('ends with success when it is given the cluster of workloads that have ended, and runs until then', async () => {
    const adminAddress = join(folder, 'admin')
    const bootstrap = join(folder, 'bootstrap.json')
    const config = writeXdsFiles(folder, nothing, noSecrets)
    writeFileSync(bootstrap, JSON.stringify(config))
    const envoy = spawn(
      envoyBinary(),
      ['--config-path', bootstrap, '--admin-address-path', adminAddress, '--disable-hot-restart', '--concurrency', '1'],
      { stdio: 'ignore' },
    )
    const exited = once(envoy, 'exit') as Promise<[number | null, string | null]>
    try {
      const readyAt = async (): Promise<string> => {
        const host = readFileSync(adminAddress, 'utf8')
        await fetch(`http://${host}/ready`)
        return host
      }
      const host = await eventually(
        () => readyAt().catch(() => ''),
        (found) => found !== '',
        { what: 'an administration interface' },
      )
      const [address = '', port] = host.split(':')
      const quit = resourceJson(
        'cluster',
        encodedResource('quit', quitCluster({ address, port: Number(port) }), []),
        messageRegistry(),
      ) as Json
      expect(envoy.exitCode).toBeNull()
      // Envoy reads a file again when another one is moved into its place.
      const given = writeXdsFiles(mkdtempSync(join(folder, 'later-')), { ...nothing, cluster: { quit } }, noSecrets)
      renameSync(clustersOf(given), clustersOf(config))
      const timer = new AbortController()
      const [code] = await Promise.race([
        exited,
        sleep(limitMs, undefined, { signal: timer.signal }).then((): never => {
          throw new Error('Envoy still runs')
        }),
      ])
      timer.abort()
      expect(code).toBe(0)
    } finally {
      envoy.kill('SIGKILL')
      await exited
    }
  })
})
