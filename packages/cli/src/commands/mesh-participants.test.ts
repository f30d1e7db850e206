import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyParticipation } from '@osm-ts/core'

import { fakeContext } from '../../test/fake-context.js'
import { PageMesh } from '../../test/page-mesh.js'
import { runCli } from '../run-cli.js'

const store = { namespace: 'shop', name: 'store' }

function proxy(instance: string, state: string, services: ProxyParticipation['services'] = []): object {
  const uuid = `uuid-of-${instance}`
  const commonName = `${uuid}.sidecar.store.shop.cluster.local`
  return { uuid, commonName, name: `shop/${instance}`, identity: 'store.shop', state, services }
}

describe('osm mesh participants', () => {
  let mesh: PageMesh
  let page: object = {}

  beforeAll(async () => {
    mesh = await PageMesh.open('/debug/participants', () => page)
  })
  afterAll(async () => {
    await mesh.close()
  })

  async function participants(answer: object, ...args: readonly string[]) {
    page = answer
    const { context, stdout, stderr } = fakeContext({ cwd: mesh.folder })
    const code = await runCli(['mesh', 'participants', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  const report = {
    proxies: [
      proxy('store-0', 'participant', [store]),
      proxy('store-1', 'unclaimed'),
      proxy('store-2', 'withoutEndpoint'),
      proxy('store-3', 'disconnected', [store]),
    ],
    endpointsWithoutProxy: [
      { service: store, address: '10.0.0.3', port: 8080, reason: 'notConnected', provider: 'azure' },
      { service: store, address: 'fd00::9', port: 8080, reason: 'noSidecar' },
    ],
  }

  it('lists how far each proxy has got, and endpoints without a proxy below', async () => {
    const { code, stdout } = await participants(report)
    expect(stdout.split('\n')).toEqual([
      'NAME          IDENTITY    STATE             SERVICES',
      'shop/store-0  store.shop  participant       shop/store',
      'shop/store-1  store.shop  unclaimed         -',
      'shop/store-2  store.shop  without endpoint  -',
      'shop/store-3  store.shop  disconnected      shop/store',
      '',
      'ENDPOINTS WITHOUT PROXY',
      '  SERVICE     ADDRESS         PROVIDER  REASON',
      '  shop/store  10.0.0.3:8080   azure     its proxy is not connected',
      '  shop/store  [fd00::9]:8080  -         the workload has no sidecar',
      '',
    ])
    expect(code).toBe(0)
  })

  it('gives the same as JSON', async () => {
    const { code, stdout } = await participants({ ...report, summary: {} }, '-o', 'json')
    expect([code, JSON.parse(stdout)]).toEqual([0, report])
  })

  it('says that it does not understand another answer', async () => {
    await expect(participants({ ...report, proxies: [{ name: 1 }] })).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('[OSM_CLI_ANSWER]') as unknown,
    })
  })
})
