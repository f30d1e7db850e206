import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { account, egress, egressGateway, meshConfig, service, workload } from './support/yaml.js'

describe('a gateway of a mode that the sidecar does not know', () => {
  let mesh: TestMesh
  let asked = 0
  const books = createServer((_request, response) => {
    asked += 1
    response.end('books')
  })
  const gateway = (annotations: Readonly<Record<string, string>>): string =>
    service('gateways/west', 'west', 1080, { protocol: 'tcp', annotations })
  const status = async (): Promise<number> => {
    const { port } = books.address() as AddressInfo
    return (await throughProxy(mesh.proxyOf('shop/client'), `http://localhost:${port}/`)).status
  }

  beforeAll(async () => {
    await new Promise<void>((resolve) => books.listen(0, '127.0.0.1', resolve))
    const { port } = books.address() as AddressInfo
    mesh = await startTestMesh({
      'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })],
      'workloads.yaml': [
        account('shop/client'),
        account('gateways/west'),
        workload('shop/client', { program: programs.idle }),
        workload('gateways/west', { program: programs.gateway, port: 1080 }),
      ],
      'gateway.yaml': [gateway({})],
      'policy.yaml': [
        egress('shop/books', { from: ['shop/client'], hosts: ['localhost'], ports: [`${port}/http`] }),
        egressGateway('shop/ways', 'shop/books', 'gateways/west'),
      ],
    })
  })
  afterAll(async () => {
    await mesh.stop()
    await new Promise((resolve) => books.close(resolve))
  })

  it('lets nothing out, and is reported', async () => {
    expect(await status()).toBe(200)
    expect(asked).toBe(1)
    await mesh.apply('gateway.yaml', gateway({ 'openservicemesh.io/egress-gateway-mode': 'sock5' }))
    expect([await status(), await status()]).toEqual([503, 503])
    expect(asked).toBe(1)
    expect(await mesh.problems()).toEqual([
      expect.objectContaining({
        code: 'OSM_ADMISSION_CAPABILITY',
        object: expect.objectContaining({ kind: 'Service', name: 'west' }),
        field: 'metadata.annotations["openservicemesh.io/egress-gateway-mode"]',
      }),
    ])
  })
})
