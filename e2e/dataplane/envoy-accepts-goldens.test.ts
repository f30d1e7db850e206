import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { envoyBinary } from './support/mesh.js'
import { type ResourceJson, type TestSecrets, writeXdsFiles } from './support/xds-files.js'

const goldens = new URL('../../packages/driver-envoy/src/testdata/out/', import.meta.url)
const cases = readdirSync(goldens).sort()

/** What Envoy made of the files that it read. */
interface Verdict {
  readonly clusters: readonly string[]
  readonly listeners: readonly string[]
  readonly rejected: readonly string[]
}

/** Counters of refusals, of every kind of resource that can be refused. */
const REFUSALS = /^\S*(?:update_rejected|update_failure|ssl_context_update_by_sds_failed): [1-9]\d*$/gm

describe('a real Envoy accepts', () => {
  let folder: string
  let secrets: TestSecrets

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-goldens-'))
    const authority = testAuthority('root of goldens')
    const { chain, privateKey } = authority.issue('anyone.anywhere.cluster.local', {
      dns: ['anyone.anywhere.cluster.local'],
    })
    secrets = { chain, privateKey, roots: authority.certificate }
  })

  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  async function verdictOn(resources: ResourceJson): Promise<Verdict> {
    const own = mkdtempSync(join(folder, 'case-'))
    const adminAddress = join(own, 'admin')
    const bootstrap = join(own, 'bootstrap.json')
    writeFileSync(bootstrap, JSON.stringify(writeXdsFiles(own, resources, secrets)))
    const envoy = spawn(
      envoyBinary(),
      ['--config-path', bootstrap, '--admin-address-path', adminAddress, '--disable-hot-restart', '--concurrency', '1'],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let log = ''
    envoy.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
    const ended = once(envoy, 'exit')
    try {
      const ask = async (path: string): Promise<string> => {
        if (envoy.exitCode !== null) throw new Error(`Envoy has ended: ${log}`)
        const response = await fetch(`http://${readFileSync(adminAddress, 'utf8')}${path}`)
        return response.text()
      }
      await eventually(
        () => ask('/ready').catch((error: unknown) => String(error)),
        (answer) => answer.startsWith('LIVE') || answer.includes('Envoy has ended'),
        { what: 'a live Envoy' },
      )
      const clusters = JSON.parse(await ask('/clusters?format=json')) as {
        readonly cluster_statuses?: readonly { readonly name: string }[]
      }
      const listeners = JSON.parse(await ask('/listeners?format=json')) as {
        readonly listener_statuses?: readonly { readonly name: string }[]
      }
      return {
        clusters: (clusters.cluster_statuses ?? []).map(({ name }) => name).sort(),
        listeners: (listeners.listener_statuses ?? []).map(({ name }) => name).sort(),
        rejected: [...(await ask('/stats')).matchAll(REFUSALS)].map(([line]) => line),
      }
    } finally {
      envoy.kill('SIGKILL')
      await ended
    }
  }

  it.each(cases)('%s', async (file) => {
    const resources = JSON.parse(readFileSync(new URL(file, goldens), 'utf8')) as ResourceJson
    await expect(verdictOn(resources)).resolves.toEqual({
      clusters: Object.keys(resources.cluster).sort(),
      listeners: Object.keys(resources.listener).sort(),
      rejected: [],
    })
  })

  it('and would not accept just anything', async () => {
    const resources = JSON.parse(readFileSync(new URL('explicit.json', goldens), 'utf8')) as ResourceJson
    const [name = '', cluster = {}] = Object.entries(resources.cluster)[0] ?? []
    const broken = { ...resources, cluster: { ...resources.cluster, [name]: { ...cluster, connectTimeout: '-1s' } } }
    const { rejected } = await verdictOn(broken)
    expect(rejected).not.toEqual([])
  })
})
