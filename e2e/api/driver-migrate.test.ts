import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { packageIntegrity } from '@osm-ts/driver-process'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import type { Deployment, Pod } from './stand-in/index.js'
import { clientMayReadBooks } from './support/client-policy.js'
import { ControllerProcess } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { InjectorStandIn } from './support/injector-stand-in.js'
import { controllerDeployment, MeshObjects } from './support/mesh-objects.js'
import { NodeStandIn } from './support/node-stand-in.js'
import { osmProgram, type OsmAnswer, type OsmProgram } from './support/osm-program.js'
import { deployment, WorkloadsStandIn } from './support/workloads-stand-in.js'

const signal = AbortSignal.timeout(900_000)
/** Programs are started again and again, on a machine that may have other things to do. */
const testTimeoutMs = 180_000
const meshName = 'moving'
const osmNamespace = 'osm-system'
const shop = 'shop'
const node = 'node-stand-in'
const classAnnotation = 'openservicemesh.io/sidecar-class'
const restartedAt = 'kubectl.kubernetes.io/restartedAt'
const ports = { envoy: 15_128, working: 15_300 }
const driverFolder = fileURLToPath(new URL('../../packages/driver-process/test/packages/working', import.meta.url))
const retry = `apiVersion: policy.openservicemesh.io/v1alpha1
kind: Retry
metadata: { name: again, namespace: ${shop} }
spec:
  source: { kind: ServiceAccount, name: client, namespace: ${shop} }
  destinations: [{ kind: Service, name: server, namespace: ${shop} }]
  retryPolicy: { retryOn: 5xx, numRetries: 2, perTryTimeout: 1s, retryBackoffBaseInterval: 1s }
`

interface Answered {
  readonly plan: {
    readonly from: readonly string[]
    readonly workloads: readonly { readonly name: string; readonly step: string; readonly pods: object }[]
    readonly left: readonly { readonly pod: string }[]
    readonly obstacles: readonly { readonly what: string }[]
  }
  readonly result?: {
    readonly outcome: string
    readonly annotation: string | null
    readonly workloads: readonly { readonly name: string; readonly state: string }[]
  }
}

// The controller is the program that is shipped, with a driver package beside Envoy's driver; the pods are kept by a stand-in, and their proxies take and
// acknowledge what they are sent.
describe('osm driver migrate', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let osm: OsmProgram
  let controller: ControllerProcess
  let kubelet: NodeStandIn
  let injector: InjectorStandIn
  let workloads: WorkloadsStandIn
  let refusing: string
  /** Name of the Deployment whose pods of class working never become ready. */
  let stuck = ''

  const migrate = (to: string, ...args: readonly string[]): Promise<OsmAnswer> =>
    osm('driver', 'migrate', shop, '--to', to, '--timeout', '100s', ...args)
  const asJson = async (to: string, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await migrate(to, '-o', 'json', ...args)
    if (stdout === '') throw new Error(stderr)
    return { code, stderr, ...(JSON.parse(stdout) as Answered) }
  }
  const states = ({ result }: Answered) => Object.fromEntries(result?.workloads.map((it) => [it.name, it.state]) ?? [])
  const classOfNamespace = async () => {
    const found = await api.get(resourceTypes.Namespace, { namespace: '', name: shop }, signal)
    const entries = Object.entries(found?.metadata.annotations ?? {})
    return Object.fromEntries(entries.filter(([name]) => name.startsWith(classAnnotation)))
  }
  const deployments = async () =>
    (await api.list(resourceTypes.Deployment, { namespace: shop }, signal)).items as unknown as readonly Deployment[]
  const restarts = async () =>
    Object.fromEntries(
      (await deployments()).map(({ metadata, spec }) => [
        metadata.name,
        spec.template.metadata?.annotations?.[restartedAt],
      ]),
    )
  /** Classes of the pods of each Deployment. */
  const classes = async () => {
    const { items } = await api.list(
      resourceTypes.Pod,
      { namespace: shop, labelSelector: 'app in (client,server)' },
      signal,
    )
    const found = (items as unknown as readonly Pod[]).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    )
    return found.map(({ metadata }) => `${metadata.labels?.['app']} ${metadata.annotations?.[classAnnotation]}`).sort()
  }
  const all = (sidecarClass: string) => ['client', 'server', 'server'].map((name) => `${name} ${sidecarClass}`)

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    const { folder, address, caPem } = server.description
    ;({ api } = server.client)
    refusing = join(folder, 'refusing')
    objects = new MeshObjects(api, signal)
    osm = osmProgram({ kubeconfig: server.client.kubeconfigPath })
    await defineKinds(api, signal)
    await objects.namespace(osmNamespace, {})
    await objects.namespace(shop, { 'openservicemesh.io/monitored-by': meshName })
    await objects.controllerAccount(osmNamespace)
    const sidecarDrivers = [
      { sidecarName: 'envoy', proxyServerPort: ports.envoy },
      { sidecarName: 'working', proxyServerPort: ports.working, config: { refusing } },
    ]
    await objects.apply(
      JSON.stringify({
        apiVersion: 'config.openservicemesh.io/v1alpha2',
        kind: 'MeshConfig',
        metadata: { name: 'osm-mesh-config', namespace: osmNamespace },
        spec: {
          sidecar: { sidecarClass: 'envoy', sidecarDrivers },
          observability: { enableDebugServer: true },
          featureFlags: { enableRetryPolicy: true },
        },
      }),
    )
    await objects.apply(JSON.stringify(controllerDeployment(osmNamespace, meshName)))
    const integrity = await packageIntegrity(driverFolder)
    controller = await ControllerProcess.start({
      name: 'migrating',
      folder,
      kubeconfig: await server.client.kubeconfigFor({ namespace: osmNamespace, name: 'osm-controller' }),
      address: '127.0.0.29',
      meshName,
      osmNamespace,
      flags: [`--driver-packages=${JSON.stringify({ drivers: [{ name: 'working', path: driverFolder, integrity }] })}`],
    })
    const certificate = {
      cert: readFileSync(join(folder, 'server.crt'), 'utf8'),
      key: readFileSync(join(folder, 'server.key'), 'utf8'),
    }
    kubelet = await NodeStandIn.start({
      api,
      name: node,
      address,
      certificate,
      ports: (_pod, port) => (port === 9092 ? { host: controller.address, port: controller.ports.debug } : undefined),
      signal,
    })
    const spec = {
      serviceAccountName: 'osm-controller',
      automountServiceAccountToken: false,
      nodeName: node,
      containers: [{ name: 'osm-controller', image: 'none' }],
    }
    const metadata = { name: 'controller-0', namespace: osmNamespace, labels: { app: 'osm-controller' } }
    await objects.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }))
    await objects.runs(osmNamespace, 'controller-0', '10.9.1.1')
    await controller.untilReady(90_000)
    injector = await InjectorStandIn.start({
      api,
      server: { address, folder, caPem },
      meshName,
      defaultClass: 'envoy',
      signal,
    })
    for (const name of ['client', 'server'])
      await objects.apply(`apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: ${name}, namespace: ${shop} }\n`)
    await objects.apply(clientMayReadBooks(shop))
    await objects.service(shop, 'server', [])
    await objects.apply(JSON.stringify(deployment(shop, 'client')))
    await objects.apply(JSON.stringify(deployment(shop, 'server', { replicas: 2 })))
    await objects.pod({ namespace: shop, name: 'alone', account: 'client-alone', address: '10.9.2.1', meshName })
    workloads = new WorkloadsStandIn({
      api,
      namespace: shop,
      osmNamespace,
      meshName,
      controller: controller.address,
      ports,
      isStuck: ({ metadata: { labels = {}, annotations = {} } }) =>
        labels['app'] === stuck && annotations[classAnnotation] === 'working',
      signal,
    })
    await eventually(
      () => osm('proxy', 'status', '-n', shop, '-o', 'json'),
      ({ stdout }) => stdout.split('"applied"').length === 5,
      { everyMs: 1000, what: 'four proxies that have applied their configuration' },
    ).catch((error: unknown) => {
      throw new Error([...workloads.faults, controller.program.lastWords()].join('\n'), { cause: error })
    })
  })

  afterAll(async () => {
    await workloads.stop()
    await controller.program.stop()
    await injector.stop()
    await kubelet.stop()
    await server.stop()
  })

  it(
    'tells every step beforehand, and changes nothing',
    async () => {
      const before = await Promise.all([classOfNamespace(), restarts(), classes()])
      const { code, plan, result } = await asJson('working', '--dry-run')
      expect({ code, result, obstacles: plan.obstacles }).toEqual({ code: 0, result: undefined, obstacles: [] })
      expect(plan.workloads).toMatchObject([
        { name: 'client', step: 'restart', pods: { envoy: 1 } },
        { name: 'server', step: 'restart', pods: { envoy: 2 } },
      ])
      expect(plan).toMatchObject({ from: ['envoy'], left: [{ pod: 'alone' }] })
      const { stdout } = await migrate('working', '--dry-run')
      expect(stdout).toMatch(/^ +1 +Namespace\/shop +sidecar class \(default\) becomes working$/m)
      expect(stdout).toMatch(/^ +3 +Deployment\/server +2 envoy +rolling restart, then wait for its sidecars$/m)
      expect(stdout).toContain('Pod/alone of class envoy, stands alone')
      await expect(Promise.all([classOfNamespace(), restarts(), classes()])).resolves.toEqual(before)
    },
    testTimeoutMs,
  )

  it(
    'moves every workload, one after the other, until its sidecars have applied what they are told',
    async () => {
      const answer = await migrate('working')
      expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining('successfully migrated') as unknown })
      const told = [
        'Namespace/shop: new pods get',
        'client: restarted',
        'client: migrated',
        'server: restarted',
        'server: migrated',
      ]
      const places = told.map((text) => answer.stderr.indexOf(text))
      expect(places).toEqual([...places].sort((a, b) => a - b))
      expect(places).not.toContain(-1)
      await expect(classOfNamespace()).resolves.toEqual({ [classAnnotation]: 'working' })
      await expect(classes()).resolves.toEqual(all('working'))
      const { stdout } = await osm('proxy', 'status', '-n', shop, '-o', 'json')
      expect(stdout.split('"class": "working"')).toHaveLength(4)
    },
    testTimeoutMs,
  )

  it(
    'has nothing to do a second time',
    async () => {
      const before = await restarts()
      const answer = await asJson('working')
      expect(answer.plan.workloads.map(({ step }) => step)).toEqual(['check', 'check'])
      expect(answer).toMatchObject({ code: 0, result: { outcome: 'migrated' } })
      await expect(restarts()).resolves.toEqual(before)
    },
    testTimeoutMs,
  )

  it(
    'moves them back, several at a time',
    async () => {
      await expect(migrate('envoy', '--parallel', '2')).resolves.toMatchObject({ code: 0 })
      await expect(classOfNamespace()).resolves.toEqual({ [classAnnotation]: 'envoy' })
      await expect(classes()).resolves.toEqual(all('envoy'))
    },
    testTimeoutMs,
  )

  it(
    'stops where a rollout does not come to its end, puts back what it can, and goes on later',
    async () => {
      const before = await restarts()
      stuck = 'client'
      const answer = await asJson('working', '--timeout', '3s')
      expect(answer).toMatchObject({ code: 1, result: { outcome: 'stopped', annotation: 'envoy' } })
      expect(states(answer)).toEqual({ client: 'put-back', server: 'not-begun' })
      expect(answer.stderr).toMatch(
        /stopped: Deployment\/client: not complete within 3\.0 s: .*\[OSM_CLI_MIGRATION_STOPPED\]\n {2}fix the cause and run the same command again.* osm driver migrate shop --to envoy/,
      )
      await expect(classOfNamespace()).resolves.toEqual({ [classAnnotation]: 'envoy' })
      await expect(restarts()).resolves.toEqual(before)
      await eventually(classes, (found) => found.join() === all('envoy').join())

      stuck = ''
      await expect(migrate('working')).resolves.toMatchObject({ code: 0 })
      await expect(classes()).resolves.toEqual(all('working'))
    },
    testTimeoutMs,
  )

  it(
    'stops where a sidecar refuses what it is told; what was done before stays, and the rest is put back',
    async () => {
      await expect(migrate('envoy')).resolves.toMatchObject({ code: 0 })
      writeFileSync(refusing, 'server')
      const answer = await asJson('working')
      expect(answer).toMatchObject({ code: 1, result: { outcome: 'stopped', annotation: 'envoy' } })
      expect(states(answer)).toEqual({ client: 'migrated', server: 'put-back' })
      expect(answer.stderr).toMatch(
        /stopped: Deployment\/server: the sidecar of pod server-\S+ has rejected .*: no longer accepted/,
      )
      const mixed = ['client working', 'server envoy', 'server envoy'].join()
      await eventually(classes, (found) => found.join() === mixed)
    },
    testTimeoutMs,
  )

  it(
    'leaves everything where it is when it is told to, and goes back from there',
    async () => {
      const stopped = await asJson('working', '--keep')
      expect(stopped).toMatchObject({ code: 1, result: { outcome: 'stopped', annotation: 'working' } })
      expect(states(stopped)).toEqual({ client: 'migrated', server: 'under-way' })
      await expect(classOfNamespace()).resolves.toEqual({
        [classAnnotation]: 'working',
        [`${classAnnotation}-before-migration`]: 'envoy',
      })
      rmSync(refusing)
      await expect(migrate('envoy')).resolves.toMatchObject({ code: 0 })
      await expect(classOfNamespace()).resolves.toEqual({ [classAnnotation]: 'envoy' })
      await expect(classes()).resolves.toEqual(all('envoy'))
    },
    testTimeoutMs,
  )

  it(
    'refuses what cannot go well, with all reasons, and changes nothing',
    async () => {
      const before = await restarts()
      const { code, stdout, stderr } = await migrate('nobodys')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /controller controller-0 has no driver of class nobodys \[OSM_CLI_MIGRATION\]\n {2}ready are envoy, working;/,
      )

      await objects.apply(retry)
      const patchTemplate = async (metadata: object): Promise<void> =>
        void (await api.mergePatch(
          resourceTypes.Deployment,
          { namespace: shop, name: 'server' },
          { spec: { template: { metadata } } },
          { signal },
        ))
      await patchTemplate({ annotations: { [classAnnotation]: 'envoy' }, labels: { 'refused-by': 'working' } })
      const own = await eventually(
        () => asJson('working', '--dry-run'),
        ({ plan }) => plan.obstacles.length === 2,
        { everyMs: 500 },
      )
      expect(own.code).toBe(1)
      expect(own.plan.obstacles.map(({ what }) => what)).toEqual([
        'the class does not support retries, which Retry shop/again needs',
        'the pod template of Deployment/server selects class envoy by its annotation, which overrides that of the namespace',
      ])
      await patchTemplate({ annotations: { [classAnnotation]: null } })
      const allowed = await asJson('working', '--dry-run', '--allow-missing', 'retries')
      expect(allowed.plan.obstacles.map(({ what }) => what)).toEqual([
        expect.stringContaining('a pod of Deployment/server would not get a sidecar of class working'),
      ])
      await expect(classOfNamespace()).resolves.toEqual({ [classAnnotation]: 'envoy' })
      await expect(restarts()).resolves.toEqual(before)
    },
    testTimeoutMs,
  )
})
