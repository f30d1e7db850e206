import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

describe('osm env', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-env-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const env = async (
    variables: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> => {
    const { context, stdout, stderr } = fakeContext({ variables })
    const code = await runCli(['env', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('prints defaults in the form of the file, which reads them back', async () => {
    const { code, stdout } = await env({})
    expect([code, stdout]).toEqual([
      0,
      '---\ninstall:\n  kind: self-hosted\n  distribution: ""\n  namespace: osm-system\n',
    ])
    const path = join(folder, 'again.yaml')
    writeFileSync(path, stdout)
    await expect(env({ OSM_CONFIG: path })).resolves.toMatchObject({ code: 0, stdout })
  })

  it('prints what the file says', async () => {
    const path = join(folder, 'managed.yaml')
    writeFileSync(path, 'install: {kind: managed, distribution: example, namespace: kube-mesh}\n')
    const { stdout } = await env({ OSM_CONFIG: path }, '-o', 'json')
    expect(JSON.parse(stdout)).toEqual({
      install: { kind: 'managed', distribution: 'example', namespace: 'kube-mesh' },
    })
  })

  it('prints the namespace that commands take, which the command line and OSM_NAMESPACE choose first', async () => {
    const chosen = async (variables: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> =>
      /namespace: (.*)/.exec((await env(variables, ...args)).stdout)?.[1] ?? ''
    await expect(chosen({ OSM_NAMESPACE: 'of-variable' })).resolves.toBe('of-variable')
    await expect(chosen({ OSM_NAMESPACE: 'of-variable' }, '--osm-namespace', 'of-line')).resolves.toBe('of-line')
  })

  it('ends with 1 when the file is wrong', async () => {
    const path = join(folder, 'wrong.yaml')
    writeFileSync(path, 'install: {kind: hired}\n')
    const { code, stdout, stderr } = await env({ OSM_CONFIG: path })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      `osm: ${path}: install.kind is "hired" [OSM_CLI_CONFIG]\n  it must be one of self-hosted, managed\n`,
    )
  })
})
