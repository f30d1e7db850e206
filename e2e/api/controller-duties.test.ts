import { X509Certificate } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { newProxyUUID, type Problem } from '@osm-ts/core'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import { testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ControllerProcess } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { MeshObjects } from './support/mesh-objects.js'

const signal = AbortSignal.timeout(300_000)
const meshName = 'duty'
const osmNamespace = 'osm-system'
const shop = 'shop'
const roleName = `osm-${meshName}-bootstrap-secrets`
const member = { 'openservicemesh.io/monitored-by': meshName }
const { RoleBinding, Secret, Pod, IngressBackend, AccessCert, MeshConfig } = resourceTypes
/** Seconds that a Secret waits for its pod here. */
const grace = 4

describe('the leading controller', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let replicas: readonly ControllerProcess[] = []

  const binding = (namespace: string) => api.get(RoleBinding, { namespace, name: roleName }, signal)
  const secretOf = (uuid: string) =>
    api.get(Secret, { namespace: shop, name: `sidecar-bootstrap-config-${uuid}` }, signal)
  const untilBound = (namespace: string): Promise<unknown> =>
    eventually(
      () => binding(namespace),
      (found) => found !== undefined,
      { what: 'the RoleBinding' },
    )

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    api = server.client.api
    objects = new MeshObjects(api, signal)
    await objects.namespace(osmNamespace, {})
    await defineKinds(api, signal)
    await objects.apply(
      `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
        'spec: { sidecar: { sidecarClass: envoy }, observability: { enableDebugServer: true }, featureFlags: { enableIngressBackendPolicy: true, enableAccessCertPolicy: true, enableEgressPolicy: true } }\n',
    )
    await objects.namespace(shop, member)
    // Both at once: one makes the roots, and the other takes them over.
    replicas = await Promise.all(
      [['one', '127.0.0.31'] as const, ['two', '127.0.0.32'] as const].map(([name, address]) =>
        ControllerProcess.start({
          name,
          folder: server.description.folder,
          kubeconfig: server.description.kubeconfigPath,
          address,
          meshName,
          osmNamespace,
          // The audit log tells the replicas apart by their version.
          flags: [`--osm-version=${name}`, `--bootstrap-secret-grace=${String(grace)}`],
        }),
      ),
    )
    await Promise.all(replicas.map((replica) => replica.untilReady()))
  })

  afterAll(async () => {
    for (const { program } of replicas) await program.stop()
    await server.stop()
  })

  it('shares one authority with a replica that started at the same moment', async () => {
    const [one, two] = await Promise.all(
      replicas.map((it) => it.debugJson<{ readonly roots: readonly unknown[] }>('/debug/certs')),
    )
    expect(one?.roots).toHaveLength(2)
    expect(two?.roots).toEqual(one?.roots)
  })

  it('lets the control plane at Secrets in namespaces of the mesh, and only as long as they are', async () => {
    await untilBound(shop)
    await expect(binding(shop)).resolves.toMatchObject({
      roleRef: { kind: 'ClusterRole', name: roleName },
      subjects: [{ kind: 'ServiceAccount', name: 'osm-injector', namespace: osmNamespace }],
    })
    await objects.namespace('stranger', {})
    await objects.namespace('guest', member)
    await untilBound('guest')
    await expect(binding('stranger')).resolves.toBeUndefined()
    await api.mergePatch(
      resourceTypes.Namespace,
      { namespace: '', name: 'guest' },
      { metadata: { labels: { 'openservicemesh.io/monitored-by': null } } },
      { signal },
    )
    await eventually(
      () => binding('guest'),
      (found) => found === undefined,
    )
  })

  it('restores a RoleBinding that was deleted, altered or bound to another role', async () => {
    const name = { namespace: shop, name: roleName }
    const uid = (await binding(shop))?.metadata.uid
    await api.delete(RoleBinding, name, { signal })
    await eventually(
      () => binding(shop),
      (found) => found !== undefined && found.metadata.uid !== uid,
    )
    await api.mergePatch(RoleBinding, name, { subjects: [] }, { signal })
    await eventually(
      () => binding(shop),
      (found) => (found?.subjects as readonly unknown[] | undefined)?.length === 1,
    )
    await api.delete(RoleBinding, name, { signal })
    await api
      .create(
        RoleBinding,
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: name,
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        },
        { signal },
      )
      // The controller may have been faster.
      .catch(() => undefined)
    await eventually(
      () => binding(shop),
      (found) => (found?.roleRef as { readonly name?: string } | undefined)?.name === roleName,
    )
  })

  it('issues certificates to callers outside into Secrets, for as long as somebody requests them', async () => {
    const accessCert = (name: string): Promise<unknown> =>
      objects.apply(
        `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: AccessCert\nmetadata: { name: caller, namespace: ${shop} }\n` +
          `spec: { subjectAltNames: [${name}], secret: { name: caller-cert, namespace: ${shop} } }\n`,
      )
    const gateway = (certificate: unknown): Promise<unknown> =>
      api.mergePatch(
        MeshConfig,
        { namespace: osmNamespace, name: 'osm-mesh-config' },
        { spec: { certificate } },
        { signal },
      )
    const leafOf = async (namespace: string, name: string): Promise<X509Certificate | undefined> => {
      const secret = await api.get(Secret, { namespace, name }, signal)
      const chain = (secret?.data as Readonly<Record<string, string>> | undefined)?.['tls.crt']
      return chain === undefined ? undefined : new X509Certificate(Buffer.from(chain, 'base64'))
    }
    const namesOf = async (namespace: string, name: string): Promise<string | undefined> =>
      (await leafOf(namespace, name))?.subjectAltName
    await accessCert('caller.example')
    await eventually(
      () => namesOf(shop, 'caller-cert'),
      (names) => names === 'DNS:caller.example',
      { what: 'the certificate of the AccessCert' },
    )
    const caller = await api.get(Secret, { namespace: shop, name: 'caller-cert' }, signal)
    expect(caller).toMatchObject({ type: 'kubernetes.io/tls', data: { 'ca.crt': expect.any(String) } })
    await accessCert('other.example')
    await eventually(
      () => namesOf(shop, 'caller-cert'),
      (names) => names === 'DNS:other.example',
      { what: 'the certificate of another name' },
    )
    const conditions = async (type: typeof AccessCert, namespace: string, name: string) =>
      JSON.stringify((await api.get(type, { namespace, name }, signal))?.status ?? {})
    await eventually(
      () => conditions(AccessCert, shop, 'caller'),
      (status) => status.includes('"currentStatus":"committed"'),
      { what: 'the status of the AccessCert' },
    )

    const own = { name: 'osm-nginx-client-cert', namespace: osmNamespace }
    await gateway({ ingressGateway: { subjectAltNames: ['gateway.example'], validityDuration: '8s', secret: own } })
    const first = await eventually(
      () => leafOf(osmNamespace, own.name),
      (leaf) => leaf !== undefined,
      { what: 'the certificate of the gateway' },
    )
    await eventually(
      () => leafOf(osmNamespace, own.name),
      (leaf) => leaf !== undefined && leaf.serialNumber !== first?.serialNumber,
      { what: 'its successor' },
    )
    // The bearer of such a certificate could pass for a service of the mesh.
    await gateway({ ingressGateway: { subjectAltNames: ['gateway.edge.svc.cluster.local'] } })
    await eventually(
      () => conditions(MeshConfig, osmNamespace, 'osm-mesh-config'),
      (status) => status.includes('is below cluster.local'),
      { what: 'the refusal' },
    )
    await gateway(null)
    await api.delete(AccessCert, { namespace: shop, name: 'caller' }, { signal })
    await eventually(
      async () => [await namesOf(shop, 'caller-cert'), await namesOf(osmNamespace, own.name)],
      (left) => left.every((names) => names === undefined),
      { what: 'that both Secrets are gone' },
    )
  })

  it('reads the Secrets that Egress objects name, by their names, as they come and go', async () => {
    const names = { shop, other: 'egress-other' }
    await objects.namespace(names.other, member)
    const egress = (namespace: string, secretNamespace: string): string =>
      `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: Egress\nmetadata: { name: partner, namespace: ${namespace} }\nspec:\n` +
      `  sources: [{ kind: ServiceAccount, name: client, namespace: ${namespace}, mtls: { issuer: other, cert: { sn: 1, expiration: '2040-01-01T00:00:00Z', secret: { name: partner, namespace: ${secretNamespace} } } } }]\n` +
      '  hosts: [partner.example]\n  ports: [{ number: 8443, protocol: http }]\n'
    const complaint = async (replica: ControllerProcess | undefined, namespace: string): Promise<string> => {
      const page = await replica?.debugJson<{ readonly problems: readonly Problem[] }>('/debug/problems')
      const found = page?.problems.find(
        ({ code, object }) => code === 'OSM_POLICY_EGRESS_MTLS' && object?.namespace === namespace,
      )
      return found?.message ?? 'none'
    }
    const untilSaid = async (namespace: string, what: RegExp): Promise<void> => {
      for (const replica of replicas)
        await eventually(
          () => complaint(replica, namespace),
          (message) => what.test(message),
          { what: `${what} in ${namespace}` },
        )
    }
    const authority = testAuthority('a partner')
    const { chain, privateKey } = authority.issue('client')
    const data = { 'tls.crt': chain, 'tls.key': privateKey, 'ca.crt': authority.certificate }
    const write = (stringData: Readonly<Record<string, string>>) =>
      objects.apply(
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'partner', namespace: shop },
          stringData,
        }),
      )
    await objects.apply(egress(shop, shop))
    await objects.apply(egress(names.other, shop))
    await untilSaid(shop, /Secret shop\/partner does not exist/)
    await write(data)
    await untilSaid(shop, /^none$/)
    await write({ ...data, 'tls.key': authority.issue('other').privateKey })
    await untilSaid(shop, /tls\.key is not the key/)
    // What is good enough for the Egress beside it is not for those of other namespaces.
    await write(data)
    await untilSaid(shop, /^none$/)
    await untilSaid(names.other, /must be egress-other, the namespace of the Egress/)
    await api.delete(Secret, { namespace: shop, name: 'partner' }, { signal })
    await untilSaid(shop, /does not exist/)
    for (const namespace of [shop, names.other]) await objects.remove('Egress', namespace, 'partner')
    for (const replica of replicas) {
      await eventually(
        () => complaint(replica, shop),
        (message) => message === 'none',
      )
      expect(replica.program.log()).not.toContain(privateKey.split('\n')[1])
    }
  })

  it('ties the Secret of a sidecar to its pod, scheduled or not, and lets it go with it', async () => {
    const pod = { namespace: shop, account: 'server', meshName }
    const { uuid, uid } = await objects.pod({ ...pod, name: 'running', address: '10.9.1.1' })
    const pending = newProxyUUID()
    await objects.secret(shop, pending, meshName)
    const [waiting] = await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'waiting', namespace: shop, labels: { 'osm-proxy-uuid': pending } },
        spec: {
          serviceAccountName: 'server',
          containers: [{ name: 'app', image: 'none' }],
          volumes: [{ name: 'bootstrap', secret: { secretName: `sidecar-bootstrap-config-${pending}` } }],
        },
      }),
    )
    for (const [proxy, name, owner] of [
      [uuid, 'running', uid],
      [pending, 'waiting', waiting?.metadata.uid],
    ] as const) {
      const secret = await eventually(
        () => secretOf(proxy),
        (found) => (found?.metadata.ownerReferences ?? []).length > 0,
        { what: `an owner of the Secret of ${name}` },
      )
      expect(secret?.metadata.ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'Pod', name, uid: owner }])
    }
    await api.delete(Pod, { namespace: shop, name: 'waiting' }, { signal })
    await eventually(
      () => secretOf(pending),
      (found) => found === undefined,
    )
    // Longer than any Secret waits.
    await expect(secretOf(uuid)).resolves.toBeDefined()
  })

  it('removes a Secret whose pod never came, but not before it had its time', async () => {
    const uuid = newProxyUUID()
    await objects.secret(shop, uuid, meshName)
    const foreign = newProxyUUID()
    await objects.secret(shop, foreign, 'another-mesh')
    const made = performance.now()
    const bystander = newProxyUUID()
    // A pod that has a sidecar and goes before it runs has the leader look at the whole namespace, and not at the end of the minute.
    await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'bystander', namespace: shop, labels: { 'osm-proxy-uuid': bystander } },
        spec: {
          serviceAccountName: 'server',
          containers: [{ name: 'app', image: 'none' }],
          volumes: [{ name: 'bootstrap', secret: { secretName: `sidecar-bootstrap-config-${bystander}` } }],
        },
      }),
    )
    await api.delete(Pod, { namespace: shop, name: 'bystander' }, { signal })
    await eventually(
      () => secretOf(uuid),
      (found) => found === undefined,
    )
    expect(performance.now() - made).toBeGreaterThan(grace * 1000)
    await expect(secretOf(foreign)).resolves.toBeDefined()
  })

  it('writes what became of an object into its status', async () => {
    const yaml = (protocol: string): string =>
      `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: IngressBackend\nmetadata: { name: shop, namespace: ${shop} }\n` +
      `spec: { backends: [{ name: server, port: { number: 8080, protocol: ${protocol} } }], sources: [{ kind: IPRange, name: 10.0.0.0/8 }] }\n`
    const status = async (): Promise<string | undefined> => {
      const object = await api.get(IngressBackend, { namespace: shop, name: 'shop' }, signal)
      return (object?.status as { readonly currentStatus?: string } | undefined)?.currentStatus
    }
    await objects.apply(yaml('http'))
    await eventually(status, (text) => text === 'committed')
    await objects.apply(yaml('https'))
    await eventually(status, (text) => text === 'error')
  })

  it('leaves an event and ends when no driver has the class of MeshConfig', async () => {
    const config = { namespace: osmNamespace, name: 'osm-mesh-config' }
    const setClass = (sidecarClass: string) =>
      api.mergePatch(resourceTypes.MeshConfig, config, { spec: { sidecar: { sidecarClass } } }, { signal })
    await setClass('nobody')
    const controller = await ControllerProcess.start({
      name: 'classless',
      folder: server.description.folder,
      kubeconfig: server.description.kubeconfigPath,
      address: '127.0.0.33',
      meshName,
      osmNamespace,
      environment: { CONTROLLER_POD_NAME: 'osm-controller-x' },
    })
    await expect(controller.program.ended).resolves.toBe('exit code 1')
    const { items } = await api.list(resourceTypes.Event, { namespace: osmNamespace }, signal)
    expect(items).toContainEqual(
      expect.objectContaining({
        reason: 'FatalInitializationError',
        message: expect.stringMatching(/"nobody" names no driver; registered: envoy.*OSM_DRIVER_UNKNOWN/),
        involvedObject: expect.objectContaining({ kind: 'Pod', name: 'osm-controller-x' }),
      }),
    )
    // Those that run stay with the class that they have started with.
    expect(await Promise.all(replicas.map((it) => it.health('ready')))).toEqual([200, 200])
    await setClass('envoy')
  })

  it('is the only one that has written anything but the Lease', async () => {
    const writes = await server.client.auditEvents(
      ({ userAgent = '', verb }) =>
        userAgent.startsWith('osm-controller/') && ['create', 'update', 'patch', 'delete'].includes(verb),
    )
    const by = (replica: string): readonly string[] => [
      ...new Set(
        writes
          .filter(({ userAgent }) => userAgent === `osm-controller/${replica}`)
          .map(({ objectRef }) => objectRef?.resource ?? ''),
      ),
    ]
    const leads = await Promise.all(replicas.map((it) => it.metric('osm_leader')))
    const [leader, other] = leads[0] === 1 ? ['one', 'two'] : ['two', 'one']
    expect(leads.toSorted()).toEqual([0, 1])
    expect(by(leader)).toEqual(expect.arrayContaining(['rolebindings', 'secrets', 'ingressbackends']))
    // Anyone who was first has made the roots.
    const written = writes.filter(({ userAgent }) => userAgent === `osm-controller/${other}`)
    const elsewhere = written.filter(
      ({ objectRef }) => objectRef?.resource !== 'leases' && objectRef?.namespace !== osmNamespace,
    )
    expect(elsewhere).toEqual([])
  })
})
