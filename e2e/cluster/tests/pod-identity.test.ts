import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'

import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { RunningPod, TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 300_000
const url = 'http://server.podid:8080/'
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

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

beforeAll(async () => {
  cluster = SharedCluster.open()
  const values = {
    enablePermissiveTrafficPolicy: true,
    proxyIdentity: 'podCertificate',
    certificateProvider: { serviceCertificates: 'perProxy' },
  }
  mesh = await Mesh.install(cluster, { name: 'podid', values })
  namespace = await mesh.createNamespace('podid')
  const { name, image } = namespace
  await namespace.run(
    deployment({ name: 'client', namespace: name, image }),
    server({ name: 'server', namespace: name, image, ports: { 8080: 'http' } }),
  )
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

describe('a sidecar whose key its kubelet makes', () => {
  test('calls and is called over mutual TLS', async () => {
    await works(namespace.caller('deploy/client'), url, { times: 50 })
  })

  test('has no Secret, and no key in anything that the API server stores', async () => {
    const pods = (await Promise.all(['client', 'server'].map((app) => namespace.pods(app)))).flat() as ProjectedPod[]
    expect(pods).toHaveLength(2)
    for (const { spec } of pods) expect(spec.volumes.filter(({ secret }) => secret !== undefined)).toEqual([])
    const { items: secrets } = await cluster.kubectl.get<{ readonly items: readonly unknown[] }>([
      'secrets',
      '-n',
      namespace.name,
    ])
    expect(secrets).toEqual([])
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
