import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { CustomResource, JsonObject, JsonValue } from '@osm-ts/endpoints-api'

import { checkProvider, customResource, RecordingHost } from '@osm-ts/endpoints-testkit'
import { AzureStandIn, type Fleet } from '../test/azure-stand-in.js'
import {
  networkInterface,
  resourceId,
  scaleSetInstance,
  scaleSetInterface,
  subscription,
  virtualMachine,
} from '../test/fleet.js'
import azureProvider from './index.js'

const set = resourceId('Microsoft.Compute/virtualMachineScaleSets', 'web')
const tenant = '99999999-2222-4333-8444-555555555555'
const fleet: Fleet = {
  virtualMachines: [
    virtualMachine('vm-1', { tags: { App: 'web' } }),
    virtualMachine('vm-2', { tags: { app: 'web' }, state: 'deallocated' }),
    virtualMachine('vm-3', { tags: { app: 'db' } }),
    virtualMachine('vm-4', { tags: { app: 'web' }, zone: '3' }),
  ],
  networkInterfaces: [
    networkInterface('vm-1', '10.1.0.1', '10.1.0.101'),
    networkInterface('vm-2', '10.1.0.2'),
    networkInterface('vm-3', '10.1.0.3'),
    networkInterface('vm-4', '10.1.0.4'),
  ],
  scaleSets: [{ id: set, name: 'web', location: 'westeurope', properties: { orchestrationMode: 'Uniform' } }],
  scaleSetInstances: {
    [set]: [0, 1, 2, 3].map((number) => scaleSetInstance(set, number, number === 3 ? 'stopped' : 'running')),
  },
  scaleSetInterfaces: { [set]: [0, 1, 2, 3].map((number) => scaleSetInterface(set, number, `10.2.0.${number}`)) },
}
const machineUri = (name: string): JsonObject => ({ uri: resourceId('Microsoft.Compute/virtualMachines', name) })

function azureResource(name: string, service: string, ...resources: readonly JsonValue[]): CustomResource {
  return customResource('AzureResource', name, { service, serviceAccount: 'web-account', sidecar: {}, resources })
}

describe('endpoints provider azure', () => {
  let azure: AzureStandIn
  let host: RecordingHost
  let folder: string
  let base: JsonObject
  let settings: JsonObject

  beforeAll(async () => {
    azure = await AzureStandIn.start()
    folder = await mkdtemp(join(tmpdir(), 'osm-azure-'))
    await writeFile(join(folder, 'ca.pem'), azure.certificate)
    base = {
      endpoints: { resourceManager: azure.url, authority: azure.url, caFile: join(folder, 'ca.pem') },
      subscriptions: [{ id: subscription }],
      credential: {
        type: 'servicePrincipal',
        tenantId: tenant,
        clientId: tenant,
        clientSecretFile: join(folder, 'secret'),
      },
      // Below what the schema takes, so that tests need not wait.
      intervalSeconds: 0.2,
    }
  })

  beforeEach(async () => {
    await writeFile(join(folder, 'secret'), 'right-secret\n')
    await azure.put({ subscriptions: { [subscription]: fleet } })
    host = new RecordingHost()
    settings = base
  })

  afterEach(async () => {
    await host.close()
    expect(host.everything()).not.toContain('right-secret')
    expect(host.everything()).not.toContain('token-of-the-stand-in')
  })

  afterAll(async () => {
    await azure.stop()
    await rm(folder, { recursive: true })
  })

  async function started(...objects: readonly CustomResource[]): Promise<void> {
    host.setObjects(...objects)
    await host.start(azureProvider, settings)
    await host.nextAnswer()
  }

  it('conforms to the contract of endpoints providers', async () => {
    const { intervalSeconds = 1, ...valid } = base
    const results = await checkProvider({
      plugin: azureProvider,
      settings: valid,
      overrides: { intervalSeconds },
      objects: [azureResource('web', 'web', machineUri('vm-1'), { tags: { app: 'db' } })],
      outage: {
        begin: () => azure.put({ subscriptions: { [subscription]: fleet }, faults: { forbidden: true } }),
        end: () => azure.put({ subscriptions: { [subscription]: fleet } }),
      },
      secrets: ['right-secret', 'token-of-the-stand-in'],
    })
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([])
  })

  it('resolves a virtual machine to its private addresses, the primary one first', async () => {
    await started(azureResource('web', 'web', machineUri('vm-1')))
    expect(host.instancesOf('web')).toEqual({
      service: { namespace: 'shop', name: 'web' },
      instances: [
        {
          id: resourceId('Microsoft.Compute/virtualMachines', 'vm-1').toLowerCase(),
          addresses: ['10.1.0.1', '10.1.0.101'],
          ready: true,
          locality: { region: 'westeurope', zone: 'westeurope-1', subZone: '' },
          serviceAccount: 'web-account',
          sidecar: {},
        },
      ],
    })
    expect(host.healths.at(-1)).toEqual({ state: 'ok' })
    expect(host.statuses.get('AzureResource/shop/web')).toMatchObject({
      instances: 1,
      conditions: [{ status: 'True', reason: 'Resolved', message: expect.stringContaining('2 calls to the API') }],
    })
  })

  it('resolves a scale set of several pages in three calls and two further pages', async () => {
    await started(azureResource('web', 'web', { uri: `/resource${set}` }))
    const found = host.instancesOf('web')?.instances.map(({ addresses, ready }) => [addresses[0], ready])
    expect(found).toEqual([
      ['10.2.0.0', true],
      ['10.2.0.1', true],
      ['10.2.0.2', true],
      ['10.2.0.3', false],
    ])
    expect(host.calls.slice(0, 5)).toEqual([
      ['virtualMachineScaleSets', 'ok'],
      ['virtualMachineScaleSets/virtualMachines', 'ok'],
      ['virtualMachineScaleSets/virtualMachines', 'ok'],
      ['virtualMachineScaleSets/networkInterfaces', 'ok'],
      ['virtualMachineScaleSets/networkInterfaces', 'ok'],
    ])
  })

  it('resolves a flexible scale set to the virtual machines that belong to it', async () => {
    const flexible = { id: set, name: 'web', location: 'westeurope', properties: { orchestrationMode: 'Flexible' } }
    const machines = [virtualMachine('vm-1', { scaleSet: set }), virtualMachine('vm-3')]
    await azure.put({
      subscriptions: { [subscription]: { ...fleet, scaleSets: [flexible], virtualMachines: machines } },
    })
    await started(azureResource('web', 'web', { uri: set }))
    expect(host.instancesOf('web')?.instances.map(({ addresses }) => addresses[0])).toEqual(['10.1.0.1'])
  })

  it.each([undefined, 'mesh-rg'])('selects virtual machines by tag, in resource group %s', async (resourceGroup) => {
    const selector = { tags: { app: 'web' }, ...(resourceGroup === undefined ? {} : { resourceGroup }) }
    await started(azureResource('web', 'web', selector))
    const found = host.instancesOf('web')?.instances.map(({ addresses, ready }) => [addresses[0], ready])
    expect(found).toEqual([
      ['10.1.0.1', true],
      ['10.1.0.2', false],
      ['10.1.0.4', true],
    ])
  })

  it('takes traffic from a machine that stops, and forgets one that is deleted', async () => {
    await started(azureResource('web', 'web', machineUri('vm-1'), machineUri('vm-4')))
    const machines = [virtualMachine('vm-1', { state: 'stopped' })]
    await azure.put({ subscriptions: { [subscription]: { ...fleet, virtualMachines: machines } } })
    await host.until('vm-1 is stopped and vm-4 deleted', () => {
      const instances = host.instancesOf('web')?.instances ?? []
      return instances.length === 1 && instances[0]?.ready === false
    })
    expect(host.instancesOf('web')).not.toHaveProperty('stale')
    expect(host.reasonOf('AzureResource/shop/web')).toBe('NotFound')
  })

  it('keeps the last good instances of what fails, and goes on with the rest', async () => {
    await started(azureResource('web', 'web', { uri: set }), azureResource('db', 'db', machineUri('vm-3')))
    await azure.put({
      subscriptions: {
        [subscription]: { ...fleet, networkInterfaces: [networkInterface('vm-3', '10.1.0.33')] },
      },
      faults: { failingPaths: ['/virtualMachineScaleSets/'] },
    })
    await host.until('db is up to date and web is stale', () => {
      const [db, web] = [host.instancesOf('db'), host.instancesOf('web')]
      return db?.instances[0]?.addresses[0] === '10.1.0.33' && web?.stale !== undefined
    })
    expect(host.instancesOf('web')?.instances).toHaveLength(4)
    expect(host.instancesOf('web')?.stale).toBe(
      'AzureResource web: Unavailable: virtualMachineScaleSets/get failed (500 InternalServerError)',
    )
    expect(host.instancesOf('db')).not.toHaveProperty('stale')
    expect(host.healths.at(-1)).toEqual({ state: 'ok' })
  })

  it('leaves a subscription alone for as long as Retry-After says', async () => {
    await started(azureResource('web', 'web', machineUri('vm-1'), machineUri('vm-4')))
    await azure.put({ subscriptions: { [subscription]: fleet }, faults: { throttleSeconds: 100 } })
    await host.until('throttled', () => host.reasonOf('AzureResource/shop/web') === 'Throttled')
    const before = await azure.calls()
    await host.nextAnswer()
    await host.nextAnswer()
    expect(await azure.calls()).toEqual(before)
    expect(host.calls.at(-1)?.[1]).toBe('throttled')
    expect(host.instancesOf('web')?.instances).toHaveLength(2)
    expect(host.healths.at(-1)).toMatchObject({ state: 'failing', message: expect.stringContaining('100 s') })
  })

  it('keeps the last good instances when its role is taken away, and recovers', async () => {
    await started(azureResource('web', 'web', machineUri('vm-1')))
    await azure.put({ subscriptions: { [subscription]: fleet }, faults: { forbidden: true } })
    await host.until('denied', () => host.reasonOf('AzureResource/shop/web') === 'AccessDenied')
    expect(host.instancesOf('web')?.instances).toHaveLength(1)
    expect(host.healths.at(-1)).toMatchObject({ state: 'failing' })
    await azure.put({ subscriptions: { [subscription]: fleet } })
    await host.until('recovered', () => host.reasonOf('AzureResource/shop/web') === 'Resolved')
    expect(host.healths.at(-1)).toEqual({ state: 'ok' })
  })

  it('reports a revoked secret without its text, and takes a new one from the file', async () => {
    await writeFile(join(folder, 'secret'), 'revoked-secret')
    await started(azureResource('web', 'web', machineUri('vm-1')))
    expect(host.reasonOf('AzureResource/shop/web')).toBe('AccessDenied')
    expect(host.everything()).not.toContain('revoked-secret')
    expect(host.instancesOf('web')).toMatchObject({ instances: [], stale: expect.stringContaining('AccessDenied') })
    await writeFile(join(folder, 'secret'), 'right-secret')
    await host.until('resolved', () => host.instancesOf('web')?.instances.length === 1)
  })

  it('refuses a list that does not end', async () => {
    await started(azureResource('web', 'web', machineUri('vm-1')))
    await azure.put({ subscriptions: { [subscription]: fleet }, faults: { endlessPages: true } })
    host.setObjects(azureResource('web', 'web', { uri: set }))
    await host.until('refused', () => host.reasonOf('AzureResource/shop/web') === 'TooManyPages')
    const paths = await azure.calls()
    expect(paths.filter((path) => path.includes('virtualMachineScaleSets/web/virtualMachines')).length % 100).toBe(0)
  })

  it('resolves services of its settings, and logs what is wrong with them once', async () => {
    const own = { namespace: 'shop', service: 'web', resources: [machineUri('vm-1'), machineUri('no-such-machine')] }
    settings = { ...settings, services: [own] }
    await started(azureResource('db', 'db', machineUri('vm-3')))
    await host.nextAnswer()
    expect(host.instancesOf('web')?.instances).toHaveLength(1)
    expect(host.instancesOf('db')?.instances).toHaveLength(1)
    expect([...host.statuses.keys()]).toEqual(['AzureResource/shop/db'])
    expect(host.logged).toEqual([
      expect.stringContaining('spec.resources[1]: NotFound: virtualMachines/get found nothing'),
    ])
  })

  it('uses the managed identity of the machine that it runs on', async () => {
    const asked: string[] = []
    const identity: Server = createServer((request, response) => {
      asked.push(`${request.headers['x-identity-header'] as string} ${request.url ?? ''}`)
      const expires_on = String(Math.floor(Date.now() / 1000) + 3600)
      const token = { access_token: 'token-of-the-stand-in', expires_on, token_type: 'Bearer', resource: azure.url }
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify(token))
    })
    identity.listen(0, '127.0.0.1')
    await once(identity, 'listening')
    process.env.IDENTITY_ENDPOINT = `http://127.0.0.1:${(identity.address() as AddressInfo).port}/msi/token`
    process.env.IDENTITY_HEADER = 'header'
    try {
      settings = { ...settings, credential: { type: 'managedIdentity' } }
      await started(azureResource('web', 'web', machineUri('vm-1')))
      expect(host.instancesOf('web')?.instances).toHaveLength(1)
      expect(asked[0]).toContain('header /msi/token?')
    } finally {
      delete process.env.IDENTITY_ENDPOINT
      delete process.env.IDENTITY_HEADER
      identity.close()
    }
  })
})
