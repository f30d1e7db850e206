import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

describe('osm machine join by a token of a service account', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-machine-'))
    await writeFile(join(folder, 'account-token'), 'a.b.c')
    await writeFile(join(folder, 'empty.pem'), 'nonsense')
  })
  afterAll(() => rm(folder, { recursive: true }))

  async function joining(...args: readonly string[]) {
    const { context, stdout, stderr } = fakeContext({ cwd: folder })
    const command = ['machine', 'join', 'https://192.0.2.1:9097', '--service-account-token-file', 'account-token']
    const code = await runCli([...command, '--state', 'state', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it.each([
    ['without the root that such a token does not name', [], '--root-file'],
    ['with a file that holds no certificate', ['--root-file', 'empty.pem'], 'empty.pem has no certificate in PEM'],
    ['with a file that is missing', ['--root-file', 'missing.pem'], 'missing.pem cannot be read'],
    ['beside a join token', ['--token-file', 'token'], 'cannot be used with'],
  ])('is refused %s', async (_what, args, words) => {
    const { code, stderr } = await joining(...args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(words)
  })

  it('is part of the unit that it prints, by absolute paths', async () => {
    const { code, stdout } = await joining('--root-file', 'root.pem', '--print-systemd-unit')
    expect(code).toBe(0)
    expect(stdout).toContain(
      `--service-account-token-file ${join(folder, 'account-token')} --root-file ${join(folder, 'root.pem')}`,
    )
    expect(stdout).not.toContain('a.b.c')
  })
})

describe('osm machine join by the metadata service of Azure', () => {
  const joining = async (...args: readonly string[]) => {
    const { context, stdout, stderr } = fakeContext({ cwd: '/nowhere' })
    const code = await runCli(['machine', 'join', 'https://192.0.2.1:9097', '--azure', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }
  const identity = ['--namespace', 'shop', '--service-account', 'store']

  it.each([
    ['without an identity', ['--root-file', 'root.pem'], '--azure needs --namespace and --service-account'],
    ['without a root', identity, '--azure needs --root-file'],
    ['with a root that is missing', [...identity, '--root-file', 'root.pem'], 'root.pem cannot be read'],
    ['beside a join token', [...identity, '--token-file', 'token'], 'cannot be used with'],
    ['with a metadata service over TLS', [...identity, '--azure-metadata', 'https://192.0.2.1'], 'It must be http://'],
  ])('is refused %s', async (_what, args, words) => {
    const { code, stderr } = await joining(...args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(words)
  })

  it('is part of the unit that it prints', async () => {
    const { code, stdout } = await joining(...identity, '--root-file', 'root.pem', '--print-systemd-unit')
    expect(code).toBe(0)
    expect(stdout).toContain(
      '--azure --azure-metadata http://169.254.169.254 --namespace shop --service-account store --root-file /nowhere/root.pem',
    )
  })
})

describe('osm machine join --transparent', () => {
  const joining = async (...args: readonly string[]) => {
    const { context, stdout, stderr } = fakeContext({ cwd: '/nowhere' })
    const code = await runCli(['machine', 'join', 'https://192.0.2.1:9097', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it.each([
    ['--exclude-outbound-ports', '22'],
    ['--exclude-outbound-ip-ranges', '10.0.0.0/8'],
    ['--include-outbound-ip-ranges', '10.0.0.0/8'],
    ['--sidecar-uid', '1501'],
  ])('is needed by %s', async (option, value) => {
    const { code, stderr } = await joining(option, value)
    expect(code).not.toBe(0)
    expect(stderr).toContain(`${option} needs --transparent`)
  })

  it('is part of the unit that it prints, with what bypasses the sidecar', async () => {
    const excluded = ['--exclude-outbound-ports', '22,25', '--exclude-outbound-ports', '53', '--sidecar-uid', '1501']
    const { code, stdout } = await joining('--transparent', ...excluded, '--print-systemd-unit')
    expect(code).toBe(0)
    expect(stdout).toContain(' --transparent --exclude-outbound-ports 22,25,53 --sidecar-uid 1501 ')
  })
})

describe('osm machine join --network', () => {
  const joining = async (...args: readonly string[]) => {
    const { context, stdout, stderr } = fakeContext({ cwd: '/nowhere' })
    const code = await runCli(['machine', 'join', 'https://192.0.2.1:9097', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('is needed by --gateway', async () => {
    const { code, stderr } = await joining('--gateway', '203.0.113.5:15443')
    expect(code).not.toBe(0)
    expect(stderr).toContain('--gateway needs --network')
  })

  it('is part of the unit that it prints, with the gateway', async () => {
    const args = ['--network', 'onprem', '--gateway', '203.0.113.5:15443', '--print-systemd-unit']
    const { code, stdout } = await joining(...args)
    expect(code).toBe(0)
    expect(stdout).toContain(' --network onprem --gateway 203.0.113.5:15443 ')
  })
})
