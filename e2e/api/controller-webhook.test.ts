import { readFile } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { apiVersionOf, type KubernetesApi, resourceTypes, SecretCaStore } from '@osm-ts/kubernetes'
import { parseAllDocuments } from 'yaml'
import { errorMessage, eventually } from '@osm-ts/driver-api/toolkit'

import { type AdmissionCase, allFlags, refused, warned } from '@osm-ts/controller/testing'
import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ControllerProcess } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { MeshObjects } from './support/mesh-objects.js'

const signal = AbortSignal.timeout(300_000)
const meshName = 'hook'
const osmNamespace = 'osm-system'
const shop = 'shop'
const kinds = [
  'IngressBackend',
  'AccessControl',
  'AccessCert',
  'Egress',
  'EgressGateway',
  'ReferenceGrant',
  'UpstreamTrafficSetting',
  'Retry',
  'Plugin',
  'PluginChain',
  'PluginConfig',
  'TrafficTarget',
  'TrafficSplit',
  'HTTPRouteGroup',
  'MeshConfig',
  'MeshRootCertificate',
] as const
const meshConfig = (flags: string): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
  `spec: { sidecar: { sidecarClass: envoy }, ${flags.slice(1, -1)} }\n`

/** The built-in class of the program, where the cases have one of their own. */
const real = (text: string): string => text.replaceAll(/\bfake\b/g, 'envoy')
const flagsOff = ([, , , setUp]: AdmissionCase): boolean => setUp?.config !== undefined
const onServer = ([, , , setUp]: AdmissionCase): boolean =>
  setUp?.features === undefined && setUp?.validateTrafficTarget === undefined

describe('the validating webhook', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let controller: ControllerProcess

  const review = (yaml: string): Promise<unknown> =>
    objects.check(real(yaml)).then(
      () => 'accepted',
      (error: unknown) => errorMessage(error),
    )

  /** Puts rivals of a case into the mesh, and takes them away again. */
  async function among(mesh: string | undefined, check: () => Promise<void>): Promise<void> {
    if (mesh !== undefined) await objects.apply(mesh)
    try {
      await check()
    } finally {
      for (const document of parseAllDocuments(mesh ?? '')) {
        const { kind, metadata } = document.toJSON() as {
          readonly kind: keyof typeof resourceTypes
          readonly metadata: { readonly name: string; readonly namespace: string }
        }
        await objects.remove(kind, metadata.namespace, metadata.name)
      }
    }
  }

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    api = server.client.api
    objects = new MeshObjects(api, signal)
    await objects.namespace(osmNamespace, {})
    await objects.namespace(shop, { 'openservicemesh.io/monitored-by': meshName })
    await defineKinds(api, signal)
    await objects.apply(meshConfig('{ }'))
    controller = await ControllerProcess.start({
      name: 'webhook',
      folder: server.description.folder,
      kubeconfig: server.description.kubeconfigPath,
      // The API server calls no loopback address.
      address: server.description.address,
      meshName,
      osmNamespace,
    })
    await controller.untilReady()
    await configureWebhook()
  })

  afterAll(async () => {
    await controller.program.stop()
    await server.stop()
  })

  /** What osm-bootstrap and the endpoint controller do. */
  async function configureWebhook(): Promise<void> {
    const name = 'osm-validator'
    await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: osmNamespace, name },
        spec: { ports: [{ name: 'validator', port: 9093, targetPort: controller.ports.webhook }] },
      }),
    )
    await objects.apply(
      JSON.stringify({
        apiVersion: apiVersionOf(resourceTypes.EndpointSlice),
        kind: 'EndpointSlice',
        metadata: { namespace: osmNamespace, name, labels: { 'kubernetes.io/service-name': name } },
        addressType: 'IPv4',
        ports: [{ name: 'validator', port: controller.ports.webhook, protocol: 'TCP' }],
        endpoints: [{ addresses: [controller.address], conditions: { ready: true } }],
      }),
    )
    const store = new SecretCaStore({ api, namespace: osmNamespace, secretName: 'osm-ca-bundle', labels: {}, signal })
    const root = await store.load('control-plane')
    const rules = kinds.map((kind) => {
      const { group, plural, namespaced } = resourceTypes[kind]
      const scope = namespaced ? 'Namespaced' : 'Cluster'
      return { operations: ['CREATE', 'UPDATE'], apiGroups: [group], apiVersions: ['*'], resources: [plural], scope }
    })
    await objects.apply(
      JSON.stringify({
        apiVersion: apiVersionOf(resourceTypes.ValidatingWebhookConfiguration),
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'test-validator' },
        webhooks: [
          {
            name: 'osm-validator.k8s.io',
            clientConfig: {
              service: { namespace: osmNamespace, name, port: 9093, path: '/validate' },
              caBundle: Buffer.from(root?.certificate ?? '').toString('base64'),
            },
            rules,
            failurePolicy: 'Fail',
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      }),
    )
    // The API server takes a moment to heed it.
    await eventually(
      () => review(refused[0]?.[1] ?? ''),
      (answer) => String(answer).includes('denied the request'),
    )
  }

  async function isRefused([, yaml, expected, setUp]: AdmissionCase): Promise<void> {
    await among(setUp?.mesh, async () => {
      const answer = await eventually(
        () => review(yaml),
        (text) => text !== 'accepted',
      )
      // What a definition's own schema refuses never gets as far as the webhook; it names the field as well.
      if (!String(answer).includes('denied the request'))
        expect(answer).toMatch(/is invalid|Unsupported value|Too many/)
      expect(answer).toContain(real(expected))
    })
  }

  it.each(refused.filter(flagsOff))('refuses %s', async (...it: AdmissionCase) => {
    await isRefused(it)
  })

  it('follows the feature flags of MeshConfig', async () => {
    await objects.apply(meshConfig(allFlags))
    await eventually(
      () =>
        review(
          'apiVersion: plugin.flomesh.io/v1alpha1\nkind: Plugin\nmetadata: { name: one }\nspec: { pipyscript: "1" }\n',
        ),
      (answer) => answer === 'accepted',
    )
  })

  it.each(refused.filter((it) => !flagsOff(it)))('refuses %s', async (...it: AdmissionCase) => {
    await isRefused(it)
  })

  it.each(warned.filter((it) => onServer(it) && !flagsOff(it)))(
    'accepts %s, with a warning',
    async (...[, yaml]: AdmissionCase) => {
      await expect(review(yaml)).resolves.toBe('accepted')
    },
  )

  it('lets an object that is bad already be changed in all but its spec', async () => {
    const yaml = refused[1]?.[1] ?? ''
    await objects.remove('ValidatingWebhookConfiguration', '', 'test-validator')
    await eventually(
      () => review(yaml),
      (answer) => answer === 'accepted',
    )
    const [bad] = await objects.apply(yaml)
    await configureWebhook()
    const name = { namespace: shop, name: bad?.metadata.name ?? '' }
    const { IngressBackend } = resourceTypes
    const metadata = { finalizers: ['example.com/held'] }
    await api.mergePatch(IngressBackend, name, { metadata }, { signal })
    await api.mergePatch(IngressBackend, name, { metadata: { finalizers: null } }, { signal })
    await expect(api.delete(IngressBackend, name, { signal })).resolves.toBe(true)
  })

  it('serves the metrics of the reference, no more and no less', async () => {
    const page = await readFile(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8')
    const [general = '', ...sections] = page.split(/^## /m)
    const tables = [general, ...sections.filter((section) => section.startsWith('On Kubernetes'))].join('\n')
    const documented = [...tables.matchAll(/^\| `(osm_\w+)`\s*\| (\w+)/gm)].map(
      ([, name = '', type = '']) => `${name} ${type}`,
    )
    expect((await controller.metricNames()).toSorted()).toEqual(documented.toSorted())
  })

  it('answers debug pages to loopback only', async () => {
    await objects.apply(meshConfig(allFlags).replace('spec: {', 'spec: { observability: { enableDebugServer: true },'))
    await eventually(
      async () => (await controller.debug('/debug')).status,
      (status) => status === 200,
    )
    await expect(controller.debug('/debug/config')).resolves.toMatchObject({ status: 403 })
  })
})
