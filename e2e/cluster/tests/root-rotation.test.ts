import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { generateRoot } from '@osm-ts/core'
import { VaultStandIn } from '@osm-ts/vault/testing'
import { builtCertManager } from '../../../tools/setup/cert-manager.mjs'
import { ChildProgram } from '../../api/harness/index.js'
import { works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { ownAddress } from '../support/own-address.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 900_000
const limitMs = 120_000
const leastCalls = 20_000
const http = 'http://server.rotated:8080/'
const tcp = 'tcp://server.rotated:9000'
/** Both loads together are a little more than the least in the time that three rotations take. */
const pace = { callsAtATime: 8, callsPerSecond: 80 }
/** Where other tests take the processor, calls come at a third of the pace. */
const callsTimeoutMs = 360_000

/** A real cert-manager that was built before: a cold build is too long for this tier. Without it, certificates are Vault's and the mesh's own. */
const built = builtCertManager()
/** The root that signs before the last one, and the one before that. */
const [former, distrusted] =
  built === undefined ? (['vault', 'osm-mesh-root-certificate'] as const) : (['cert-manager', 'vault'] as const)

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let vault: VaultStandIn
let certManager: ChildProgram | undefined
let folder: string

interface Rotation {
  readonly from: string
  readonly to: string
  readonly state: string
}

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

/** The real cert-manager, as a program beside the API server, with an issuer for the mesh. */
async function startCertManager(built: string): Promise<void> {
  const crds = join(built, 'crds')
  await cluster.kubectl.run(['apply', '--server-side', '-f', crds])
  await cluster.kubectl.run(['wait', '--for=condition=Established', '-f', crds, '--timeout=60s'])
  certManager = new ChildProgram({
    name: 'cert-manager',
    file: join(built, 'signer'),
    args: [`--kubeconfig=${cluster.kubeconfig}`],
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    logFile: join(folder, 'cert-manager.log'),
  })
  const { certificate, privateKey } = await generateRoot('workload', { algorithm: 'ECDSA' }, Date.now())
  const { namespace } = mesh
  await cluster.kubectl.apply({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'issuer-root', namespace },
        type: 'kubernetes.io/tls',
        data: { 'tls.crt': btoa(certificate), 'tls.key': btoa(privateKey), 'ca.crt': btoa(certificate) },
      },
      {
        apiVersion: 'cert-manager.io/v1',
        kind: 'Issuer',
        metadata: { name: 'osm-ca', namespace },
        spec: { ca: { secretName: 'issuer-root' } },
      },
    ],
  })
}

/** A Vault that speaks to the mesh by a role, and what the controller needs to log in. */
async function startVault(): Promise<void> {
  vault = await VaultStandIn.start(undefined, await ownAddress(cluster))
  Object.assign(vault.appRole, { roleId: 'mesh', secretId: 'planted-secret-id' })
  const { namespace } = mesh
  const reads = { name: 'read-vault-secret', namespace }
  await cluster.kubectl.apply({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'vault', namespace },
        stringData: { 'secret-id': 'planted-secret-id' },
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: reads,
        rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['vault'], verbs: ['get'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: reads,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: reads.name },
        subjects: [{ kind: 'ServiceAccount', name: 'osm-controller', namespace }],
      },
    ],
  })
}

/** Passive MeshRootCertificates of those that there are: sidecars learn to trust their roots. */
async function addRoots(): Promise<void> {
  const { hostname: host, port } = new URL(vault.origin)
  const { namespace } = mesh
  const root = (name: string, provider: object): object => ({
    apiVersion: 'config.openservicemesh.io/v1alpha2',
    kind: 'MeshRootCertificate',
    metadata: { name, namespace },
    spec: { role: 'passive', provider },
  })
  const login = {
    auth: { kind: 'appRole', role: 'mesh' },
    token: { secretKeyRef: { name: 'vault', namespace, key: 'secret-id' } },
  }
  await cluster.kubectl.apply({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      root('vault', { vault: { host, port: Number(port), protocol: 'http', role: 'openservicemesh', ...login } }),
      ...(built === undefined
        ? []
        : [
            root('cert-manager', {
              certManager: { issuerName: 'osm-ca', issuerKind: 'Issuer', issuerGroup: 'cert-manager.io' },
            }),
          ]),
    ],
  })
}

/** State of each MeshRootCertificate, by name. */
async function states(): Promise<Readonly<Record<string, string | undefined>>> {
  const { items } = await cluster.kubectl.get<{
    readonly items: readonly {
      readonly metadata: { readonly name: string }
      readonly status?: { readonly state?: string }
    }[]
  }>(['meshrootcertificates', '-n', mesh.namespace])
  return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name, status?.state]))
}

/** Kills the leading controller when a MeshRootCertificate is in a state: the next leader has to go on. */
async function killLeaderWhile(name: string, state: string): Promise<void> {
  await waitUntil(`${name} to be ${state}`, async () => (await states())[name] === state || undefined, {
    timeoutMs: limitMs,
    signal: AbortSignal.timeout(limitMs),
  })
  const lease = await cluster.kubectl.get<{ readonly spec: { readonly holderIdentity: string } }>([
    'lease',
    `osm-controller-${mesh.name}`,
    '-n',
    mesh.namespace,
  ])
  const [pod = ''] = lease.spec.holderIdentity.split('_')
  await cluster.kubectl.run(['delete', 'pod', pod, '-n', mesh.namespace, '--grace-period=0', '--force'])
}

async function osm(...args: readonly string[]): Promise<Rotation> {
  const { code, stdout, stderr } = await mesh.osm(
    'certificate',
    ...args,
    '--osm-namespace',
    mesh.namespace,
    '-o',
    'json',
  )
  if (code !== 0) throw new Error(`osm certificate ${args.join(' ')} failed with ${code}: ${stderr}`)
  return JSON.parse(stdout) as Rotation
}

beforeAll(async () => {
  cluster = SharedCluster.open()
  folder = await mkdtemp(join(tmpdir(), 'osm-rotation-'))
  mesh = await Mesh.install(cluster, {
    name: 'rotation',
    values: {
      enablePermissiveTrafficPolicy: true,
      // osm asks it.
      enableDebugServer: true,
      featureFlags: { enableMeshRootCertificate: true },
      osmController: { replicaCount: 2 },
    },
  })
  shop = await mesh.createNamespace('rotated')
  const { image, name: namespace } = shop
  await Promise.all([
    startVault(),
    built === undefined ? undefined : startCertManager(built),
    shop.run(
      deployment({ name: 'client', namespace, image }),
      server({ name: 'server', namespace, image, ports: { 8080: 'http', 9000: 'tcp-server-first' }, replicas: 2 }),
    ),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
  await vault.stop()
  await certManager?.stop()
  await rm(folder, { recursive: true })
}, setUpTimeoutMs)

describe('roots of workload certificates, with two controllers', () => {
  test(`change from the built-in authority to Vault, ${built === undefined ? '' : 'to cert-manager '}and back without losing a request, although the leader is killed`, async () => {
    const [web, raw] = [shop.caller('deploy/client'), shop.caller('deploy/client')]
    await Promise.all([works(web, http), works(raw, tcp)])
    const rotations: Rotation[] = []
    let isRotated = false
    let made = (): number => 0
    const done = async (ofTcp: () => number): Promise<void> => {
      await addRoots()
      if (former !== 'vault') rotations.push(await osm('rotate', 'vault', '--timeout', '4m'))
      const next = osm('rotate', former, '--timeout', '4m')
      await Promise.all([next, killLeaderWhile(former, 'issuingRollout')])
      rotations.push(await next, await osm('rotate', '--timeout', '4m'))
      isRotated = true
      await waitUntil('enough calls', async () => made() + ofTcp() >= leastCalls || undefined, {
        timeoutMs: callsTimeoutMs,
        signal: AbortSignal.timeout(callsTimeoutMs),
      })
    }
    const raws = underLoad(raw, tcp, done, pace)
    const webs = await underLoad(
      web,
      http,
      async (ofHttp) => {
        made = ofHttp
        await raws
      },
      pace,
    )
    const { calls, lost } = await raws
    expect([...webs.lost, ...lost]).toEqual([])
    expect(webs.calls + calls).toBeGreaterThanOrEqual(leastCalls)
    expect(isRotated).toBe(true)
    expect(rotations.map(({ to, state }) => [to, state])).toEqual([
      ['vault', 'active'],
      ...(former === 'vault' ? [] : [[former, 'active']]),
      [expect.stringMatching(/^osm-ca-bundle-next-/), 'active'],
    ])
  })

  test('go back at once while the former one is trusted, and never to one that is not', async () => {
    const back = await osm('rollback', former, '--timeout', '4m')
    expect(back).toMatchObject({ to: former, state: 'active' })
    await cluster.kubectl.run([
      'patch',
      'meshrootcertificate',
      distrusted,
      '-n',
      mesh.namespace,
      '--type=merge',
      '-p',
      '{"spec":{"role":"inactive"}}',
    ])
    await waitUntil(
      `${distrusted} to be inactive`,
      async () => (await states())[distrusted] === 'inactive' || undefined,
      {
        timeoutMs: limitMs,
        signal: AbortSignal.timeout(limitMs),
      },
    )
    const refused = await mesh.osm('certificate', 'rollback', distrusted, '--osm-namespace', mesh.namespace)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('OSM_CLI_ROLLBACK')
    await works(shop.caller('deploy/client'), http)
  })

  test('stay in the trust domain of the mesh', async () => {
    const tresor = { ca: { secretRef: { name: 'osm-ca-bundle', namespace: mesh.namespace } } }
    const foreign = {
      apiVersion: 'config.openservicemesh.io/v1alpha2',
      kind: 'MeshRootCertificate',
      metadata: { name: 'foreign', namespace: mesh.namespace },
      spec: { role: 'passive', trustDomain: 'other.example', provider: { tresor } },
    }
    const { code, stderr } = await cluster.kubectl.try(['apply', '-f', '-'], { input: JSON.stringify(foreign) })
    expect(code).not.toBe(0)
    expect(stderr).toContain(
      'spec.trustDomain: must be cluster.local, that of the mesh, got "other.example" [OSM_SPEC_TRUST_DOMAIN]',
    )
  })
})
