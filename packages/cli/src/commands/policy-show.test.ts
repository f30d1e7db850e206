import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ServiceReport } from '@osm-ts/core'

import { fakeContext } from '../../test/fake-context.js'
import { PageMesh } from '../../test/page-mesh.js'
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
  let mesh: PageMesh

  beforeAll(async () => {
    mesh = await PageMesh.open('/debug/services?service=shop%2Fstore', () => report)
  })
  afterAll(async () => {
    await mesh.close()
  })

  async function show(...args: readonly string[]) {
    const { context, stdout, stderr } = fakeContext({ cwd: mesh.folder })
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
