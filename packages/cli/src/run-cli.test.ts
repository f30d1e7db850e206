import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'

import { fakeContext } from '../test/fake-context.js'
import { samplePolicy } from '../test/sample-policy.js'
import { proxyStatus } from '../test/sample-view.js'
import { describeError, runCli } from './run-cli.js'

const bookstore = new URL('../../../examples/bookstore/mesh', import.meta.url).pathname

async function osm(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { context, stdout, stderr } = fakeContext({ cwd: bookstore })
  const code = await runCli(args, context)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

describe('the command line', () => {
  it('ends with 2 when it is wrong, and says how to use it', async () => {
    for (const args of [
      ['bogus'],
      ['proxy', 'get', '../passwords', 'x'],
      ['proxy', 'status', '-o', 'xml'],
      ['standalone', 'run'],
      ['demo', '--seconds', '0'],
      ['policy', 'can', 'absent', 'a/b'],
      ['policy', 'can', 'a/b', 'a/b:99999'],
      ['policy', 'can', 'a/b', 'a/b', 'GET', 'no-slash'],
      ['policy', 'can', 'a/b', 'a/b', '-H', 'no colon'],
    ]) {
      const { code, stderr } = await osm(...args)
      expect([args, code]).toEqual([args, 2])
      expect(stderr).toContain('--help')
    }
  })

  it('ends with 0 after help and version', async () => {
    expect(await osm('--help')).toMatchObject({ code: 0, stderr: '' })
    expect(await osm('proxy', 'status', '--help')).toMatchObject({ code: 0 })
    expect(await osm('--version')).toMatchObject({ code: 0, stdout: '0.0.0\n' })
  })

  it('tells an error in one line with its code, a hint, and no stack', async () => {
    const { code, stderr } = await osm('standalone', 'validate', 'no-such-folder')
    expect(code).toBe(1)
    expect(stderr.split('\n')).toEqual([
      'osm: no-such-folder is not a folder [OSM_CLI_FOLDER]',
      '  give the folder with the YAML files of the mesh',
      '',
    ])
  })

  it('shows the stack to those who ask, wherever they ask', async () => {
    const { stderr } = await osm('standalone', 'validate', 'no-such-folder', '--verbose')
    expect(stderr).toMatch(/^ {4}at /m)
  })
})

describe('describeError', () => {
  it('follows causes when it is verbose', () => {
    const error = new OsmError('OSM_X_Y', 'outer', { cause: new Error('inner') })
    expect(describeError(error, false)).toBe('osm: outer [OSM_X_Y]\n')
    expect(describeError(error, true)).toContain('caused by: inner')
  })
})

describe('osm standalone validate', () => {
  it('finds nothing wrong with the bookstore', async () => {
    expect(await osm('standalone', 'validate', '.')).toEqual({ code: 0, stdout: '0 errors, 0 warnings\n', stderr: '' })
  })

  it('names file, line, object and field of what is wrong', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'osm-cli-'))
    try {
      writeFileSync(
        join(folder, 'split.yaml'),
        'apiVersion: split.smi-spec.io/v1alpha4\nkind: TrafficSplit\nmetadata:\n  name: s\n  namespace: shop\nspec:\n  service: shop\n  backends: 7\n',
      )
      const { context, stdout } = fakeContext({ cwd: folder })
      expect(await runCli(['standalone', 'validate', '.'], context)).toBe(1)
      expect(stdout.text).toMatch(/^split\.yaml:8:3: error OSM_SPEC_SCHEMA {2}TrafficSplit shop\/s: spec\.backends\n/)
      const json = fakeContext({ cwd: folder })
      await runCli(['standalone', 'validate', '.', '-o', 'json'], json.context)
      expect(JSON.parse(json.stdout.text)).toMatchObject([
        { field: 'spec.backends', origin: { file: 'split.yaml', line: 8 } },
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('osm policy can', () => {
  it('names the deciding rule and where it is written down', async () => {
    const { code, stdout } = await osm(
      'policy',
      'can',
      'bookbuyer/bookbuyer',
      'bookstore/bookstore-v1',
      'GET',
      '/buy-a-book/new',
      '-f',
      '.',
    )
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'ALLOWED',
      '  ✓ bookstore/bookstore-v1, served by bookstore/bookstore',
      expect.stringMatching(
        /^ {6}TrafficTarget bookstore\/bookbuyer-access-bookstore spec\.rules\[0\] {2}traffic-access\.yaml:\d+:\d+$/,
      ),
      expect.stringMatching(
        /^ {6}HTTPRouteGroup bookstore\/bookstore-service-routes match buy-a-book {2}traffic-specs\.yaml:\d+:\d+$/,
      ),
      '',
    ])
  })

  it('gives the nearest reasons of a denial, and ends with 1', async () => {
    const { code, stdout } = await osm(
      'policy',
      'can',
      'bookthief/bookthief',
      'bookstore/bookstore',
      'GET',
      '/buy-a-book/new',
      '-f',
      '.',
    )
    expect(code).toBe(1)
    expect(stdout).toMatch(/^DENIED\n/)
    expect(stdout).toContain('bookthief-access-bookstore')
  })

  it('takes a workload for the caller, and answers for TCP', async () => {
    expect(await osm('policy', 'can', 'tcp-demo/tcp-client', 'tcp-demo/tcp-echo:9000', '-f', '.')).toMatchObject({
      code: 0,
    })
    expect(
      await osm(
        'policy',
        'can',
        'bookstore/bookstore-v1',
        'bookwarehouse/bookwarehouse',
        'post',
        '/restock-books',
        '-f',
        '.',
      ),
    ).toMatchObject({
      code: 0,
    })
  })

  it('refuses an unknown caller', async () => {
    const { code, stderr } = await osm('policy', 'can', 'a/b', 'bookstore/bookstore', '-f', '.')
    expect(code).toBe(1)
    expect(stderr).toContain('[OSM_CLI_NOT_FOUND]')
    expect(stderr).toContain('bookbuyer/bookbuyer')
  })
})

describe('osm proxy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-cli-'))
  let server: Server
  const rejected = proxyStatus('bookstore-v2-0', 'bookstore', 'bookstore', {
    state: 'rejected',
    rejected: [
      {
        kind: 'inbound',
        id: 'bookstore/bookstore-v2|14001',
        message: 'bad regex',
        sources: [
          {
            object: { kind: 'HTTPRouteGroup', namespace: 'bookstore', name: 'routes' },
            field: 'spec.matches[0].pathRegex',
          },
        ],
      },
    ],
    denied: ['bookstore/bookstore-v2|14001'],
  })
  const since = '2026-01-01T00:00:00Z'
  const stranger = { address: '10.0.0.7', code: 'OSM_WHO', message: 'shows nothing', since, last: since, times: 1 }
  const half = {
    code: 'OSM_POLICY_WITHOUT_SIDECAR',
    severity: 'warning',
    message: 'one of two endpoints has no sidecar',
    object: { kind: 'Service', namespace: 'bookstore', name: 'bookstore' },
  }
  let statuses = [proxyStatus('bookbuyer-0', 'bookbuyer', 'bookbuyer'), rejected]

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://debug')
      const admin = { ...samplePolicy().proxy.listen.admin!, port: (server.address() as AddressInfo).port }
      const policy = { ...samplePolicy(), proxy: { ...samplePolicy().proxy, listen: { admin } } }
      const pages: Readonly<Record<string, unknown>> = {
        '/debug/status': { proxies: statuses, refused: [stranger] },
        '/debug/problems': { problems: [half] },
        '/debug/policy': policy,
        '/ready': 'LIVE',
      }
      response.statusCode = pathname in pages ? 200 : 404
      response.end(JSON.stringify(pages[pathname]))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    mkdirSync(join(folder, '.osm-standalone'))
    const controllerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const mesh = { pid: process.pid, folder, mode: 'explicit', controllerUrl }
    writeFileSync(join(folder, '.osm-standalone/mesh.json'), JSON.stringify(mesh))
  })
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true })
  })

  async function proxy(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { context, stdout, stderr } = fakeContext({ cwd: folder })
    const code = await runCli(['proxy', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('status traces what was refused back to its source, and ends with 1', async () => {
    const { code, stdout } = await proxy('status')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^NAME +IDENTITY +CLASS +STATE +VERSION +LAST ACK\n/)
    expect(stdout).toMatch(/^bookbuyer\/bookbuyer-0 +bookbuyer\.bookbuyer +envoy +applied +\S{8} +\d+d$/m)
    expect(stdout).toContain(
      'REJECTED by bookstore/bookstore-v2-0: inbound bookstore/bookstore-v2|14001\n  bad regex\n',
    )
    expect(stdout).toContain('  from HTTPRouteGroup bookstore/routes spec.matches[0].pathRegex\n')
    expect(stdout).toContain('DENIED by bookstore/bookstore-v2-0')
  })

  it('status ends with 0 when all is applied', async () => {
    statuses = [proxyStatus('bookbuyer-0', 'bookbuyer', 'bookbuyer')]
    expect(await proxy('status')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('REFUSED 10.0.0.7: OSM_WHO'),
    })
    const { stdout } = await proxy('status', '-o', 'json')
    expect(JSON.parse(stdout)).toEqual({ proxies: statuses, refused: [stranger], halfEnrolled: [half] })
    statuses = [...statuses, rejected]
  })

  it('list gives names and uuids', async () => {
    const { code, stdout } = await proxy('list', '-o', 'json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'bookbuyer/bookbuyer-0' }, { name: 'bookstore/bookstore-v2-0' }])
  })

  it('config says in its summary who may call, and where calls go', async () => {
    const { code, stdout } = await proxy('config', 'bookstore-v2-0')
    expect(code).toBe(0)
    expect(stdout).toContain('GET /buy-a-book/new             from bookbuyer.bookbuyer.cluster.local')
    expect(stdout).toContain('→ bookstore/bookstore-v1|14001 75 %, bookstore/bookstore-v2|14001 25 %')
    expect(JSON.parse((await proxy('config', 'bookstore-v2-0', '-o', 'json')).stdout)).toHaveProperty('parts')
    expect((await proxy('config', 'bookstore-v2-0', '-o', 'yaml')).stdout).toMatch(/^policyVersion: 1$/m)
  })

  it('get prints a page of the sidecar', async () => {
    expect(await proxy('get', 'ready', 'bookstore/bookstore-v2-0')).toMatchObject({ code: 0, stdout: '"LIVE"\n' })
    expect(await proxy('get', 'certs', 'bookstore-v2-0')).toMatchObject({ code: 1 })
  })

  it('says which instances there are when it does not know one', async () => {
    const { code, stderr } = await proxy('config', 'absent')
    expect(code).toBe(1)
    expect(stderr).toContain('[OSM_CLI_INSTANCE]\n  choose one of bookbuyer/bookbuyer-0, bookstore/bookstore-v2-0\n')
  })
})
