import { beforeEach, describe, expect, it } from '@jest/globals'
import { type JoinRequest, newProxyUUID, SnapshotFeed } from '@osm-ts/core'

import { AzureAuthority } from '../../../core/test/machines/azure-authority.js'
import { TextSource } from '../../test/controller-fixture.js'
import { MAX_BY_ACCOUNTS } from './account-permission.js'
import { AzureMachines } from './azure-machines.js'
import type { StoredMachine } from './machine.js'

const subscriptionId = '5f130ffc-0a3e-4795-b691-4f56a12a5547'
const vmId = 'bd8e7443-24a0-41f3-b949-8baf4fd1c573'
const nonce = '0123456789'
const account = (name: string, annotations: object): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'shop', annotations } })
const labels = { 'openservicemesh.io/machine-labels': 'app=store' }

describe('virtual machines of Azure', () => {
  const authority = new AzureAuthority()
  let azure: AzureMachines
  let known: StoredMachine | undefined
  let count: number

  beforeEach(async () => {
    known = undefined
    count = 0
    const text = new TextSource()
    text.put(
      [
        account('store', { ...labels, 'openservicemesh.io/azure-machines': `${subscriptionId}/${vmId}` }),
        account('any', { ...labels, 'openservicemesh.io/azure-machines': subscriptionId }),
        account('none', labels),
        account('faulty', { ...labels, 'openservicemesh.io/azure-machines': '*' }),
        account('bare', { 'openservicemesh.io/azure-machines': subscriptionId }),
      ].join('\n---\n'),
    )
    const feed = new SnapshotFeed([text])
    await feed.start(new AbortController().signal)
    azure = new AzureMachines({
      current: () => feed.current(),
      machines: { countOf: () => count, ofVirtualMachine: async () => known },
      roots: [authority.root.x509],
      now: () => Date.now(),
    })
  })

  const redeem = (
    serviceAccount: string,
    facts: Partial<Parameters<AzureAuthority['document']>[0]> = {},
    { key = 'key', namespace = 'shop' } = {},
  ) => {
    const document = authority.document({ nonce, vmId, subscriptionId, ...facts })
    const proof: Extract<JoinRequest['proof'], { kind: 'azure' }> = {
      kind: 'azure',
      document,
      issuers: [authority.issuer.pem],
      namespace,
      serviceAccount,
    }
    return azure.redeem(proof, key, nonce)
  }

  it('get the identity of an account that permits them or their subscription, with its labels', async () => {
    const granted = { namespace: 'shop', labels: { app: 'store' }, virtualMachine: { id: vmId, key: 'key' } }
    await expect(redeem('store')).resolves.toMatchObject({ serviceAccount: 'store', ...granted })
    await expect(redeem('any')).resolves.toMatchObject({ serviceAccount: 'any', ...granted })
  })

  it.each([
    ['another subscription', 'OSM_MACHINE_AZURE_VM', 'any', { subscriptionId: vmId }],
    ['another machine', 'OSM_MACHINE_AZURE_VM', 'store', { vmId: subscriptionId }],
    ['a copied document', 'OSM_MACHINE_AZURE_REPLAYED', 'store', { nonce: '1111111111' }],
    ['a document that has expired', 'OSM_MACHINE_AZURE_EXPIRED', 'store', { expiresAt: Date.now() - 1_000 }],
    ['an account that permits none', 'OSM_MACHINE_ACCOUNT', 'none', {}],
    ['an account with a faulty annotation', 'OSM_MACHINE_ACCOUNT', 'faulty', {}],
    ['an account without labels of machines', 'OSM_MACHINE_ACCOUNT', 'bare', {}],
    ['an account that is missing', 'OSM_MACHINE_ACCOUNT', 'missing', {}],
  ])('are refused with %s', async (_what, code, name, facts) => {
    await expect(redeem(name, facts)).rejects.toMatchObject({ code })
  })

  it('take part once: with another key only after they have stopped', async () => {
    const uuid = newProxyUUID()
    known = {
      uuid,
      namespace: 'shop',
      serviceAccount: 'store',
      labels: {},
      name: 'vm-1',
      sidecarClass: 'envoy',
      address: '192.0.2.7',
      ports: [],
      listeners: { first: 1, last: 9 },
      virtualMachine: { id: vmId, key: 'key' },
      ready: true,
      createdAt: '',
      claims: {},
    }
    await expect(redeem('store')).resolves.toMatchObject({ uuid })
    await expect(redeem('store', {}, { key: 'other' })).rejects.toMatchObject({
      code: 'OSM_MACHINE_TWICE',
      message: expect.stringContaining('shop/vm-1'),
    })
    known = { ...known, ready: false }
    count = MAX_BY_ACCOUNTS
    const again = await redeem('store', {}, { key: 'other' })
    expect(again).toMatchObject({ replaces: uuid })
    expect(again.uuid).not.toBe(uuid)
  })

  it('leave room for machines of other namespaces', async () => {
    count = MAX_BY_ACCOUNTS
    await expect(redeem('store')).rejects.toMatchObject({ code: 'OSM_MACHINE_LIMIT' })
  })
})
