import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { listedProviders } from '@osm-ts/driver-process'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { Moto } from '../../packages/endpoints-aws/test/index.js'
import {
  AzureStandIn,
  networkInterface,
  resourceId,
  subscription,
  virtualMachine,
} from '../../packages/endpoints-azure/test/index.js'
import { providerPackage, runInstance } from './support/clouds.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { clientMayCallStore } from './support/store.js'
import { throughProxy } from './support/traffic.js'
import { service, workload } from './support/yaml.js'

const PORT = 8080
const region = 'eu-central-1'
const tenant = '99999999-2222-4333-8444-555555555555'
const http = { protocol: 'http' }

/** What the debug page says of a provider. */
interface ProviderState {
  readonly id: string
  readonly state?: string
  readonly reason?: string
}

/** Where the sidecar of the machine listens for a service. */
interface Listener {
  readonly address: string
  readonly port: number
}

const cloudResource = (kind: 'AzureResource' | 'AwsResource', name: string, spec: object, namespace = 'shop'): string =>
  JSON.stringify({
    apiVersion: `${kind === 'AzureResource' ? 'azure' : 'aws'}.openservicemesh.io/v1alpha1`,
    kind,
    metadata: { name, namespace },
    spec: { serviceAccount: 'store', sidecar: {}, ...spec },
  }) + '\n'

// The machines of the clouds are processes of a second mesh, at addresses of this machine that the stand-ins give out.
describe('a mesh with objects of two clouds', () => {
  let folder: string
  let azure: AzureStandIn
  let moto: Moto
  let mesh: TestMesh
  let machine: TestMesh
  let onAzure: Listener
  let onAws: Listener

  const ports = ({ port }: Listener): object => ({ ports: [{ name: 'main', port }] })
  const machineUri = (name: string, of = subscription): object => ({
    uri: resourceId('Microsoft.Compute/virtualMachines', name).replace(subscription, of),
  })

  async function answers(url: string, times: number): Promise<Readonly<Record<string, number>>> {
    const found: Record<string, number> = {}
    for (let n = 0; n < times; n += 1) {
      const { status, server } = await throughProxy(mesh.proxyOf('shop/client'), url)
      const name = status === 200 ? (server ?? '') : String(status)
      found[name] = (found[name] ?? 0) + 1
    }
    return found
  }

  const machineAnswers = (url: string) =>
    eventually(
      () => answers(url, 5),
      (found) => found['machine'] === 5,
      { what: `that the machine answers at ${url}` },
    )

  const problemOf = (name: string, words: string) =>
    eventually(
      () => mesh.problems(),
      (found) => found.some(({ object, message }) => object?.name === name && message.includes(words)),
      { what: `a problem of ${name} with ${words}` },
    )

  async function provider(name: string): Promise<ProviderState | undefined> {
    const { providers } = JSON.parse(await mesh.debug('/debug/endpoints')) as {
      readonly providers: readonly ProviderState[]
    }
    return providers.find(({ id }) => id === name)
  }

  async function putAzure(faults: object = {}): Promise<void> {
    const fleet = {
      virtualMachines: [virtualMachine('vm-1', { tags: { app: 'store' } })],
      networkInterfaces: [networkInterface('vm-1', onAzure.address)],
    }
    await azure.put({ subscriptions: { [subscription]: fleet }, faults })
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-clouds-'))
    ;[azure, moto] = await Promise.all([AzureStandIn.start(), Moto.start()])
    await writeFile(join(folder, 'ca.pem'), azure.certificate)
    await writeFile(join(folder, 'secret'), 'right-secret\n')
    const key = { Version: 1, AccessKeyId: 'FIRSTKEY', SecretAccessKey: 'secret-of-FIRSTKEY' }
    await writeFile(join(folder, 'aws.json'), JSON.stringify(key))
    const list = JSON.stringify({
      providers: [
        {
          ...(await providerPackage(folder, 'azure')),
          settings: {
            endpoints: { resourceManager: azure.url, authority: azure.url, caFile: join(folder, 'ca.pem') },
            subscriptions: [{ id: subscription }],
            credential: {
              type: 'servicePrincipal',
              tenantId: tenant,
              clientId: tenant,
              clientSecretFile: join(folder, 'secret'),
            },
            intervalSeconds: 10,
          },
        },
        {
          ...(await providerPackage(folder, 'aws')),
          settings: {
            regions: [{ name: region }],
            credentialFile: join(folder, 'aws.json'),
            endpoint: moto.url,
            intervalSeconds: 10,
          },
        },
      ],
    })
    const entries = await listedProviders(list, {})
    mesh = await startTestMesh(
      {
        'mesh.yaml': [
          ...clientMayCallStore,
          workload('shop/client', { program: programs.idle }),
          service('shop/store-azure', {}, PORT, http),
          service('shop/store-aws', {}, PORT, http),
        ],
      },
      { endpointsProviders: entries },
    )
    machine = await startTestMesh(
      {
        'machine.yaml': [
          ...clientMayCallStore,
          workload('shop/machine', { program: programs.http, port: PORT, account: 'store' }),
          service('shop/store-azure', 'machine', PORT, http),
          service('shop/store-aws', 'machine', PORT, http),
        ],
      },
      { peer: mesh },
    )
    const listenerOf = async (name: string): Promise<Listener> => {
      const page = JSON.parse(await machine.debug(`/debug/services?service=shop/${name}`)) as {
        readonly endpoints: readonly Listener[]
      }
      const [listener] = page.endpoints
      if (listener === undefined) throw new Error(`the machine has no listener for ${name}`)
      return listener
    }
    onAzure = await listenerOf('store-azure')
    onAws = await listenerOf('store-aws')
    await putAzure()
    await runInstance(moto.url, region, 'store', onAws.address)
  })
  afterAll(async () => {
    await machine.stop()
    await mesh.stop()
    await Promise.all([azure.stop(), moto.stop()])
    await rm(folder, { recursive: true })
  })

  it('calls a machine of each, which an object of its namespace selects', async () => {
    await mesh.write(
      'clouds.yaml',
      cloudResource('AzureResource', 'vm', {
        service: 'store-azure',
        resources: [machineUri('vm-1')],
        ...ports(onAzure),
      }),
      cloudResource('AwsResource', 'ec2', {
        service: 'store-aws',
        resources: [{ tags: { app: 'store' } }],
        ...ports(onAws),
      }),
    )
    await machineAnswers('http://store-azure.shop:8080/')
    await machineAnswers('http://store-aws.shop:8080/')
    expect((await mesh.problems()).filter(({ severity }) => severity === 'error')).toEqual([])
  })

  it('reports the fault of each invalid object, and continues with the others', async () => {
    const other = '22222222-2222-4333-8444-555555555555'
    const service = 'store-azure'
    await mesh.write(
      'wrong.yaml',
      cloudResource('AzureResource', 'no-service', { resources: [machineUri('vm-1')] }),
      cloudResource('AzureResource', 'other-subscription', { service, resources: [machineUri('vm-1', other)] }),
      cloudResource('AzureResource', 'missing', { service, resources: [machineUri('vm-9')] }),
      // The Service of that name is in another namespace, which the object cannot reach.
      cloudResource(
        'AzureResource',
        'elsewhere',
        { service, resources: [machineUri('vm-1')], ...ports(onAzure) },
        'other',
      ),
    )
    await problemOf('no-service', "must have required property 'service'")
    await problemOf('other-subscription', 'NotAllowed')
    await problemOf('missing', 'NotFound')
    await expect(answers('http://store-azure.shop:8080/', 10)).resolves.toEqual({ machine: 10 })
  })

  it('keeps the machine while its permission is revoked and the control plane restarts, and reports that', async () => {
    await putAzure({ forbidden: true })
    await eventually(
      () => provider('azure'),
      (it) => it?.state === 'failing' && it.reason?.includes('AccessDenied') === true,
      { what: 'that the calls are refused' },
    )
    await problemOf('vm', 'AccessDenied')
    await expect(answers('http://store-azure.shop:8080/', 10)).resolves.toEqual({ machine: 10 })
    await mesh.restartController(async () => undefined)
    await problemOf('vm', 'AccessDenied')
    await expect(answers('http://store-azure.shop:8080/', 10)).resolves.toEqual({ machine: 10 })
    await putAzure()
  })

  it('takes the machine out with its object', async () => {
    await mesh.write('clouds.yaml')
    await eventually(
      () => answers('http://store-azure.shop:8080/', 1),
      (found) => found['machine'] === undefined,
      { what: 'that no endpoint is left' },
    )
  })
})
