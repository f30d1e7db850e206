import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { account, document, egress, egressGateway, meshConfig, service, workload } from './support/yaml.js'

const policies = 'policy.openservicemesh.io/v1alpha1'

describe('objects of a namespace that sorts first', () => {
  let mesh: TestMesh
  let port: number
  const partner = createServer((_request, response) => {
    response.end('partner')
  })
  const ask = async (): Promise<string> => {
    const { status, body } = await throughProxy(mesh.proxyOf('victim/teller'), `http://localhost:${port}/`)
    return `${status} ${body}`
  }
  const grant = (kind: string, to: Readonly<Record<string, string>>): string =>
    document(policies, 'ReferenceGrant', 'victim/consent', {
      spec: { from: [{ group: 'policy.openservicemesh.io', kind, namespace: 'aaa' }], to: [to] },
    })
  const toPartner = (): Parameters<typeof egress>[1] => ({
    from: ['victim/teller'],
    hosts: ['localhost'],
    ports: [`${port}/http`],
  })
  /** Writes objects that change no policy, and waits until that is reported for the object of the name. */
  const attack = async (name: string, ...documents: readonly string[]): Promise<void> => {
    await mesh.write('attack.yaml', ...documents)
    await eventually(
      () => mesh.problems(),
      (problems) => problems.some(({ code, object }) => code === 'OSM_SPEC_REF_NOT_PERMITTED' && object?.name === name),
      { what: `word of ${name}` },
    )
    await mesh.settled()
  }

  beforeAll(async () => {
    await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve))
    port = (partner.address() as AddressInfo).port
    mesh = await startTestMesh({
      'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })],
      'workloads.yaml': [
        account('victim/teller'),
        account('aaa/gateway'),
        workload('victim/teller', { program: programs.idle }),
        // Answers whatever it is sent: what reaches it is read and forged.
        workload('aaa/gateway', { program: programs.http, port: 1080 }),
        service('aaa/gateway', 'gateway', 1080, { protocol: 'tcp' }),
      ],
      'egress.yaml': [egress('victim/partner', toPartner())],
    })
  })
  afterAll(async () => {
    await mesh.stop()
    await new Promise((resolve) => partner.close(resolve))
  })

  it('cannot read, interrupt, forge or open the egress of another namespace', async () => {
    expect(await ask()).toBe('200 partner')
    const attacks: readonly (readonly [string, string])[] = [
      ['steal', egressGateway('aaa/steal', 'victim/partner', 'aaa/gateway')],
      [
        'steal-all',
        document(policies, 'EgressGateway', 'aaa/steal-all', {
          spec: { global: [{ service: 'gateway', namespace: 'aaa' }] },
        }),
      ],
      ['spoil', egress('aaa/spoil', { ...toPartner(), mtls: { issuer: 'osm' } })],
      ['limit', egress('aaa/limit', { ...toPartner(), routes: ['nothing'] })],
    ]
    for (const [name, text] of attacks) {
      await attack(name, text)
      expect(await ask()).toBe('200 partner')
    }
    await mesh.apply('egress.yaml')
    await attack('open', egress('aaa/open', toPartner()))
    expect(await ask()).not.toContain('partner')
  })

  it('open a destination for as long as the other namespace grants it', async () => {
    await mesh.apply('grant.yaml', grant('Egress', { group: '', kind: 'ServiceAccount', name: 'teller' }))
    expect(await ask()).toBe('200 partner')
    await mesh.apply('grant.yaml')
    expect(await ask()).not.toContain('partner')
  })

  it('take the traffic of an Egress once the other namespace grants it', async () => {
    await mesh.apply('egress.yaml', egress('victim/partner', toPartner()))
    await attack('net', egressGateway('aaa/net', 'victim/partner', 'aaa/gateway'))
    expect(await ask()).toBe('200 partner')
    await mesh.apply(
      'grant.yaml',
      grant('EgressGateway', { group: 'policy.openservicemesh.io', kind: 'Egress', name: 'partner' }),
    )
    expect(await ask()).not.toContain('partner')
  })
})
