import { existsSync } from 'node:fs'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { MemoryCaStore, systemClock, TresorProvider } from '@osm-ts/core'
import { customResourceDefinitions, inVersion, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { programsFrom, startApiServer, type ChildProgram, type OwnApiServer } from './harness/index.js'
import {
  Objects,
  osmNamespace,
  presetSpec,
  startBootstrap,
  startProgram,
  until,
  untilReady,
  webhooksOf,
} from './support/bootstrap.js'
import { definitionOf, liveDefinition, untilServed, type AnyDefinition } from './support/definitions.js'

const { CustomResourceDefinition, MeshConfig, MutatingWebhookConfiguration, Secret, ValidatingWebhookConfiguration } =
  resourceTypes
const mutating = 'osm-webhook-osm'
const validating = 'osm-validator-mesh-osm'
const signal = AbortSignal.timeout(900_000)
/** Within which the issue wants an object restored. */
const restoreLimitMs = 3_000

let server: OwnApiServer
let api: KubernetesApi
let objects: Objects
const started: ChildProgram[] = []

beforeAll(async () => {
  server = await startApiServer(programsFrom(process.env), signal)
  api = server.client.api
  objects = new Objects(api, signal)
  await objects.createNamespace(osmNamespace)
  await objects.putPreset(presetSpec)
})

afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.stop()))
})

afterAll(() => server.stop())

function bootstrap(...args: readonly string[]): ChildProgram {
  const program = startBootstrap(server.client, ...args)
  started.push(program)
  return program
}

async function outcome(program: ChildProgram): Promise<{ readonly code: number | undefined; readonly text: string }> {
  await program.ended
  return { code: program.exitCode, text: program.log() }
}

/** As OSM had it: TrafficSplits stored and served by v1alpha2 alone. */
function formerSplit(): AnyDefinition {
  const { spec, ...rest } = definitionOf('TrafficSplit')
  const versions = spec.versions.flatMap((version) =>
    version.name === 'v1alpha2' ? [{ ...version, storage: true, served: true }] : [],
  )
  return { ...rest, spec: { ...spec, versions } }
}

describe('osm-preinstall', () => {
  const preinstall = (...args: readonly string[]): ChildProgram =>
    startProgram({
      program: 'osm-preinstall',
      server: server.client,
      args: [`--namespace=${osmNamespace}`, ...args],
    })

  it('finds nothing in the way in a new cluster', async () => {
    const { code, text } = await outcome(preinstall())
    expect(text).toContain('[ok] permissions')
    expect(text).not.toContain('[failed]')
    expect(code).toBe(0)
  })

  it('refuses a second mesh where there may be one only', async () => {
    const labels = { app: 'osm-controller', meshName: 'first', enforceSingleMesh: 'true' }
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: 'osm-controller', image: 'localhost/osm-controller' }] },
    }
    await objects.createNamespace('elsewhere')
    await objects.create(resourceTypes.Deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'elsewhere', name: 'osm-controller', labels },
      spec: { selector: { matchLabels: labels }, template },
    })
    const { code, text } = await outcome(preinstall('--enforce-single-mesh=false'))
    expect(text).toContain('mesh "first" in namespace elsewhere was installed as the only mesh of the cluster')
    expect(code).toBe(1)
    await api.delete(resourceTypes.Deployment, { namespace: 'elsewhere', name: 'osm-controller' }, { signal })
  })

  it('names a flag that it does not know', async () => {
    const { code, text } = await outcome(preinstall('--enforce-single-mash'))
    expect(text).toContain('unknown flag \\"--enforce-single-mash\\"; did you mean \\"enforce-single-mesh\\"?')
    expect(code).toBe(1)
  })
})

describe('osm-bootstrap', () => {
  it('upgrades the definitions of OSM with the objects in them, and brings in everything else', async () => {
    const former = formerSplit()
    await objects.create(CustomResourceDefinition, former)
    await untilServed(api, former, signal)
    const v1alpha2 = inVersion(resourceTypes.TrafficSplit, 'v1alpha2')
    const split = {
      apiVersion: 'split.smi-spec.io/v1alpha2',
      kind: 'TrafficSplit',
      metadata: { namespace: osmNamespace, name: 'web' },
      spec: { service: 'web', backends: [{ service: 'web-v1', weight: 90 }] },
    }
    await objects.create(v1alpha2, split)

    const url = await untilReady(bootstrap())
    for (const { metadata } of customResourceDefinitions()) {
      const { conditions, live } = await liveDefinition(api, metadata.name, signal)
      expect([metadata.name, conditions]).toEqual([metadata.name, ['Established True', 'NamesAccepted True']])
      expect(JSON.stringify((live?.spec as AnyDefinition['spec']).versions)).toContain('"v1alpha')
    }
    expect((await objects.get(v1alpha2, 'web'))?.spec).toEqual(split.spec)
    expect((await objects.get(resourceTypes.TrafficSplit, 'web'))?.spec).toEqual(split.spec)
    const { storedVersions } = await liveDefinition(api, former.metadata.name, signal)
    expect(storedVersions).toEqual(['v1alpha2', 'v1alpha4'])

    expect((await objects.get(MeshConfig, 'osm-mesh-config'))?.spec).toMatchObject(presetSpec)
    const root = await objects.controlPlaneRoot()
    expect(root).toContain('BEGIN CERTIFICATE')
    expect(await objects.trusted(MutatingWebhookConfiguration, mutating)).toBe(root)
    expect(await objects.trusted(ValidatingWebhookConfiguration, validating)).toBe(root)

    const page = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(`${url}${path}`)
      return [response.status, await response.text()]
    }
    expect(await page('/health/alive')).toEqual([200, 'Service is alive'])
    expect(await page('/health/ready')).toEqual([200, 'Service is ready'])
    expect(await page('/healthz')).toEqual([200, 'Health OK'])
    const commit = existsSync(new URL('../../.git', import.meta.url)) ? /^[0-9a-f]{40}(-dirty)?$/ : /^$/
    expect(JSON.parse((await page('/version'))[1])).toMatchObject({
      version: 'v1.0.0',
      git_commit: expect.stringMatching(commit),
    })
    expect((await page('/metrics'))[1]).toContain('osm_reconciliation_total')
  })

  it('adds to the MeshConfig of a user what is new in the preset', async () => {
    await objects.edit(MeshConfig, 'osm-mesh-config', (live) => ({
      ...live,
      spec: { ...(live.spec as object), traffic: { enableEgress: false }, certificate: undefined },
    }))
    await objects.putPreset({
      ...presetSpec,
      sidecar: { ...presetSpec.sidecar, logLevel: 'debug', configResyncInterval: '90s' },
      observability: { osmLogLevel: 'warn' },
    })
    await untilReady(bootstrap())
    const spec = (await objects.get(MeshConfig, 'osm-mesh-config'))?.spec
    expect(spec).toMatchObject({
      sidecar: { logLevel: 'error', configResyncInterval: '90s' },
      traffic: { enableEgress: false },
      observability: { osmLogLevel: 'warn' },
    })
    expect(spec).not.toHaveProperty('certificate')
    expect(spec).not.toHaveProperty('traffic.inboundPortExclusionList')
  })

  it('restores what was altered or deleted within three seconds', async () => {
    const program = bootstrap('--enable-reconciler')
    const url = await untilReady(program)
    const name = 'retries.policy.openservicemesh.io'
    const versionsOf = async (): Promise<string> =>
      JSON.stringify(((await objects.get(CustomResourceDefinition, name))?.spec as AnyDefinition['spec']).versions)
    const types = [
      [MutatingWebhookConfiguration, mutating],
      [ValidatingWebhookConfiguration, validating],
    ] as const

    for (const [type, configuration] of types) {
      const before = JSON.stringify(webhooksOf(await objects.get(type, configuration)))
      await objects.edit(type, configuration, (live) => ({
        ...live,
        webhooks: webhooksOf(live).map((webhook) => ({
          ...webhook,
          failurePolicy: 'Ignore',
          namespaceSelector: {},
          matchConditions: [{ name: 'never', expression: 'false' }],
        })),
      }))
      const restored = async (): Promise<boolean> =>
        JSON.stringify(webhooksOf(await objects.get(type, configuration))) === before
      expect(await until(restored, program)).toBeLessThan(restoreLimitMs)
      await objects.delete(type, configuration)
      expect(await until(restored, program)).toBeLessThan(restoreLimitMs)
    }

    const versions = await versionsOf()
    await objects.edit(CustomResourceDefinition, name, (live) => ({
      ...live,
      spec: {
        ...(live.spec as AnyDefinition['spec']),
        versions: (live.spec as AnyDefinition['spec']).versions.map((version) => ({ ...version, served: false })),
      },
    }))
    expect(await until(async () => (await versionsOf()) === versions, program)).toBeLessThan(restoreLimitMs)

    for (const definition of [name, 'meshconfigs.config.openservicemesh.io']) {
      const { uid } = (await objects.get(CustomResourceDefinition, definition))?.metadata ?? {}
      await objects.delete(CustomResourceDefinition, definition)
      const restored = async (): Promise<boolean> => {
        const live = await objects.get(CustomResourceDefinition, definition)
        return live !== undefined && live.metadata.uid !== uid
      }
      expect(await until(restored, program)).toBeLessThan(restoreLimitMs)
    }
    // With its definition the API server deleted the MeshConfig, without which there is no mesh.
    await until(async () => (await objects.get(MeshConfig, 'osm-mesh-config').catch(() => undefined)) !== undefined)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(metrics).toContain('osm_reconciliation_total{kind="MutatingWebhookConfiguration"} 2')
  })

  it('leaves webhook configurations to their users without the reconciler, but for the trust', async () => {
    await untilReady(bootstrap())
    await objects.edit(MutatingWebhookConfiguration, mutating, (live) => ({
      ...live,
      webhooks: webhooksOf(live).map((webhook) => ({
        ...webhook,
        timeoutSeconds: 3,
        clientConfig: { ...webhook.clientConfig, caBundle: '' },
      })),
    }))
    await untilReady(bootstrap())
    const [webhook] = webhooksOf(await objects.get(MutatingWebhookConfiguration, mutating))
    expect(webhook?.timeoutSeconds).toBe(3)
    expect(await objects.trusted(MutatingWebhookConfiguration, mutating)).toBe(await objects.controlPlaneRoot())
  })

  it('has a new root trusted beside the one before it as soon as its Secret is there', async () => {
    const program = bootstrap()
    await untilReady(program)
    const before = await objects.controlPlaneRoot()
    const store = new MemoryCaStore()
    ;(await TresorProvider.open({ store, clock: systemClock, rootKey: { algorithm: 'ECDSA' } })).close()
    const material = await store.load('control-plane')
    if (material === undefined) throw new Error('no root')
    const encoded = (text: string): string => Buffer.from(text).toString('base64')
    // As anybody has to do it: the Secret cannot be changed.
    await objects.delete(Secret, 'osm-ca-bundle-control-plane')
    await objects.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: osmNamespace, name: 'osm-ca-bundle-control-plane' },
      data: { 'ca.crt': encoded(material.certificate), 'private.key': encoded(material.privateKey()) },
    })
    const renewed = async (): Promise<boolean> => {
      const pems = [
        await objects.trusted(MutatingWebhookConfiguration, mutating),
        await objects.trusted(ValidatingWebhookConfiguration, validating),
      ]
      return pems.every((pem) => pem === material.certificate + before)
    }
    expect(await until(renewed, program)).toBeLessThan(restoreLimitMs)
  })
})

describe('a bootstrap that cannot do its work', () => {
  it.each([
    [
      'FatalInvalidCertificateManager',
      ['--certificate-manager=cert-manager', '--cert-manager-issuer-name='],
      'needs --cert-manager-issuer-name',
    ],
    ['FatalInvalidCLIParameters', ['--webhook-timeout=60'], 'expected a whole number from 1 to 30'],
  ])('says so by an event, %s, a line and its exit code', async (reason, flags, message) => {
    const podName = `osm-bootstrap-${reason.toLowerCase()}`
    const { code, text } = await outcome(
      startProgram({
        program: 'osm-bootstrap',
        server: server.client,
        args: ['--mesh-name=osm', `--osm-namespace=${osmNamespace}`, ...flags],
        env: { BOOTSTRAP_POD_NAME: podName },
      }),
    )
    expect(code).toBe(1)
    expect(text).toContain(message)
    const { items } = await api.list(resourceTypes.Event, { namespace: osmNamespace }, signal)
    expect(items.filter((event) => (event.involvedObject as { readonly name: string }).name === podName)).toEqual([
      expect.objectContaining({ type: 'Warning', reason, message: expect.stringContaining(message) }),
    ])
  })
})

describe('webhooks that do not answer', () => {
  const pod = (namespace: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name: 'web' },
    spec: { containers: [{ name: 'web', image: 'localhost/web' }], automountServiceAccountToken: false },
  })

  it('keep pods out of the mesh only, whatever labels a namespace has', async () => {
    await untilReady(bootstrap('--enable-reconciler', '--webhook-timeout=1'))
    const labels = { 'openservicemesh.io/monitored-by': 'osm' }
    await objects.createNamespace('shop', labels)
    await objects.createNamespace('bank')
    for (const name of ['kube-system', osmNamespace]) {
      await objects.edit(resourceTypes.Namespace, name, (live) => ({ ...live, metadata: { ...live.metadata, labels } }))
    }
    for (const namespace of ['shop', 'bank', 'kube-system', osmNamespace]) {
      await api.create(
        resourceTypes.ServiceAccount,
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: 'default' } },
        { signal },
      )
    }
    // The API server takes a moment to learn of new labels.
    await until(async () => {
      const refused = await objects.create(resourceTypes.Pod, pod('shop')).then(
        () => false,
        (error: unknown) => String(error).includes('osm-inject.k8s.io'),
      )
      if (!refused) await api.delete(resourceTypes.Pod, { namespace: 'shop', name: 'web' }, { signal })
      return refused
    })
    for (const namespace of ['bank', 'kube-system', osmNamespace]) {
      await expect(objects.create(resourceTypes.Pod, pod(namespace))).resolves.toMatchObject({ kind: 'Pod' })
    }
    // All meshes share what is in no namespace, and none that is down holds it up.
    const plugin = {
      apiVersion: 'plugin.flomesh.io/v1alpha1',
      kind: 'Plugin',
      metadata: { name: 'p' },
      spec: { pipyscript: 'x', priority: 1 },
    }
    await expect(objects.create(resourceTypes.Plugin, plugin)).resolves.toMatchObject({ kind: 'Plugin' })
  })
})

describe('osm-cleanup', () => {
  it('removes the webhooks and says what it leaves', async () => {
    const args = ['--mesh-name=osm', `--osm-namespace=${osmNamespace}`]
    const clean = (...flags: readonly string[]) =>
      outcome(startProgram({ program: 'osm-cleanup', server: server.client, args: [...args, ...flags] }))
    const { code, text } = await clean()
    expect(text).toContain(`[removed] MutatingWebhookConfiguration ${mutating}`)
    expect(text).toContain('[left] Secrets osm-ca-bundle, osm-ca-bundle-control-plane')
    expect(code).toBe(0)
    expect(await objects.get(ValidatingWebhookConfiguration, validating)).toBeUndefined()
    expect(await objects.controlPlaneRoot()).not.toBe('')
    expect(await objects.get(MeshConfig, 'osm-mesh-config')).toBeDefined()

    const all = await clean('--delete-ca', '--delete-crds')
    expect(all.code).toBe(0)
    expect(await objects.get(Secret, 'osm-ca-bundle')).toBeUndefined()
    await until(
      async () => (await objects.get(CustomResourceDefinition, 'egresses.policy.openservicemesh.io')) === undefined,
    )
  })
})
