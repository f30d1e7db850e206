import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { fromBinary } from '@bufbuild/protobuf'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { generateRoot } from '@osm-ts/core'
import { listAll, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'
import { parse } from 'yaml'

import { AdsClient } from './support/ads-client.js'
import { SECRET } from '../bench/references.js'
import { ChildProgram, sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, clientPod, prepareImages, type Pod } from './stand-in/index.js'

const signal = AbortSignal.timeout(600_000)
const shop = 'issued-shop'
const folder = process.env.OSM_CERT_MANAGER ?? ''
/** Where cert-manager reads Secrets of ClusterIssuers. */
const resources = 'cert-manager'
const apiVersion = 'cert-manager.io/v1'
const ClusterIssuer: ResourceType = {
  group: 'cert-manager.io',
  version: 'v1',
  kind: 'ClusterIssuer',
  plural: 'clusterissuers',
  namespaced: false,
}
const { CertificateRequest, CustomResourceDefinition, Secret } = resourceTypes

interface Conditions {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
}

/** The real cert-manager, as a program beside the API server. */
describe('a mesh whose certificates cert-manager signs', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  let certManager: ChildProgram
  let root: X509Certificate

  const isTrue = (status: unknown, type: string): boolean =>
    ((status ?? {}) as Conditions).conditions?.some((each) => each.type === type && each.status === 'True') ?? false

  /** Makes an issuer, and waits until cert-manager says that it is ready. */
  async function issuer(name: string, spec: object): Promise<void> {
    await server.api.create(ClusterIssuer, { apiVersion, kind: 'ClusterIssuer', metadata: { name }, spec }, { signal })
    await eventually(
      () => server.api.get(ClusterIssuer, { namespace: '', name }, signal),
      (found) => isTrue(found?.status, 'Ready'),
      { what: `issuer ${name}`, timeoutMs: 120_000 },
    )
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    for (const file of readdirSync(join(folder, 'crds')).filter((name) => name.endsWith('.yaml'))) {
      const manifest = parse(readFileSync(join(folder, 'crds', file), 'utf8')) as Parameters<
        typeof server.api.create
      >[1]
      await server.api.create(CustomResourceDefinition, manifest, { signal })
      await eventually(
        () => server.api.get(CustomResourceDefinition, { namespace: '', name: manifest.metadata.name }, signal),
        (found) => isTrue(found?.status, 'Established'),
      )
    }
    certManager = startCertManager(server)
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    await cluster.createNamespace(resources)
    root = await storedRoot()
    await issuer('mesh-ca', { ca: { secretName: 'mesh-root' } })
    mesh = await InstalledMesh.install({
      server,
      cluster,
      name: 'issued',
      values: {
        certificateProvider: { kind: 'cert-manager' },
        certmanager: { issuerName: 'mesh-ca', issuerKind: 'ClusterIssuer' },
      },
    })
    await mesh.createMonitoredNamespace(shop, ['client'])
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
    await certManager.stop()
  })

  /** Stores a root with its key, which the issuer signs with. */
  async function storedRoot(): Promise<X509Certificate> {
    const { certificate, privateKey } = await generateRoot('workload', { algorithm: 'ECDSA' }, Date.now())
    const data = { 'tls.crt': btoa(certificate), 'tls.key': btoa(privateKey), 'ca.crt': btoa(certificate) }
    const metadata = { name: 'mesh-root', namespace: resources }
    const manifest = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data }
    await server.api.create(Secret, manifest, { signal })
    return new X509Certificate(certificate)
  }

  /** What the controller has told a sidecar of its service certificate. */
  async function serviceCertificate(pod: Pod): Promise<readonly X509Certificate[]> {
    const uuid = pod.metadata.labels?.['osm-proxy-uuid'] ?? ''
    const secret = await server.api.get(Secret, { namespace: shop, name: `sidecar-bootstrap-config-${uuid}` }, signal)
    const data = (secret?.data ?? {}) as Readonly<Record<string, string>> // of a Secret
    const file = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString()
    const [address = ''] = await mesh.endpoints('osm-controller')
    const chain = file('sds_cert.pem')
    return new Promise((resolve, reject) => {
      const client = new AdsClient({
        target: `${address}:15128`,
        serverName: `osm-controller.${mesh.namespace}.svc.cluster.local`,
        roots: file('cacert.pem'),
        chain,
        privateKey: file('sds_key.pem'),
        nodeId: /CN=(.+)/.exec(new X509Certificate(chain).subject)?.[1] ?? '',
        secrets: ['service-cert'],
        onError: reject,
        onResponse: ({ typeUrl, resources }) => {
          if (typeUrl !== SECRET) return
          for (const { resource } of resources) {
            const told = chainOf(Buffer.from(resource?.value ?? []))
            if (told === undefined) continue
            client.close()
            resolve(told)
          }
        },
      })
    })
  }

  it('serves sidecars with chains that lead to the root of the issuer', async () => {
    const pod = (await server.api.create(
      resourceTypes.Pod,
      clientPod({ namespace: shop, name: 'client', serviceAccountName: 'client' }),
      {
        signal,
      },
    )) as unknown as Pod
    // The sidecar itself connects as well, and takes the place of this client.
    const chain = await eventually(
      () => serviceCertificate(pod).catch(() => undefined),
      (found) => found !== undefined,
      { timeoutMs: 120_000, what: 'a service certificate' },
    )
    const leaf = chain?.[0]
    expect(leaf?.verify(root.publicKey)).toBe(true)
    expect(leaf?.subjectAltName).toContain('URI:spiffe://cluster.local/client/issued-shop')
    expect(leaf?.ca).toBe(false)
  })

  it('leaves no CertificateRequest behind', async () => {
    await eventually(
      () => listAll(server.api, CertificateRequest, { namespace: mesh.namespace }, signal),
      (items) => items.length === 0,
    )
  })

  it('asks as an account that may do nothing else with them', async () => {
    const events = await server.auditEvents(
      ({ user, objectRef }) =>
        user.username === `system:serviceaccount:${mesh.namespace}:osm-controller` &&
        objectRef?.resource === 'certificaterequests',
    )
    expect(events.some(({ verb }) => verb === 'create')).toBe(true)
    expect([...new Set(events.map(({ verb }) => verb))].sort()).toEqual(['create', 'delete', 'list', 'watch'])
    expect(events.filter(({ objectRef }) => objectRef?.namespace !== mesh.namespace)).toEqual([])
  })
})

function startCertManager(server: ApiServer): ChildProgram {
  return new ChildProgram({
    name: 'cert-manager',
    file: join(folder, 'signer'),
    args: [`--kubeconfig=${server.kubeconfigPath}`],
    env: { PATH: process.env.PATH ?? '', HOME: server.folder },
    logFile: join(server.folder, 'cert-manager.log'),
  })
}

/** The chain in a resource of SDS; undefined for one with roots. */
function chainOf(resource: Buffer): readonly X509Certificate[] | undefined {
  const { type } = fromBinary(SecretSchema, resource)
  const chain = type.case === 'tlsCertificate' ? type.value.certificateChain?.specifier : undefined
  if (chain?.case !== 'inlineBytes' && chain?.case !== 'inlineString') return undefined
  const text = Buffer.from(chain.value as Uint8Array).toString()
  return (text.match(/-----BEGIN[^-]+-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  )
}
