import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { defineKinds } from './support/definitions.js'
import { clientMayReadBooks } from './support/client-policy.js'
import { controllerDeployment, MeshObjects } from './support/mesh-objects.js'
import { osmProgram, type OsmProgram } from './support/osm-program.js'

const signal = AbortSignal.timeout(300_000)
const meshName = 'cli'
const osmNamespace = 'osm-system'
const shop = 'shop'
const meshConfig = (permissive: boolean): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
  `spec: { sidecar: { sidecarClass: envoy }, traffic: { enablePermissiveTrafficPolicyMode: ${String(permissive)} } }\n`
const policy = clientMayReadBooks(shop)
const backend = (name: string): string => `apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: { name: ${name}, namespace: ${shop} }
spec:
  backends: [{ name: server, port: { number: 8080, protocol: http } }]
  sources: [{ kind: IPRange, name: 10.0.0.0/8 }]
`

describe('osm policy can, check-pods and check-conflicts', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let osm: OsmProgram

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    ;({ api } = server.client)
    objects = new MeshObjects(api, signal)
    osm = osmProgram({ kubeconfig: server.client.kubeconfigPath })
    await defineKinds(api, signal)
    await objects.namespace(osmNamespace, {})
    await objects.namespace(shop, { 'openservicemesh.io/monitored-by': meshName })
    await objects.apply(JSON.stringify(controllerDeployment(osmNamespace, meshName)))
    await objects.apply(meshConfig(false))
    for (const [name, address] of [
      ['client', '10.9.0.1'],
      ['server', '10.9.0.2'],
      ['stranger', '10.9.0.3'],
    ] as const)
      await objects.pod({ namespace: shop, name, account: name, address, meshName })
    await objects.service(shop, 'server', [{ name: 'server', address: '10.9.0.2' }])
    await objects.apply(policy)
  })

  afterAll(() => server.stop(), 60_000)

  it('names the TrafficTarget that lets one pod call another, and what it may ask', async () => {
    await expect(osm('policy', 'check-pods', `${shop}/client`, `${shop}/server`)).resolves.toEqual({
      code: 0,
      stdout:
        '[+] SMI traffic policy mode enabled for mesh [cli]\n\n' +
        ' [+] Pod [shop/client] is allowed to communicate to pod [shop/server] via SMI TrafficTarget [shop/client-to-server]\n' +
        '      shop/server port 80 (http): GET /books.*\n',
      stderr: '',
    })
  })

  it('names the missing rule if no TrafficTarget allows a call', async () => {
    const { code, stdout } = await osm('policy', 'check-pods', `${shop}/stranger`, `${shop}/server`)
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout:
        '[+] SMI traffic policy mode enabled for mesh [cli]\n\n' +
        ' [+] Pod [shop/stranger] is not allowed to communicate to pod [shop/server]: ' +
        'missing SMI TrafficTarget policy from service account [shop/stranger] to [shop/server]\n',
    })
  })

  it('says which requests a policy of the cluster allows, and names its objects', async () => {
    const can = (from: string, ...request: readonly string[]) =>
      osm('policy', 'can', from, `${shop}/server`, ...request)
    await expect(can(`${shop}/client`, 'GET', '/books/1')).resolves.toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`TrafficTarget ${shop}/client-to-server spec.rules[0]`),
      stderr: '',
    })
    await expect(can(`${shop}/client`, 'POST', '/books/1')).resolves.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('the method must be GET'),
    })
    await expect(can(`${shop}/stranger`)).resolves.toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`TrafficTarget ${shop}/client-to-server does not name ${shop}/stranger`),
    })
  })

  it('analyzes namespaces, whether they are of the mesh or not, and pods', async () => {
    await objects.namespace('misspelt', { 'openservicemesh.io/monitored': meshName })
    await objects.namespace('elsewhere', { 'openservicemesh.io/monitored-by': 'clj' })
    const annotations = { 'openservicemesh.io/outbound-port-exclusions': '6379' }
    await api.mergePatch(
      resourceTypes.Pod,
      { namespace: shop, name: 'client' },
      { metadata: { annotations } },
      { signal },
    )
    const { stdout } = await osm('analyze', '-o', 'json')
    const { findings } = JSON.parse(stdout) as {
      readonly findings: readonly { readonly code: string; readonly object?: { readonly name: string } }[]
    }
    const found = findings.filter(({ code }) => /^OSM_ANALYZE_(KEY|NAMESPACE)/.test(code))
    expect(found.map(({ code, object }) => `${code} ${object?.name ?? ''}`).sort()).toEqual([
      'OSM_ANALYZE_KEY_UNKNOWN client',
      'OSM_ANALYZE_KEY_UNKNOWN misspelt',
      'OSM_ANALYZE_NAMESPACE_INJECTION shop',
      'OSM_ANALYZE_NAMESPACE_MESH elsewhere',
    ])
  })

  it('answers programs in JSON', async () => {
    const { stdout } = await osm('policy', 'check-pods', `${shop}/client`, `${shop}/server`, '-o', 'json')
    expect(JSON.parse(stdout)).toEqual({
      allowed: true,
      permissive: false,
      trafficTargets: [{ kind: 'TrafficTarget', namespace: shop, name: 'client-to-server' }],
      requests: [
        {
          service: { namespace: shop, name: 'server' },
          port: 80,
          protocol: 'http',
          requests: ['GET /books.*'],
        },
      ],
    })
  })

  it('knows permissive mode, in which no TrafficTarget is asked', async () => {
    await objects.apply(meshConfig(true))
    try {
      const { code, stdout } = await osm('policy', 'check-pods', `${shop}/stranger`, `${shop}/server`)
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout:
          '[+] Permissive mode enabled for mesh [cli]\n\n' +
          ' [+] Pod [shop/stranger] is allowed to communicate to pod [shop/server]\n' +
          '      shop/server port 80 (http): any request\n',
      })
      // Nothing leads there: permissive mode opens services, not pods.
      await expect(osm('policy', 'check-pods', `${shop}/server`, `${shop}/stranger`)).resolves.toMatchObject({
        code: 1,
        stdout: expect.stringContaining('no Service with a TCP port selects pod [shop/stranger]'),
      })
    } finally {
      await objects.apply(meshConfig(false))
    }
  })

  it('translates a TrafficSplit of the cluster to an HTTPRoute', async () => {
    await objects.apply(`apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: { name: server, namespace: ${shop} }
spec: { service: server, backends: [{ service: server, weight: 1 }] }
`)
    const { code, stdout } = await osm('migrate', 'policy', '--to', 'gateway-api', '-n', shop, '-o', 'json')
    expect(JSON.parse(stdout)).toMatchObject({
      routes: [
        { metadata: { name: 'server' }, spec: { rules: [{ backendRefs: [{ name: 'server', port: 80, weight: 1 }] }] } },
      ],
      problems: [],
    })
    expect(code).toBe(0)
  })

  it('shows what a file and a deletion would change in the cluster, and applies nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-diff-'))
    const file = join(folder, 'strangers.yaml')
    try {
      await writeFile(
        file,
        policy.replaceAll('client-to-server', 'strangers').replace('name: client,', 'name: stranger,'),
      )
      const gained = await osm('diff', '-f', file, '-o', 'json')
      expect(gained).toMatchObject({ code: 0, stderr: '' })
      const call = { destination: `${shop}/server:80`, protocol: 'http', request: 'GET /books.*' }
      expect(JSON.parse(gained.stdout)).toMatchObject({
        access: { gained: [{ caller: `${shop}/stranger`, ...call }], lost: [] },
        proxies: { total: 3, changed: [`${shop}/server`, `${shop}/stranger`] },
        findings: { new: [], resolved: [] },
      })
      const lost = await osm('diff', '--delete', `TrafficTarget/${shop}/client-to-server`, '-o', 'json')
      expect(JSON.parse(lost.stdout)).toMatchObject({
        access: { gained: [], lost: [{ caller: `${shop}/client`, ...call }] },
      })
      await expect(osm('policy', 'check-pods', `${shop}/client`, `${shop}/server`)).resolves.toMatchObject({ code: 0 })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('analyzes the cluster, and files against it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-analyze-'))
    const file = join(folder, 'target.yaml')
    try {
      await writeFile(file, policy.slice(policy.indexOf('---') + 4).replace('name: books }', 'name: no-such-group }'))
      // The Deployment has no pods here, so that its controller cannot be asked: that is a finding of its own.
      const running = JSON.parse((await osm('analyze', '-o', 'json')).stdout) as {
        readonly findings: readonly { readonly code: string }[]
      }
      expect(running.findings.filter(({ code }) => !/^OSM_ANALYZE_(KEY|NAMESPACE)_/.test(code))).toEqual([
        expect.objectContaining({ code: 'OSM_ANALYZE_CONTROLLER', severity: 'warning' }),
      ])
      const { code, stdout } = await osm('analyze', file, '--against-mesh', '-n', shop)
      expect(code).toBe(1)
      expect(stdout).toMatch(/target\.yaml:\d+:\d+: error OSM_SPEC_ROUTE {2}TrafficTarget shop\/client-to-server/)
      // Pods of a Deployment in a file, in a namespace that the cluster has in the mesh, and in one that it has not.
      const deployment = (namespace: string): string =>
        `kind: Deployment\napiVersion: apps/v1\nmetadata: { name: new, namespace: ${namespace} }\nspec: { template: { spec: { hostNetwork: true, containers: [{ name: app }] } } }\n`
      await writeFile(file, [deployment(shop), deployment('default')].join('---\n'))
      const pods = await osm('analyze', file, '--against-mesh')
      expect(pods.stdout.match(/OSM_ANALYZE_POD_\w+ {2}Deployment \S+/g)).toEqual([
        `OSM_ANALYZE_POD_WITHOUT_SIDECAR  Deployment ${shop}/new:`,
      ])
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('collects a bug report of everything that can be read, without planted secrets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-bug-report-'))
    const planted = { data: 'planted-data', environment: 'planted-variable', annotation: 'planted-password' }
    await objects.apply(
      `apiVersion: v1\nkind: Secret\nmetadata: { name: planted, namespace: ${shop} }\nstringData: { key: ${planted.data} }\n`,
    )
    await objects.apply(
      `apiVersion: v1\nkind: Pod\nmetadata:\n  name: planted\n  namespace: ${shop}\n  annotations: { note: "password: ${planted.annotation}" }\n` +
        `spec: { serviceAccountName: client, automountServiceAccountToken: false, containers: [{ name: app, image: app, env: [{ name: KEY, value: ${planted.environment} }] }] }\n`,
    )
    try {
      const file = join(folder, 'report.tar.gz')
      const { code, stdout } = await osm('support', 'bug-report', '--all', '--ingress', '-o', file)
      expect(code).toBe(0)
      expect(stdout).toContain(file)
      await promisify(execFile)('tar', ['-xzf', file, '-C', folder])
      const read = (path: string): Promise<string> => readFile(join(folder, 'report', path), 'utf8')
      const pods = await read(`namespaces/${shop}/commands/pods.yaml`)
      expect(pods).toContain('name: planted')
      expect(pods).toContain('note: "password: [removed]"')
      await expect(read(`namespaces/${shop}/commands/secret_names.txt`)).resolves.toContain('planted\n')
      await expect(read(`namespaces/${osmNamespace}/commands/meshconfigs.yaml`)).resolves.toContain('osm-mesh-config')
      await expect(read(`namespaces/${shop}/pods/client/commands/pod.yaml`)).resolves.toContain('name: client')
      // Nothing runs behind this API server: what cannot be read has its reason on the page.
      const page = await read('index.html')
      expect(page).toContain('OSM_ANALYZE_CONTROLLER')
      expect(page).toMatch(/osm_proxy_get_config_dump\.txt<\/td><td>–<\/td>/)
      for (const secret of [...Object.values(planted), Buffer.from(planted.data).toString('base64')])
        await expect(promisify(execFile)('grep', ['-rlF', secret, join(folder, 'report')])).rejects.toMatchObject({
          code: 1,
        })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('refuses pods that are not of the mesh', async () => {
    await expect(osm('policy', 'check-pods', `${shop}/nobody`, `${shop}/server`)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no proxy for pod shop/nobody'),
    })
    await expect(osm('policy', 'check-pods', 'default/client', `${shop}/server`)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('namespace default of pod client is not part of mesh cli'),
    })
  })

  it('names the control plane where the namespace holds none', async () => {
    const { code, stderr } = await osm(
      'policy',
      'check-pods',
      `${shop}/client`,
      `${shop}/server`,
      '--osm-namespace',
      shop,
    )
    expect(code).toBe(1)
    expect(stderr).toBe(
      `osm: there is no control plane in namespace ${shop} [OSM_CLI_MESH_MISSING]\n` +
        `  select one with --osm-namespace: ${osmNamespace}\n`,
    )
  })

  it('lists IngressBackends that claim the same port of a service', async () => {
    await objects.apply(backend('first'))
    await expect(osm('policy', 'check-conflicts', 'IngressBackend', '-n', shop)).resolves.toEqual({
      code: 0,
      stdout: '[+] No conflicts among IngressBackend policies in namespace [shop]\n',
      stderr: '',
    })
    await objects.apply(backend('second'))
    const { code, stdout } = await osm('policy', 'check-conflicts', 'IngressBackend', '-n', shop)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^\[\+\] IngressBackend shop\/second spec\.backends\[0\].*: .*shop\/first.*\n$/)
    // As scripts for the CLI of OSM spell it.
    await expect(osm('policy', 'check-conflicts', 'IngressBackend', '--namespaces', shop)).resolves.toMatchObject({
      code: 1,
      stdout,
    })
    await expect(osm('policy', 'check-conflicts', 'IngressBackend')).resolves.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("required option '-n, --namespace <namespace>' not specified"),
    })
  })
})
