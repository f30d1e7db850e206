import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ServiceReport } from '@osm-ts/core'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

const account = (name: string) => ({ account: { namespace: 'shop', name }, services: [] })
const any = { path: { type: 'regex', value: '/.*' } } as const
const report: ServiceReport = {
  service: { namespace: 'shop', name: 'store' },
  accounts: [{ identity: 'store.shop', services: ['shop/store'], inbound: ['client.shop'], outbound: [] }],
  inboundServices: [],
  trafficPolicies: [
    {
      target: { kind: 'TrafficTarget', namespace: 'shop', name: 'store' },
      source: account('client'),
      destination: account('store'),
      httpRoutes: [any],
      tcpPorts: [3306],
    },
  ],
  hosts: ['store', 'store.shop'],
  weight: 100,
  upstreams: ['shop/store|8080'],
  endpoints: [{ address: '10.0.0.1', port: 8080, identity: 'store.shop' }],
  ingress: { routes: { '*': [any] }, policies: [] },
}

describe('osm policy show', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-policy-show-'))
  let server: Server

  beforeAll(async () => {
    server = createServer((request, response) => {
      response.statusCode = request.url === '/debug/services?service=shop%2Fstore' ? 200 : 404
      response.end(JSON.stringify(report))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const controllerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    mkdirSync(join(folder, '.osm-standalone'))
    const mesh = { pid: process.pid, folder, mode: 'explicit', controllerUrl }
    writeFileSync(join(folder, '.osm-standalone/mesh.json'), JSON.stringify(mesh))
  })
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true })
  })

  async function show(...args: readonly string[]) {
    const { context, stdout, stderr } = fakeContext({ cwd: folder })
    const code = await runCli(['policy', 'show', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('says who may call a service, under which names, and where it runs', async () => {
    const { code, stdout } = await show('shop/store')
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual([
      'shop/store  weight 100',
      'SERVICE ACCOUNTS',
      '  store.shop is behind shop/store',
      'CALLERS',
      '  client.shop',
      'CALLING SERVICES',
      '  none',
      'CALLS',
      '  none',
      'TRAFFICTARGETS',
      '  TrafficTarget shop/store: client.shop → store.shop: /.*; connections to port 3306',
      'HOST NAMES',
      '  store',
      '  store.shop',
      'ENDPOINTS',
      '  10.0.0.1 port 8080 (store.shop)',
      'LIMITS',
      '  none',
      'INGRESS',
      '  host *: /.*',
    ])
    expect(code).toBe(0)
  })

  it('gives the same as JSON', async () => {
    expect(JSON.parse((await show('shop/store', '-o', 'json')).stdout)).toEqual(report)
  })

  it('says so where the mesh has no such service', async () => {
    await expect(show('shop/none')).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('[OSM_CLI_NOT_FOUND]') as unknown,
    })
  })
})
