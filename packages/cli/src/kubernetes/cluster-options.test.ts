import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

let folder: string
let kubeconfig: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'osm-cli-'))
  kubeconfig = join(folder, 'config')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    // Nothing listens on port 9 of loopback.
    clusters: [{ name: 'gone', cluster: { server: 'https://127.0.0.1:9' } }],
    contexts: [{ name: 'here', context: { cluster: 'gone', user: 'me' } }],
    users: [{ name: 'me', user: { token: 'x' } }],
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
})

afterAll(() => rmSync(folder, { recursive: true }))

async function osm(...args: readonly string[]): Promise<{ code: number; stderr: string }> {
  const { context, stderr } = fakeContext({ cwd: folder })
  return { code: await runCli(args, context), stderr: stderr.text }
}

describe('the options of a cluster', () => {
  it('may stand before the command and behind it', async () => {
    for (const args of [
      ['--kubeconfig', kubeconfig, '--context', 'there', 'namespace', 'list'],
      ['namespace', 'list', '--kubeconfig', kubeconfig, '--context', 'there'],
    ])
      expect(await osm(...args)).toEqual({
        code: 1,
        stderr:
          `osm: ${kubeconfig} has no context there; it has here [OSM_KUBERNETES_CONFIG]\n` +
          '  select the cluster with --kubeconfig and --context, or with KUBECONFIG\n',
      })
  })

  it('name the file that cannot be read', async () => {
    const { code, stderr } = await osm('namespace', 'list', '--kubeconfig', join(folder, 'none'))
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(join(folder, 'none')) })
  })

  it('say what to check if the API server does not answer', async () => {
    const { code, stderr } = await osm('namespace', 'list', '--kubeconfig', kubeconfig)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /https:\/\/127\.0\.0\.1:9.*\[OSM_KUBERNETES_UNREACHABLE\]\n {2}check that the cluster is running/,
    )
  })

  it('cannot be mixed with the state of a mesh on this machine', async () => {
    for (const option of [
      ['-n', 'shop'],
      ['--context', 'here'],
    ]) {
      const { code, stderr } = await osm('proxy', 'status', '--state', folder, '--kubeconfig', kubeconfig, ...option)
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--state') })
    }
  })

  it('choose the cluster for commands that also know a mesh on this machine', async () => {
    const { stderr } = await osm('proxy', 'status', '-n', 'shop', '--kubeconfig', kubeconfig)
    expect(stderr).toContain('OSM_KUBERNETES_UNREACHABLE')
  })
})
