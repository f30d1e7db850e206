import { join } from 'node:path'
import { setTimeout as outage } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { packageIntegrity } from '@osm-ts/driver-process'
import { root } from '../../../tools/lib/paths.mjs'
import { AzureCloud, type CloudMachine } from '../support/azure-cloud.js'
import { answered, denied, isSuccess, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { underLoad } from '../support/load.js'
import { type MachinesMesh, machineToken, startMachinesMesh } from '../support/machines-mesh.js'
import { Mesh } from '../support/mesh.js'
import { firstListener, machinePort, OutsideMachine } from '../support/outside-machine.js'
import { ownAddress } from '../support/own-address.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, trafficTarget } from '../support/smi.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server, service } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 600_000
const limitMs = 120_000
/** The provider is unavailable for this long, while other things happen. */
const outageMs = 60_000
const leastCalls = 10_000
const tolerance = 0.03
const pace = { callsAtATime: 8, callsPerSecond: 160 }
const namespace = 'places-shop'
/** Places behind the Service, by their own Services, and their shares in percent. */
const shares = { 'store-vm': 50, 'store-pod': 30, 'store-onprem': 20 } as const
const places = Object.keys(shares)
const urlOf = (name: string): string => `http://${name}.${namespace}:${machinePort}/`
const store = { namespace, name: 'store' }
const client = { namespace, name: 'client' }
const guest = { namespace, name: 'guest' }

const account = ({ name }: { readonly name: string }): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { namespace, name },
})
const serviceOf = (name: string, selector: Readonly<Record<string, string>>): object =>
  service({ name, namespace, selector, ports: [{ port: machinePort, appProtocol: 'http' }] })

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let azure: AzureCloud
let cloudMesh: MachinesMesh
/** Where machines join the mesh of the cluster. */
let clusterUrl: string
let machines: readonly OutsideMachine[] = []

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)
const machine = (name: string): OutsideMachine => {
  const found = machines.find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no machine ${name}`)
  return found
}
const until = <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> =>
  waitUntil(what, ask, { timeoutMs: limitMs, signal: AbortSignal.timeout(2 * limitMs) })

/** A token of the account that machines of the cluster have, for them alone. */
const accountToken = (): Promise<string> =>
  cluster.kubectl.run(['create', 'token', 'store', '-n', namespace, `--audience=osm-machines.${mesh.name}`])
async function rootOfMesh(): Promise<string> {
  const { code, stdout, stderr } = await mesh.osm('machine', 'root', '--osm-namespace', mesh.namespace)
  if (code !== 0) throw new Error(`osm machine root failed with ${code}: ${stderr}`)
  return stdout
}

/** The virtual machines as the cloud has them. */
const fleet = (state: 'running' | 'deallocated' = 'running'): readonly CloudMachine[] => [
  { name: 'vm-1', address: machine('vm-1').address },
  { name: 'vm-2', address: machine('vm-2').address, state },
]

interface ResourceStatus {
  readonly addresses?: readonly string[]
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
}

/** Waits until the AzureResource says so. */
const untilResource = (what: string, accept: (status: ResourceStatus) => boolean): Promise<true> =>
  until(what, async () => {
    const args = ['azureresources.azure.openservicemesh.io', 'store', '-n', namespace]
    const { status = {} } = await cluster.kubectl.get<{ readonly status?: ResourceStatus }>(args)
    return accept(status) || undefined
  })
const resolved = ({ conditions = [] }: ResourceStatus): string =>
  conditions.find(({ type }) => type === 'Resolved')?.reason ?? ''

/** A cluster of another provider has no router to which a machine could be linked. */
const isLocal = SharedCluster.open().provider === 'local'

if (!isLocal) {
  describe('a cluster that is elsewhere', () => {
    it('has no machines beside it', async () => {
      await expect(OutsideMachine.create(SharedCluster.open(), 'none', 0)).rejects.toThrow('need a local cluster')
    })
  })
} else {
  beforeAll(async () => {
    cluster = SharedCluster.open()
    const address = await ownAddress(cluster)
    const controlPlane = 'places-system'
    azure = await AzureCloud.start(address)
    await cluster.kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: controlPlane } })
    await cluster.kubectl.apply(azure.secret(controlPlane, 'azure'))
    machines = await Promise.all(
      ['vm-1', 'vm-2', 'rack-1', 'rack-2', 'rack-3'].map((name, number) =>
        OutsideMachine.create(cluster, name, number),
      ),
    )
    await azure.put(fleet())
    const integrity = await packageIntegrity(join(root, 'dist/providers/azure'))
    mesh = await Mesh.install(cluster, {
      name: 'places',
      values: {
        enableDebugServer: true,
        image: { name: { osmController: 'osm-controller-acme' } },
        machines: { enable: true, serviceType: 'ClusterIP' },
        endpointsProviders: [azure.provider('/providers/azure', integrity, 'azure')],
        // As the guide says: what the controller may have, and the provider beside it.
        osmController: { resource: { limits: { memory: '1512M' } } },
      },
    })
    shop = await mesh.createNamespace(namespace)
    const { image } = shop
    const policy = [account(client), anyHttp(namespace)]
    cloudMesh = await startMachinesMesh(mesh, address, [
      {
        apiVersion: 'config.openservicemesh.io/v1alpha2',
        kind: 'MeshConfig',
        metadata: { name: 'osm-mesh-config', namespace: 'osm-system' },
        spec: { traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } },
      },
      ...policy,
      account(store),
      trafficTarget({ destination: store, sources: [client] }),
      serviceOf('store-vm', { app: 'store' }),
    ])
    await Promise.all([
      shop.run(
        ...policy,
        account(guest),
        // Lets machines join by tokens of the account.
        {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { ...store, annotations: { 'openservicemesh.io/machine-labels': 'app=store-onprem' } },
        },
        ...['client', 'guest', 'stranger'].map((name) => deployment({ name, namespace, image })),
        server({ name: 'books', namespace, image, ports: { [machinePort]: 'http' } }),
        server({
          name: 'store-pod',
          namespace,
          image,
          ports: { [machinePort]: 'http' },
          account: 'store',
          replicas: 2,
          linger: 5,
        }),
        serviceOf('store', {}),
        serviceOf('store-vm', {}),
        serviceOf('store-onprem', { app: 'store-onprem' }),
        trafficTarget({ destination: store, sources: [client, guest] }),
        trafficTarget({ destination: { namespace, name: 'books' }, sources: [store] }),
        {
          apiVersion: 'split.smi-spec.io/v1alpha2',
          kind: 'TrafficSplit',
          metadata: { namespace, name: 'store' },
          spec: {
            service: 'store',
            backends: Object.entries(shares).map(([name, weight]) => ({ service: name, weight })),
          },
        },
        {
          apiVersion: 'azure.openservicemesh.io/v1alpha1',
          kind: 'AzureResource',
          metadata: { namespace, name: 'store' },
          spec: {
            service: 'store-vm',
            serviceAccount: 'store',
            sidecar: {},
            ports: [{ name: `p-${machinePort}`, port: firstListener }],
            resources: [{ tags: { app: 'store' } }],
          },
        },
      ),
      ...['vm-1', 'vm-2'].map(async (name) => {
        await machine(name).serve('store-vm')
        const token = await cloudMesh.token('store', namespace, 'store')
        await machine(name).join(cloudMesh.url, { OSM_MACHINE_TOKEN: token })
      }),
    ])
    await Promise.all(['rack-1', 'rack-2', 'rack-3'].map((name) => machine(name).serve('store-onprem')))
    // The mesh of the cluster knows their account by now.
    const grant = { account: 'store', namespace, app: 'store-onprem' }
    const makeToken = () => machineToken(mesh, ['--osm-namespace', mesh.namespace], grant)
    const { token, controlPlane: url } = await makeToken()
    const { token: another } = await makeToken()
    clusterUrl = url
    await Promise.all([
      machine('rack-1').join(url, { OSM_MACHINE_TOKEN: token }),
      machine('rack-2').joinByAccount(url, await accountToken(), await rootOfMesh()),
      machine('rack-3').join(url, { OSM_MACHINE_TOKEN: another }, '--transparent'),
    ])
  }, setUpTimeoutMs)

  afterAll(async () => {
    await Promise.all(machines.map((each) => each.remove()))
    await cloudMesh.stop()
    await azure.stop()
    await mesh.uninstall()
  }, setUpTimeoutMs)

  describe('a Service of a virtual machine, a pod and a machine that has joined', () => {
    test('has policy and mutual TLS enforced at each of them', async () => {
      const [caller, stranger, visitor] = ['client', 'stranger', 'guest'].map((name) => shop.caller(`deploy/${name}`))
      for (const name of places) {
        const answers = await works(caller!, urlOf(name))
        expect(new Set(answers.map((answer) => speakerOf(answer).server))).toEqual(new Set([name]))
        await denied(stranger!, urlOf(name))
      }
      // The virtual machine has a control plane of its own, whose policy does not know this caller: its sidecar refuses what that of the caller allows.
      await works(visitor!, urlOf('store-pod'))
      await works(visitor!, urlOf('store-onprem'))
      await answered(visitor!, urlOf('store-vm'), { what: 'is refused', accept: ({ status }) => status === 403 })
      for (const { address } of machines) {
        await expect(fetch(`http://${address}:${firstListener}/`)).rejects.toThrow()
      }
    })

    test('is called by pods, and calls them in turn where policy allows it', async () => {
      await expect(machine('rack-1').ask(urlOf('books'))).resolves.toBe('200 books')
      await expect(machine('rack-1').ask(urlOf('store-pod'))).resolves.toBe('403')
    })

    test('needs no forward proxy on a machine that redirects its connections, whose own ports are closed to others', async () => {
      const { address } = machine('rack-3')
      for (const host of [`books.${namespace}`, `books.${namespace}.svc.cluster.local`])
        await expect(machine('rack-3').call(`http://${host}:${machinePort}/`)).resolves.toBe('200 books')
      await expect(machine('rack-3').call(urlOf('store-pod'))).resolves.toMatch(/^error/)
      await expect(fetch(`http://${address}:${machinePort}/`)).rejects.toThrow()
    })

    test('shares requests 50 to 30 to 20 and loses none while instances, a provider and the control plane come and go', async () => {
      const answers = new Map<string, number>()
      const podsComeAndGo = async (): Promise<void> => {
        await cluster.kubectl.run(['rollout', 'restart', 'deployment/store-pod', '-n', namespace])
        await shop.rollout('Deployment', 'store-pod')
      }
      const joinedMachineComesAndGoes = async (): Promise<void> => {
        await machine('rack-2').stop()
        await machine('rack-2').join(clusterUrl)
      }
      const virtualMachineComesAndGoes = async (): Promise<void> => {
        const { address } = machine('vm-2')
        const isThere = ({ addresses = [] }: ResourceStatus): boolean => addresses.includes(address)
        await azure.put(fleet('deallocated'))
        await untilResource('the end of vm-2', (status) => !isThere(status))
        await machine('vm-2').stop()
        await machine('vm-2').join(cloudMesh.url)
        await azure.put(fleet())
        await untilResource('vm-2', isThere)
      }
      const providerIsDown = async (): Promise<void> => {
        await azure.put(fleet(), { forbidden: true })
        await untilResource('word of calls that are refused', (status) => resolved(status) === 'AccessDenied')
        await outage(outageMs)
        await azure.put(fleet())
        await untilResource('the cloud', (status) => resolved(status) === 'Resolved')
      }
      const controlPlaneRestarts = async (): Promise<void> => {
        const controller = ['deployment/osm-controller', '-n', mesh.namespace]
        await cluster.kubectl.run(['rollout', 'restart', ...controller])
        await cluster.kubectl.run(['rollout', 'status', ...controller, '--timeout=240s'], { timeoutMs: 260_000 })
      }
      const { calls, lost } = await underLoad(
        shop.caller('deploy/client'),
        urlOf('store'),
        async (made) => {
          await virtualMachineComesAndGoes()
          await Promise.all([providerIsDown(), podsComeAndGo(), joinedMachineComesAndGoes()])
          // A provider that starts while its cloud is unavailable knows no machines.
          await controlPlaneRestarts()
          await until(`${leastCalls} calls`, async () => made() >= leastCalls || undefined)
        },
        {
          ...pace,
          onAnswer: (answer) => {
            const { server: place } = speakerOf(answer)
            answers.set(place, (answers.get(place) ?? 0) + 1)
          },
        },
      )
      expect(lost).toEqual([])
      expect([...answers.keys()].sort()).toEqual([...places].sort())
      process.stdout.write(`shares of ${calls} requests: ${JSON.stringify(Object.fromEntries(answers))}\n`)
      for (const [name, share] of Object.entries(shares))
        expect(Math.abs((answers.get(name) ?? 0) / calls - share / 100)).toBeLessThan(tolerance)
      // The new controller serves machines as the last one did.
      expect(isSuccess(await shop.caller('deploy/client').call(urlOf('store-onprem')))).toBe(true)
      await expect(machine('rack-2').ask(urlOf('books'))).resolves.toBe('200 books')
    })
  })
}
