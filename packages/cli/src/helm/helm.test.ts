import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { findChart } from './find-chart.js'
import { findHelm, runHelm } from './helm.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'osm-helm-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A program in place of helm, for versions and faults that the installed helm does not have. */
function script(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return path
}

const variables = { PATH: '/usr/bin:/bin' }

describe('finding helm', () => {
  it.each([
    ['v3.14.0+g3fc9f4b', 'v3.14.0', 3],
    ['v3.20.1', 'v3.20.1', 3],
    ['v4.1.4+g05fa379', 'v4.1.4', 4],
    ['v4.0.0-rc.1+gabc', 'v4.0.0-rc.1', 4],
  ])('takes %s', async (said, version, major) => {
    const program = script('helm', `echo '${said}'`)
    const { context } = fakeContext({ variables: { ...variables, HELM_BIN: program } })
    await expect(findHelm(context, undefined)).resolves.toEqual({ program, version, major })
  })

  it('prefers what the command line names', async () => {
    const program = script('other-helm', 'echo v3.15.0')
    const { context } = fakeContext({ cwd: folder, variables: { ...variables, HELM_BIN: '/nowhere/helm' } })
    await expect(findHelm(context, 'other-helm')).resolves.toMatchObject({ program })
  })

  it.each([
    ['v3.13.3+g1', /is helm v3\.13\.3, which is too old/],
    ['v2.17.0', /is helm v2\.17\.0, which is too old/],
    ['something else', /does not print a helm version/],
  ])('refuses a program that answers %j', async (said, message) => {
    const { context } = fakeContext({ variables })
    await expect(findHelm(context, script('wrong', `echo '${said}'`))).rejects.toMatchObject({
      code: 'OSM_CLI_HELM_OLD',
      message: expect.stringMatching(message),
      details: { hint: expect.stringContaining('3.14 or newer') },
    })
  })

  it('says how to get one where there is none', async () => {
    const { context } = fakeContext({ variables: { PATH: folder } })
    rmSync(join(folder, 'helm'), { force: true })
    await expect(findHelm(context, undefined)).rejects.toMatchObject({
      code: 'OSM_CLI_HELM_MISSING',
      message: 'there is no helm on the PATH',
      details: { hint: expect.stringContaining('https://helm.sh') },
    })
  })
})

describe('running helm', () => {
  const run = (program: string, more: Readonly<Record<string, string>> = {}, signal = new AbortController().signal) => {
    const { context, stderr } = fakeContext({ cwd: folder, variables: { ...variables, ...more } })
    const helm = { program, version: 'v4.1.4', major: 4 }
    return { context, stderr, helmRun: { helm, namespace: 'n', flags: { context: 'there' }, context, signal } }
  }

  it('hands arguments over as they are, and its own place instead of that of variables', async () => {
    const out = join(folder, 'seen')
    const program = script('see', `for a in "$@"; do echo "[$a]"; done > ${out}; env | grep HELM_ | sort >> ${out}`)
    const { helmRun } = run(program, { HELM_KUBECONTEXT: 'elsewhere', HELM_NAMESPACE: 'x', HELM_DEBUG: 'false' })
    const value = `--set=a=$(touch ${folder}/pwned) 'b' "c" ; d`
    await runHelm(helmRun, ['install', value])
    const { readFileSync, existsSync } = await import('node:fs')
    expect(readFileSync(out, 'utf8').trim().split('\n')).toEqual([
      '[install]',
      `[${value}]`,
      '[--namespace=n]',
      '[--kube-context=there]',
      'HELM_DEBUG=false',
    ])
    expect(existsSync(join(folder, 'pwned'))).toBe(false)
  })

  it('passes on what helm warns of, and throws what it failed with', async () => {
    const warned = run(script('warn', 'echo "WARNING: careful" >&2'))
    await runHelm(warned.helmRun, ['install'])
    expect(warned.stderr.text).toBe('helm: WARNING: careful\n')
    const failed = run(script('fail', `printf 'Error: INSTALLATION FAILED: no\\n\\033[31mred\\n' >&2; exit 1`))
    await expect(runHelm(failed.helmRun, ['install'])).rejects.toMatchObject({
      code: 'OSM_CLI_HELM',
      message: 'helm install failed: INSTALLATION FAILED: no\n  ·[31mred',
    })
  })

  it('ends helm when the command is ended, and waits until it has ended', async () => {
    const out = join(folder, 'ended')
    const program = script(
      'slow',
      `trap 'echo interrupted > ${out}; exit 1' INT; echo started > ${out}; while :; do sleep 0.05; done`,
    )
    const ending = new AbortController()
    const { helmRun } = run(program, {}, ending.signal)
    const running = runHelm(helmRun, ['install'])
    const { existsSync, readFileSync } = await import('node:fs')
    while (!existsSync(out)) await new Promise((resolve) => setTimeout(resolve, 10))
    ending.abort(new Error('ended by SIGINT'))
    await expect(running).rejects.toThrow('ended by SIGINT')
    expect(readFileSync(out, 'utf8')).toBe('interrupted\n')
  })
})

describe('finding the chart', () => {
  it('takes the folder beside the program, else that of the checkout, else what is named', () => {
    const checkout = new URL('../../', import.meta.url).pathname
    const { context } = fakeContext({ cwd: folder, programFolder: join(checkout, 'src') })
    expect(findChart(context, undefined)).toBe(new URL('../../../../charts/osm', import.meta.url).pathname)
    for (const name of ['chart', 'mine']) {
      mkdirSync(join(folder, name))
      writeFileSync(join(folder, name, 'Chart.yaml'), '')
    }
    expect(findChart({ ...context, programFolder: folder }, undefined)).toBe(join(folder, 'chart'))
    expect(findChart(context, 'mine')).toBe(join(folder, 'mine'))
  })

  it('says where it looked', () => {
    const { context } = fakeContext({ cwd: folder, programFolder: '/nowhere/at/all' })
    expect(() => findChart(context, undefined)).toThrow('/nowhere/at/all/chart')
    expect(() => findChart(context, 'missing')).toThrow('missing is not a chart')
  })
})
