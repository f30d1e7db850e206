import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { KubernetesApi } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ControllerProcess } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { clientMayReadBooks } from './support/client-policy.js'
import { controllerDeployment, MeshObjects } from './support/mesh-objects.js'
import { NodeStandIn } from './support/node-stand-in.js'
import { osmProgram, type OsmProgram } from './support/osm-program.js'
import { SimulatedProxy } from './support/simulated-proxy.js'

const signal = AbortSignal.timeout(400_000)
const meshName = 'cli'
const osmNamespace = 'osm-system'
const shop = 'shop'
const edge = 'edge'
const node = 'node-stand-in'
const meshConfig = (debug: boolean): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
  `spec: { sidecar: { sidecarClass: envoy }, observability: { enableDebugServer: ${String(debug)} },\n` +
  `  featureFlags: { enableEgressPolicy: true, enableIngressBackendPolicy: true } }\n`
const policy = clientMayReadBooks(shop)
const egress = `apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: news, namespace: ${shop} }
spec:
  sources: [{ kind: ServiceAccount, name: client, namespace: ${shop} }]
  hosts: [news.example.com]
  ports: [{ number: 80, protocol: http }]
`
const ingress = `apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: { name: from-edge, namespace: ${shop} }
spec:
  backends: [{ name: server, port: { number: 8080, protocol: http } }]
  sources: [{ kind: Service, name: gateway, namespace: ${edge} }]
`

interface Check {
  readonly context: string
  readonly status: string
  readonly reason?: string
  readonly nested: readonly Check[]
}

// The controller is the program that is shipped, behind the port-forward of a real API server; proxies take and acknowledge what they are sent.
describe('osm verify', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let osm: OsmProgram
  let controller: ControllerProcess
  let standIn: NodeStandIn
  let admin: Server
  const proxies: SimulatedProxy[] = []

  const verify = async (...args: readonly string[]): Promise<{ readonly code: number; readonly check: Check }> => {
    const { code, stdout, stderr } = await osm('verify', ...args, '-o', 'json')
    if (stdout === '') throw new Error(stderr)
    return { code, check: JSON.parse(stdout) as Check }
  }
  /** Checks that do not hold. */
  const faults = ({ nested }: Check): readonly (readonly [string, string])[] =>
    nested.filter(({ status }) => status !== 'Success').map(({ status, reason = '' }) => [status, reason])
  const inside = (from: string, to = 'server', service = 'server', ...more: readonly string[]) =>
    verify(
      'connectivity',
      '--from-pod',
      `${shop}/${from}`,
      '--to-pod',
      `${shop}/${to}`,
      '--to-service',
      service,
      ...more,
    )

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    ;({ api } = server.client)
    objects = new MeshObjects(api, signal)
    osm = osmProgram({ kubeconfig: server.client.kubeconfigPath })
    await defineKinds(api, signal)
    await objects.namespace(osmNamespace, {})
    for (const name of [shop, edge]) await objects.namespace(name, { 'openservicemesh.io/monitored-by': meshName })
    await objects.controllerAccount(osmNamespace)
    await objects.apply(meshConfig(true))
    await objects.apply(JSON.stringify(controllerDeployment(osmNamespace, meshName)))
    controller = await ControllerProcess.start({
      name: 'verified',
      folder: server.description.folder,
      kubeconfig: await server.client.kubeconfigFor({ namespace: osmNamespace, name: 'osm-controller' }),
      address: '127.0.0.27',
      meshName,
      osmNamespace,
    })
    admin = createServer((request, response) => response.end(`page ${request.url ?? ''}`))
    await new Promise<void>((resolve) => admin.listen(0, '127.0.0.1', resolve))
    standIn = await NodeStandIn.start({
      api,
      name: node,
      address: server.description.address,
      certificate: {
        cert: readFileSync(join(server.description.folder, 'server.crt'), 'utf8'),
        key: readFileSync(join(server.description.folder, 'server.key'), 'utf8'),
      },
      ports: (pod, port) => {
        const { address: host, ports } = controller
        if (pod === `${osmNamespace}/controller-0` && port === 9092) return { host, port: ports.debug }
        if (pod === `${osmNamespace}/controller-0` && port === 9091) return { host, port: ports.health }
        const isAdmin = pod === `${shop}/client` && port === 15_000
        return isAdmin ? { host: '127.0.0.1', port: (admin.address() as AddressInfo).port } : undefined
      },
      signal,
    })
    await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'controller-0', namespace: osmNamespace, labels: { app: 'osm-controller' } },
        spec: {
          serviceAccountName: 'osm-controller',
          automountServiceAccountToken: false,
          nodeName: node,
          containers: [{ name: 'osm-controller', image: 'none' }],
        },
      }),
    )
    await objects.runs(osmNamespace, 'controller-0', '10.9.1.1')
    const meshed = async (name: string, address: string) => ({
      name,
      ...(await objects.pod({
        namespace: shop,
        name,
        account: name,
        address,
        meshName,
        sidecar: name === 'client' ? 'osm-sidecar' : 'sidecar',
        node,
      })),
    })
    const client = await meshed('client', '10.9.0.1')
    const serving = await meshed('server', '10.9.0.2')
    const stranger = await meshed('stranger', '10.9.0.3')
    await meshed('away', '10.9.0.4')
    await objects.service(shop, 'server', [{ name: 'server', address: '10.9.0.2' }])
    await objects.service(edge, 'gateway', [{ name: 'gateway', address: '10.9.2.1' }])
    await objects.apply(`apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: gateway, namespace: ${edge} }\n`)
    await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'gateway', namespace: edge, labels: { app: 'gateway' } },
        spec: {
          serviceAccountName: 'gateway',
          automountServiceAccountToken: false,
          containers: [{ name: 'gateway', image: 'none' }],
        },
      }),
    )
    await objects.runs(edge, 'gateway', '10.9.2.1')
    for (const text of [policy, egress, ingress]) await objects.apply(text)
    await controller.untilReady(90_000)
    for (const { name, uuid } of [client, serving, stranger])
      proxies.push(
        await SimulatedProxy.connect({
          api,
          osmNamespace,
          target: `${controller.address}:15128`,
          uuid,
          account: { namespace: shop, name },
          signal,
        }),
      )
    await eventually(
      async () => (await osm('proxy', 'status', '-n', shop, '-o', 'json')).stdout,
      (text) => text.split('"applied"').length === 4,
      { everyMs: 1000 },
    )
  })

  afterAll(async () => {
    for (const proxy of proxies) proxy.close()
    await controller.program.stop()
    await standIn.stop()
    await new Promise((resolve) => admin.close(resolve))
    await server.stop()
  })

  it('finds that nothing is wrong where a pod can call another one, and by which rule', async () => {
    const { code, stdout } = await osm(
      'verify',
      'connectivity',
      ...['--from-pod', `${shop}/client`, '--to-pod', `${shop}/server`, '--to-service', 'server'],
    )
    expect({ code, stdout }).toMatchObject({ code: 0 })
    expect(stdout).toContain(
      '[+] Context: Verify that pod [shop/client] can access pod [shop/server] by service [shop/server]\nStatus: Success\n',
    )
    expect(stdout).toContain(
      '[++] Context: Verify that policy allows pod [shop/client] to call pod [shop/server]\nStatus: Success\n' +
        'Reason: port 80: GET /books.*; by TrafficTarget [shop/client-to-server]\n',
    )
    expect(stdout).not.toMatch(/Failure|Unknown/)
  })

  it('tells policy that does not allow a call from all that is in order', async () => {
    const { code, check } = await inside('stranger')
    expect(code).toBe(1)
    expect(check.status).toBe('Failure')
    expect(faults(check)).toEqual([
      ['Failure', 'its policy has no routes'],
      ['Failure', 'no rule allows stranger.shop to call service [shop/server] on this pod'],
    ])
  })

  it('tells a protocol that the service does not speak', async () => {
    const { check } = await inside('client', 'server', 'server', '--app-protocol', 'tcp')
    expect(faults(check)).toEqual([['Failure', 'service [shop/server] allows it on port 80 (http), but not over tcp']])
  })

  it('tells a sidecar that is not connected, and pods and namespaces that are not meshed', async () => {
    const away = await inside('away')
    expect(faults(away.check)).toContainEqual(['Failure', 'it is not connected to any controller'])
    const nobody = await inside('nobody')
    expect(nobody.code).toBe(1)
    expect(faults(nobody.check)).toContainEqual(['Failure', 'there is no such pod'])
    expect(faults(nobody.check)).toContainEqual(['Unknown', 'the pod has no proxy'])
    const other = await inside('client', 'server', 'server', '--mesh-name', 'other')
    expect(faults(other.check)).toEqual([['Failure', 'it is monitored by mesh [cli]']])
  })

  it('tells what an Egress opens', async () => {
    const outside = (...args: readonly string[]) =>
      verify('connectivity', '--from-pod', `${shop}/client`, '--to-ext-port', ...args)
    await expect(outside('80', '--to-ext-host', 'news.example.com')).resolves.toMatchObject({ code: 0 })
    await expect(outside('80')).resolves.toMatchObject({ code: 0 })
    const other = await outside('80', '--to-ext-host', 'other.example.com')
    expect(other.code).toBe(1)
    expect(faults(other.check)).toEqual([['Failure', 'Egress allows only http to news.example.com port 80']])
  })

  it('finds what keeps a gateway from a pod', async () => {
    const args = ['--from-service', `${edge}/gateway`, '--to-pod', `${shop}/server`, '--to-service', 'server']
    const good = await verify('ingress', ...args, '--ingress-backend', 'from-edge', '--to-port', '8080')
    expect({ code: good.code, faults: faults(good.check) }).toEqual({ code: 0, faults: [] })

    const wrongPort = await verify('ingress', ...args, '--ingress-backend', 'from-edge', '--to-port', '80')
    expect(wrongPort.code).toBe(1)
    expect(faults(wrongPort.check)).toEqual([
      ['Failure', 'it has no backend server with port 80'],
      ['Failure', 'it allows no callers from outside on this port'],
    ])
    const meshedGateway = await verify(
      'ingress',
      ...['--from-service', `${shop}/server`, '--to-pod', `${shop}/server`, '--to-service', 'server'],
      ...['--ingress-backend', 'from-edge', '--to-port', '8080'],
    )
    expect(faults(meshedGateway.check)).toEqual([
      ['Failure', 'these have one: server'],
      ['Failure', 'its sources do not name Service shop/server'],
    ])
  })

  it('asks the programs of the control plane how they are', async () => {
    const { code, check } = await verify('control-plane-health')
    expect(code).toBe(1)
    expect(check.nested.map(({ context, status, reason = '' }) => [context, status, reason])).toEqual([
      ['Verify the health of osm-controller', 'Success', ''],
      ['Verify the health of osm-injector', 'Failure', 'there is no Deployment osm-injector in namespace osm-system'],
      ['Verify the health of osm-bootstrap', 'Failure', 'there is no Deployment osm-bootstrap in namespace osm-system'],
    ])
    expect(check.nested[0]?.nested.map(({ context }) => context)).toEqual([
      'Verify that pod [osm-system/controller-0] is ready',
      'Verify that pod [osm-system/controller-0] answers /health/alive',
      'Verify that pod [osm-system/controller-0] answers /health/ready',
    ])
  })

  it('shows the proxies of a cluster, and pages of their sidecars', async () => {
    const { stdout } = await osm('proxy', 'list', '-n', shop, '-o', 'json')
    const listed = JSON.parse(stdout) as readonly { readonly name: string; readonly connected: boolean }[]
    expect(listed.map(({ name, connected }) => [name, connected])).toEqual([
      ['shop/away', false],
      ['shop/client', true],
      ['shop/server', true],
      ['shop/stranger', true],
    ])
    await expect(osm('proxy', 'config', 'server', '-n', shop)).resolves.toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /shop\/server:80 \(http\) .*\n {4}GET \/books\.\* +from client\.shop\.cluster\.local/,
      ),
    })
    await expect(osm('proxy', 'get', 'stats?filter=x', 'client', '-n', shop)).resolves.toEqual({
      code: 0,
      stdout: 'page /stats?filter=x\n',
      stderr: '',
    })
    await expect(osm('proxy', 'get', 'stats', 'server', '-n', shop)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('connection refused'),
    })
  })

  it('says that it does not know where no one may be asked', async () => {
    await objects.apply(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: verify-reader }
rules:
  - { apiGroups: [""], resources: [pods, namespaces, services], verbs: [get, list] }
  - { apiGroups: [apps], resources: [deployments], verbs: [get, list] }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: reader, namespace: ${shop} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: verify-reader }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: verify-reader }
subjects: [{ kind: ServiceAccount, name: reader, namespace: ${shop} }]
`)
    const reader = osmProgram({ kubeconfig: await server.client.kubeconfigFor({ namespace: shop, name: 'reader' }) })
    const { code, stdout } = await reader(
      'verify',
      'connectivity',
      ...['--from-pod', `${shop}/client`, '--to-pod', `${shop}/server`, '--to-service', 'server', '-o', 'json'],
    )
    const check = JSON.parse(stdout) as Check
    expect({ code, status: check.status }).toEqual({ code: 1, status: 'Unknown' })
    expect(faults(check).every(([, reason]) => reason.includes('cannot get resource "pods/portforward"'))).toBe(true)
  })

  it('computes policies from the objects of the cluster while the debug server is off, and says so once', async () => {
    await objects.apply(meshConfig(false))
    await eventually(
      async () => (await controller.debug('/debug')).status,
      (status) => status === 0,
    )
    const { code, check } = await inside('client')
    expect({ code, status: check.status, faults: faults(check) }).toEqual({ code: 0, status: 'Success', faults: [] })
    expect(check.reason).toContain('spec.observability.enableDebugServer: true')
    expect(JSON.stringify(check).split('enableDebugServer')).toHaveLength(2)
    const decided = check.nested.find(({ context }) => context.includes('policy allows'))
    expect(decided?.reason).toBe('port 80: GET /books.*; by TrafficTarget [shop/client-to-server]')
    const refused = await inside('stranger')
    expect(refused.code).toBe(1)
    expect(faults(refused.check)).toContainEqual(['Failure', 'its policy has no routes'])
  })
})
