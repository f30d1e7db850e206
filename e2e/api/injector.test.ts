import { createServer, type Server } from 'node:https'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { certificateNames, issueLeaf, MemoryCaStore, parseMeshDomains, systemClock, TresorProvider } from '@osm-ts/core'
import {
  type KubernetesManifest,
  type KubernetesObject,
  probeBindingsAnnotation,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, prepareImages, type Container, type Pod } from './stand-in/index.js'

const signal = AbortSignal.timeout(600_000)
const shop = 'inject-shop'
const injection = 'openservicemesh.io/sidecar-injection'
/** Nothing runs in the pods of this file: they are checked, and that is all. */
const app = { name: 'app', image: 'localhost/nothing:v1' }

describe('osm-injector behind a real API server', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  const pod = (spec: object = {}, metadata: object = {}, namespace = shop): KubernetesManifest => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, generateName: 'pod-', ...metadata } as unknown as KubernetesManifest['metadata'],
    spec: { serviceAccountName: 'default', containers: [app], ...spec },
  })
  const create = async (manifest: KubernetesManifest, dryRun = false): Promise<Pod> =>
    (await server.api.create(resourceTypes.Pod, manifest, { signal, dryRun })) as unknown as Pod
  const secretsOf = async (namespace: string): Promise<readonly KubernetesObject[]> =>
    (await server.api.list(resourceTypes.Secret, { namespace }, signal)).items
  const containersOf = ({ spec }: Pod): readonly string[] =>
    [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)
  const containerOf = ({ spec }: Pod, name: string): Container | undefined =>
    [...(spec.initContainers ?? []), ...spec.containers].find((container) => container.name === name)
  const uuidOf = ({ metadata }: Pod): string => metadata.labels?.['osm-proxy-uuid'] ?? ''

  /** A namespace of this mesh or beside it, of which the stand-in takes no notice: its pods are never run. */
  async function namespace(name: string, labels: object, annotations: object = {}): Promise<void> {
    const metadata = { name, labels, annotations } as unknown as KubernetesManifest['metadata']
    await server.api.create(resourceTypes.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata }, { signal })
    await cluster.createServiceAccount(name, 'default')
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'inject' })
    await namespace(shop, { 'openservicemesh.io/monitored-by': 'inject' }, { [injection]: 'enabled' })
    await eventually(
      () => mesh.bootstrapSecretsBinding(shop),
      (binding) => binding !== undefined,
    )
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('gives a pod its sidecar, whose Secret belongs to the pod before long', async () => {
    const created = await create(pod())
    expect(containersOf(created)).toEqual(['osm-init', 'sidecar', 'app'])
    const name = { namespace: shop, name: `sidecar-bootstrap-config-${uuidOf(created)}` }
    const secret = await eventually(
      () => server.api.get(resourceTypes.Secret, name, signal),
      (found) => found?.metadata.ownerReferences?.length === 1,
      { what: 'a Secret with its owner' },
    )
    expect(secret?.metadata.ownerReferences).toMatchObject([{ kind: 'Pod', uid: created.metadata.uid }])
    const data = secret?.data as Record<string, string>
    expect(Buffer.from(data['bootstrap.yaml'] ?? '', 'base64').toString()).toContain(
      `osm-controller.inject-system.svc.cluster.local`,
    )
    await server.api.delete(resourceTypes.Pod, { namespace: shop, name: created.metadata.name }, { signal })
  })

  it('sends probes of every kind to the sidecar, in a form that the API server takes', async () => {
    const probe = (handler: object): object => ({ ...handler, periodSeconds: 7 })
    const created = await create(
      pod({
        containers: [
          {
            ...app,
            ports: [{ name: 'web', containerPort: 8080 }],
            livenessProbe: probe({ httpGet: { path: '/alive', port: 'web' } }),
            readinessProbe: probe({ httpGet: { path: '/ready', port: 8443, scheme: 'HTTPS' } }),
            startupProbe: probe({ tcpSocket: { port: 3306 } }),
          },
          {
            ...app,
            name: 'second',
            livenessProbe: probe({ grpc: { port: 9000 } }),
            readinessProbe: probe({ exec: { command: ['x'] } }),
          },
        ],
      }),
      true,
    )
    expect(containerOf(created, 'app')).toMatchObject({
      livenessProbe: { httpGet: { path: '/osm-liveness-probe', port: 15901 }, periodSeconds: 7 },
      readinessProbe: { httpGet: { path: '/osm-readiness-probe', port: 15902, scheme: 'HTTP' }, periodSeconds: 7 },
      startupProbe: { httpGet: { path: '/osm-startup-probe', port: 15903 }, periodSeconds: 7 },
    })
    expect(containerOf(created, 'second')).toMatchObject({
      livenessProbe: { grpc: { port: 15901 } },
      readinessProbe: { exec: {} },
    })
    expect(JSON.parse(created.metadata.annotations?.[probeBindingsAnnotation] ?? '')).toHaveLength(4)
  })

  it('leaves alone what it must, each for its reason', async () => {
    await namespace('inject-ignored', {
      'openservicemesh.io/monitored-by': 'inject',
      'openservicemesh.io/ignore': 'true',
    })
    await namespace('inject-other', { 'openservicemesh.io/monitored-by': 'other-mesh' }, { [injection]: 'enabled' })
    await namespace('inject-quiet', { 'openservicemesh.io/monitored-by': 'inject' })
    await namespace(
      'inject-control',
      { 'openservicemesh.io/monitored-by': 'inject', 'control-plane': 'x' },
      { [injection]: 'enabled' },
    )
    const alone = [
      pod({ hostNetwork: true }),
      pod({}, { annotations: { [injection]: 'no' } }),
      pod({}, { annotations: { [injection]: 'enabled' } }, 'inject-ignored'),
      pod({}, {}, 'inject-other'),
      pod({}, {}, 'inject-quiet'),
      pod({}, {}, 'inject-control'),
      pod({}, { annotations: { [injection]: 'enabled' } }, mesh.namespace),
    ]
    for (const manifest of alone) expect(containersOf(await create(manifest, true))).toEqual(['app'])
    const reasons = cluster.pod(mesh.namespace, 'osm-injector').program('osm-injector').log()
    for (const reason of ['host-network', 'disabled', 'not-enabled']) expect(reasons).toContain(`"reason":"${reason}"`)
    // One that opts in by itself in a namespace that says nothing gets it.
    expect(
      containersOf(await create(pod({}, { annotations: { [injection]: 'yes' } }, 'inject-quiet'), true)),
    ).toContain('sidecar')
  })

  it('keeps nothing of a dry run', async () => {
    const uuid = uuidOf(await create(pod(), true))
    expect(uuid).not.toBe('')
    expect((await secretsOf(shop)).map(({ metadata }) => metadata.name)).not.toContain(
      `sidecar-bootstrap-config-${uuid}`,
    )
  })

  it.each<[string, object, RegExp]>([
    ['another word for injection', { [injection]: 'on' }, /"on" is not one of enabled/],
    ['an unknown class', { 'openservicemesh.io/sidecar-class': 'nginx' }, /"nginx".*may be chosen: envoy/],
    ['text in place of ports', { 'openservicemesh.io/outbound-port-exclusion-list': '--dport 80' }, /is not a port/],
    [
      'a control character',
      { 'openservicemesh.io/outbound-ip-range-exclusion-list': '10.0.0.0/8\n-j ACCEPT' },
      /is not an address range/,
    ],
    [
      '250 KiB in a list',
      { 'openservicemesh.io/inbound-port-exclusion-list': '80,'.repeat(83_000) },
      /has more than 512 entries/,
    ],
    [
      '250 KiB in one item',
      { 'openservicemesh.io/inbound-port-exclusion-list': '8'.repeat(250 * 1024) },
      /is not a port/,
    ],
  ])('refuses %s, and says what would be right', async (_what, annotations, message) => {
    await expect(create(pod({}, { annotations }))).rejects.toThrow(message)
  })

  it('refuses a container that runs as the sidecar does', async () => {
    const containers = [{ ...app, securityContext: { runAsUser: 1500 } }]
    await expect(create(pod({ containers }))).rejects.toThrow(/runAsUser 1500 is the user of the sidecar/)
  })

  it('keeps other annotations as they are, however large', async () => {
    const big = 'x"\\'.repeat(83_000)
    const created = await create(pod({}, { annotations: { big } }), true)
    expect(created.metadata.annotations?.big).toBe(big)
    expect(containersOf(created)).toContain('sidecar')
  })

  it('leaves lifecycle hooks to the kubelet', async () => {
    const containers = [{ ...app, lifecycle: { preStop: { httpGet: { path: '/bye', port: 8080 } } } }]
    const created = await create(pod({ containers }), true)
    expect(containerOf(created, 'app')).toMatchObject({ lifecycle: { preStop: { httpGet: { port: 8080 } } } })
  })

  it('gives a copy of a pod a sidecar and a Secret of its own', async () => {
    const original = await create(pod({}, { name: 'original', generateName: undefined }))
    const { spec, metadata } = original
    // What `kubectl debug --copy-to` keeps: annotations and spec, but no labels.
    const copied = pod(
      { ...spec, nodeName: undefined },
      { name: 'copy', generateName: undefined, annotations: metadata.annotations },
    )
    const copy = await create(copied)
    expect(uuidOf(copy)).not.toBe('')
    expect(uuidOf(copy)).not.toBe(uuidOf(original))
    expect(containersOf(copy)).toEqual(['osm-init', 'sidecar', 'app'])
    const names = (await secretsOf(shop)).map((secret) => secret.metadata.name)
    for (const uuid of [uuidOf(copy), uuidOf(original)]) expect(names).toContain(`sidecar-bootstrap-config-${uuid}`)
    for (const name of ['original', 'copy'])
      await server.api.delete(resourceTypes.Pod, { namespace: shop, name }, { signal })
  })

  it('fails with the reason where the controller has not let it write Secrets yet', async () => {
    await mesh.scale('osm-controller', 0)
    await namespace('inject-unbound', { 'openservicemesh.io/monitored-by': 'inject' }, { [injection]: 'enabled' })
    await expect(create(pod({}, {}, 'inject-unbound'))).rejects.toThrow(
      /may not write Secrets in namespace inject-unbound: RoleBinding osm-inject-bootstrap-secrets is missing/,
    )
    await mesh.scale('osm-controller', 1)
    const created = await eventually(
      () => create(pod({}, {}, 'inject-unbound')).catch((error: unknown) => String(error)),
      (result) => typeof result !== 'string',
      { everyMs: 300, what: 'a pod after the RoleBinding' },
    )
    expect(containersOf(created as Pod)).toContain('sidecar')
  })

  describe('beside a webhook that changes the pod as well', () => {
    let other: Server
    let seen: number

    beforeAll(async () => {
      seen = 0
      const { cert, key, ca } = await credentialsFor(server.address)
      other = createServer({ cert, key }, (request, response) => {
        let body = ''
        request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
        request.on('end', () => {
          seen += 1
          const review = JSON.parse(body) as { readonly request: { readonly uid: string; readonly object: Pod } }
          const hasOne = review.request.object.spec.containers.some(({ name }) => name === 'late')
          const late = { name: 'late', image: 'localhost/late:v1', livenessProbe: { tcpSocket: { port: 7000 } } }
          const patch = hasOne ? [] : [{ op: 'add', path: '/spec/containers/0', value: late }]
          const answer = {
            uid: review.request.uid,
            allowed: true,
            ...(hasOne ? {} : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }),
          }
          response.setHeader('content-type', 'application/json')
          response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }))
        })
      })
      other.listen(0, '0.0.0.0')
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      await server.api.create(
        resourceTypes.MutatingWebhookConfiguration,
        {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'MutatingWebhookConfiguration',
          // Names are asked in their order: this one after the injector, which is then asked again.
          metadata: { name: 'zz-inject-other' },
          webhooks: [
            {
              name: 'other.webhook.example',
              clientConfig: { url: `https://${server.address}:${port}/`, caBundle: Buffer.from(ca).toString('base64') },
              rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': shop } },
              admissionReviewVersions: ['v1'],
              sideEffects: 'None',
            },
          ],
        },
        { signal },
      )
    })

    afterAll(async () => {
      await server.api.delete(
        resourceTypes.MutatingWebhookConfiguration,
        { namespace: '', name: 'zz-inject-other' },
        { signal },
      )
      other.close()
    })

    it('is asked again, sees to the new container, and gives the pod one sidecar and one Secret', async () => {
      const before = new Set((await secretsOf(shop)).map((secret) => secret.metadata.name))
      const name = `again-${randomUUID().slice(0, 8)}`
      const created = await eventually(
        () => create(pod({}, { name, generateName: undefined })),
        (result) => containersOf(result).includes('late'),
        { what: 'a pod that both webhooks have changed' },
      )
      expect(seen).toBeGreaterThan(0)
      expect(containersOf(created)).toEqual(['osm-init', 'sidecar', 'late', 'app'])
      expect(containerOf(created, 'late')).toMatchObject({
        livenessProbe: { httpGet: { path: '/osm-liveness-probe', port: 15901 } },
      })
      const made = (await secretsOf(shop)).map((secret) => secret.metadata.name).filter((secret) => !before.has(secret))
      expect(made).toEqual([`sidecar-bootstrap-config-${uuidOf(created)}`])
      await server.api.delete(resourceTypes.Pod, { namespace: shop, name }, { signal })
    })
  })
})

/** A certificate for an address, and the root that verifies it. */
async function credentialsFor(address: string): Promise<Readonly<Record<'cert' | 'key' | 'ca', string>>> {
  const provider = await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
    authorities: ['control-plane'],
  })
  const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
  const subject = { kind: 'control-plane', name: 'other-webhook', dnsNames: [], ipAddresses: [address] } as const
  const certificate = await issueLeaf(
    provider,
    { ...certificateNames(subject, domains), validityMs: 3_600_000, key: { algorithm: 'ECDSA' } },
    signal,
  )
  return { cert: certificate.chain, key: certificate.privateKey(), ca: provider.trustBundle('control-plane').join('') }
}
