import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

describe('where somebody else manages the mesh', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-managed-'))
    writeFileSync(join(folder, 'managed.yaml'), 'install: {kind: managed, distribution: example}\n')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const osm = async (...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
    const { context, stdout, stderr } = fakeContext({ variables: { OSM_CONFIG: join(folder, 'managed.yaml') } })
    const code = await runCli(args, context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it.each([
    [['install'], 'OSM cannot be installed in a managed environment'],
    [['mesh', 'upgrade'], 'OSM cannot be upgraded in a managed environment'],
    [['uninstall', 'mesh', '-f', '-a', '--delete-namespace'], 'OSM CANNOT be uninstalled in a managed environment'],
  ])('%j is refused before a cluster is asked', async (args, message) => {
    const { code, stdout, stderr } = await osm(...args)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`osm: ${message} [OSM_CLI_MANAGED]\n`)
    expect(stderr).toContain('the mesh comes with example')
  })

  it('help and completion leave out what is refused, and nothing else', async () => {
    const commands = async (...path: readonly string[]) => (await osm(...path, '--help')).stdout
    expect(await commands()).not.toMatch(/^ {2}install /m)
    expect(await commands()).toMatch(/^ {2}mesh /m)
    expect(await commands('mesh')).toMatch(/^ {2}list /m)
    expect(await commands('mesh')).not.toMatch(/^ {2}upgrade /m)
    expect((await osm('completion', 'bash')).stdout).not.toContain('osm mesh upgrade')
  })
})
