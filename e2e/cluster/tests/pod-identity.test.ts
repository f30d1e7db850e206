import { generateKeyPairSync, randomUUID, sign, X509Certificate } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { KeyForms, privateKeysIn } from '../../dataplane/support/key-search.js'
import { ClusterMachines, type Place } from '../support/cluster-machines.js'
import { works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { InspectedProgram } from '../support/inspected-program.js'
import { underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { RunningPod, TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 300_000
const url = 'http://server.podid:8080/'
const volume = 'sidecar-bootstrap-config-volume'
const programs = ['osm-controller', 'osm-injector'] as const
/** Callers learn of the end of a pod later than it does. */
const linger = 5
/** `PRIVATE KEY`, as it is and in base64 at each of the three offsets that it can begin at. */
const KEY = /PRIVATE KEY|UFJJVkFURSBLRV|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW/

interface ProjectedPod extends RunningPod {
  readonly spec: RunningPod['spec'] & {
    readonly volumes: readonly { readonly name: string; readonly secret?: object; readonly projected?: object }[]
  }
}
interface Request {
  readonly spec: { readonly podName: string; readonly nodeName: string; readonly serviceAccountName: string }
  readonly status: { readonly conditions: readonly { readonly type: string }[] }
}

let cluster: SharedCluster
let mesh: Mesh
let namespace: TestNamespace
/** Keys that sidecars had in Secrets. */
let formerKeys: readonly KeyForms[]
let controller: InspectedProgram

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

const values = (proxyIdentity: 'secret' | 'podCertificate') => ({
  enablePermissiveTrafficPolicy: true,
  enableDebugServer: true,
  proxyIdentity,
  certificateProvider: { serviceCertificates: 'perProxy' },
})

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'podid', values: values('secret') })
  namespace = await mesh.createNamespace('podid')
  const { name, image } = namespace
  await namespace.run(
    deployment({ name: 'client', namespace: name, image }),
    server({ name: 'server', namespace: name, image, ports: { 8080: 'http' }, linger }),
  )
  const secrets = await secretsOf(name)
  formerKeys = secrets
    .flatMap(({ data = {} }) =>
      Object.values(data).flatMap((value) => privateKeysIn(Buffer.from(value, 'base64').toString('latin1'))),
    )
    .map((key) => new KeyForms(key))
  await mesh.helm('upgrade', { values: values('podCertificate') })
  controller = new InspectedProgram(cluster, mesh.namespace, 'deploy/osm-controller')
  await controller.record()
}, setUpTimeoutMs)

interface StoredSecret {
  readonly data?: Readonly<Record<string, string>>
}
async function secretsOf(name: string): Promise<readonly StoredSecret[]> {
  return (await cluster.kubectl.get<{ readonly items: readonly StoredSecret[] }>(['secrets', '-n', name])).items
}

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

/** A rolling restart, until the former pod is gone. */
async function restart(app: string): Promise<void> {
  const [former] = await namespace.pods(app)
  await cluster.kubectl.run(['rollout', 'restart', `deploy/${app}`, '-n', namespace.name])
  await namespace.rollout('Deployment', app)
  const wait = ['wait', `pod/${former?.metadata.name}`, '-n', namespace.name, '--for=delete', '--timeout=120s']
  await cluster.kubectl.run(wait, { timeoutMs: testTimeoutMs })
}

describe('a namespace whose sidecars have their keys in Secrets', () => {
  test('goes over to keys of kubelets by rolling restarts, and loses no request', async () => {
    expect(formerKeys).toHaveLength(2)
    const caller = namespace.caller('deploy/client')
    await works(caller, url)
    const { calls, lost } = await underLoad(caller, url, () => restart('server'))
    expect(lost).toEqual([])
    expect(calls).toBeGreaterThan(20)
    await restart('client')
  })
})

describe('a sidecar whose key its kubelet makes', () => {
  test('calls and is called over mutual TLS', async () => {
    await works(namespace.caller('deploy/client'), url, { times: 50 })
  })

  test('has no Secret, and no key in anything that the API server stores', async () => {
    const pods = (await Promise.all(['client', 'server'].map((app) => namespace.pods(app)))).flat() as ProjectedPod[]
    expect(pods).toHaveLength(2)
    for (const { spec } of pods) expect(spec.volumes.filter(({ secret }) => secret !== undefined)).toEqual([])
    expect(await secretsOf(namespace.name)).toEqual([])
    const requests = await cluster.kubectl.get<{ readonly items: readonly Request[] }>([
      'podcertificaterequests',
      '-n',
      namespace.name,
    ])
    expect(requests.items.length).toBeGreaterThanOrEqual(2)
    for (const { spec, status } of requests.items) {
      const pod = pods.find(({ metadata }) => metadata.name === spec.podName)
      expect(spec).toMatchObject({ nodeName: pod?.spec.nodeName, serviceAccountName: pod?.metadata.labels?.app })
      expect(status.conditions.map(({ type }) => type)).toEqual(['Issued'])
    }
    const kinds = 'pods,secrets,configmaps,podcertificaterequests,events,replicasets'
    const stored = await cluster.kubectl.run(['get', kinds, '-n', namespace.name, '-o', 'json'])
    expect(stored).toContain('certificateChain')
    expect(stored).not.toMatch(KEY)
  })

  test('is one that the injector writes no Secrets for, because it has no right to', async () => {
    const account = `system:serviceaccount:${mesh.namespace}:osm-injector`
    const answers = await Promise.all(
      ['create', 'update', 'patch', 'get', 'list'].map(async (verb) => {
        const args = ['auth', 'can-i', verb, 'secrets', `--as=${account}`, '-n', namespace.name]
        return (await cluster.kubectl.try(args)).stdout.trim()
      }),
    )
    expect(answers).toEqual(['no', 'no', 'no', 'no', 'no'])
  })

  test('gets its certificate on request of a kubelet, and of no one else who may create such requests', async () => {
    const [pod] = await namespace.pods('client')
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const podUID = pod?.metadata.uid ?? ''
    const request = {
      apiVersion: 'certificates.k8s.io/v1alpha1',
      kind: 'PodCertificateRequest',
      metadata: { name: 'forged', namespace: namespace.name },
      spec: {
        signerName: `sidecar.openservicemesh.io/${mesh.name}`,
        podName: pod?.metadata.name,
        podUID,
        serviceAccountName: 'client',
        serviceAccountUID: randomUUID(),
        nodeName: pod?.spec.nodeName,
        nodeUID: randomUUID(),
        pkixPublicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
        proofOfPossession: sign('sha256', Buffer.from(podUID), privateKey).toString('base64'),
      },
    }
    const forged = await cluster.kubectl.try(['create', '-f', '-'], { input: JSON.stringify(request) })
    expect(forged.code).not.toBe(0)
    expect(forged.stderr).toContain('only kubelets may ask for certificates of sidecars')
  })
})

/** Processes and memory of a cluster that is elsewhere are out of reach. */
const isLocal = SharedCluster.open().provider === 'local'

if (!isLocal) {
  describe('the keys that kubelets have made, in a cluster that is elsewhere', () => {
    it('cannot be looked for in its machines', () => {
      expect(() => new ClusterMachines(SharedCluster.open())).toThrow('in a local cluster only')
    })
  })
} else {
  describe('the keys that kubelets have made', () => {
    const planted = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).privateKey

    /** Places that have one of the keys, by name. */
    const placesOf = (keys: readonly KeyForms[], places: readonly Place[]): readonly string[] =>
      places.filter(({ content }) => keys.some((key) => key.isIn(content))).map(({ name }) => name)
    let keys: readonly KeyForms[]

    beforeAll(async () => {
      const machines = new ClusterMachines(cluster)
      const pods = (await Promise.all(['client', 'server'].map((app) => namespace.pods(app)))).flat()
      keys = pods.map((pod) => new KeyForms(machines.volumeFile(pod, volume, 'sds_key.pem')))
    })

    test('are two new ones, in memory of their nodes', async () => {
      const publicKeys = [...keys, ...formerKeys].map(({ publicKey }) => publicKey)
      expect(keys).toHaveLength(2)
      expect(new Set(publicKeys).size).toBe(4)
    })

    test('are not in etcd, where those of deleted Secrets are still found', async () => {
      const etcd = new ClusterMachines(cluster).etcd()
      for (const key of formerKeys) expect(placesOf([key], etcd)).not.toEqual([])
      expect(placesOf(keys, etcd)).toEqual([])
    })

    test('are not in what the controller sends to sidecars, which has certificates for them', async () => {
      const sent = await controller.sent()
      const pems = sent.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
      const certified = pems.map((pem) =>
        String(new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' })),
      )
      expect(certified).toEqual(expect.arrayContaining(keys.map(({ publicKey }) => publicKey)))
      expect(placesOf(keys, [{ name: 'xDS', content: sent }])).toEqual([])
      expect(privateKeysIn(sent.toString('latin1'))).toEqual([])
    })

    test('are not in the heap of the controller, where a key that was put there is found', async () => {
      await controller.plant(planted)
      const heap = [{ name: 'heap', content: await controller.heap() }]
      expect(placesOf([new KeyForms(planted)], heap)).toEqual(['heap'])
      expect(placesOf([...keys, ...formerKeys], heap)).toEqual([])
    })

    test('are in no log, debug page or administration page', async () => {
      const { name: at } = namespace
      const logs = programs.map((name) => [`deploy/${name}`, '-n', mesh.namespace])
      logs.push(...['client', 'server'].map((name) => [`deploy/${name}`, '-n', at, '--all-containers']))
      const said = await Promise.all(logs.map((args) => cluster.kubectl.run(['logs', ...args, '--tail=-1'])))
      const [pod] = await namespace.pods('server')
      const dump = await mesh.osm('proxy', 'get', 'config_dump', pod?.metadata.name ?? '', '-n', at)
      expect(dump).toMatchObject({ code: 0, stdout: expect.stringContaining('sds_key.pem') as unknown })
      const pages = await controller.debugPages()
      expect(pages).toContain(pod?.metadata.labels?.['osm-proxy-uuid'])
      const shown = [...said, dump.stdout, pages].map((text, index) => ({
        name: `${index}`,
        content: Buffer.from(text),
      }))
      expect(placesOf([...keys, ...formerKeys], shown)).toEqual([])
    })
  })
}
