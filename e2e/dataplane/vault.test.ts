import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { VaultStandIn } from '@osm-ts/vault/testing'
import { type TestMesh, startTestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { throughProxy } from './support/traffic.js'

const SERVER_NAME = 'store-v1.shop.svc.cluster.local'

interface CertificatesPage {
  readonly provider: { readonly name: string; readonly faults: readonly { readonly code: string }[] }
}

describe('a mesh whose MeshRootCertificate names Vault', () => {
  let vault: VaultStandIn
  let mesh: TestMesh

  beforeAll(async () => {
    vault = await VaultStandIn.start()
    Object.assign(vault.appRole, { roleId: 'mesh', secretId: 'planted-secret-id' })
    mesh = await startTestMesh({ ...shop(), 'vault.yaml': vaultObjects(vault.origin) })
  })

  afterAll(async () => {
    await mesh.stop()
    await vault.stop()
  })

  /** The certificate that the sidecar of store-v1 shows, with those of its issuers. */
  async function shown(): Promise<readonly X509Certificate[]> {
    const { uuid } = mesh.instance('shop/store-v1')
    const policy = JSON.parse(await mesh.debug(`/debug/policy?uuid=${uuid}`)) as ProxyPolicy
    const listen = policy.proxy.inbound.find(({ id }) => id.startsWith('shop/store-v1|'))?.listen
    if (listen === undefined) throw new Error('store-v1 has no inbound listener')
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: listen.address,
        port: listen.port,
        servername: SERVER_NAME,
        ALPNProtocols: ['osm'],
        rejectUnauthorized: false,
      })
      // The server refuses a client without certificate after it has shown its own.
      socket.once('secureConnect', () => {
        const { raw, issuerCertificate } = socket.getPeerCertificate(true)
        socket.destroy()
        resolve([raw, issuerCertificate.raw].map((der) => new X509Certificate(der)))
      })
      socket.once('error', reject)
    })
  }

  const namesShown = async (): Promise<string> => (await shown())[0]?.subjectAltName ?? ''

  const buy = async (): Promise<number> =>
    (await throughProxy(mesh.proxyOf('shop/client'), 'http://store-v1.shop:8080/books/1')).status

  async function page(): Promise<CertificatesPage> {
    return JSON.parse(await mesh.debug('/debug/certs')) as CertificatesPage
  }

  it('has sidecars with certificates that Vault signed, and traffic between them', async () => {
    await eventually(buy, (status) => status === 200)
    const [leaf, issuer] = await shown()
    expect(leaf?.issuer).toBe('CN=intermediate')
    expect(issuer?.issuer).toBe('CN=root')
    expect(leaf?.subjectAltName).toContain('URI:spiffe://cluster.local/store-v1/shop')
    expect(await page()).toMatchObject({ provider: { name: 'vault', faults: [] } })
  })

  it('keeps its traffic while Vault is sealed, reports that, and issues certificates again afterwards', async () => {
    vault.isSealed = true
    // Another service changes the names of a certificate.
    await mesh.write('another.yaml', anotherService)
    await eventually(page, ({ provider }) => provider.faults[0]?.code === 'OSM_CERT_PROVIDER_UNAVAILABLE')
    await eventually(
      () => mesh.problems(),
      (problems) => problems.some(({ code }) => code === 'OSM_CERT_PROVIDER_UNAVAILABLE'),
    )
    expect(await buy()).toBe(200)
    vault.isSealed = false
    await eventually(namesShown, (names) => names.includes('DNS:another.shop.svc'))
    expect(await buy()).toBe(200)
    expect((await page()).provider.faults).toEqual([])
  })

  it('has no secret of Vault, and no key, in a log or on a debug page', async () => {
    const lines = mesh.events.flatMap((event) =>
      event.type === 'output' ? [event.line] : 'detail' in event ? [event.detail ?? ''] : [],
    )
    const pages = (await mesh.debug('/debug')).split('\n').filter((path) => path.startsWith('/debug/'))
    const shownText = await Promise.all(pages.map((path) => mesh.debug(path).catch((error: unknown) => String(error))))
    expect(vault.secrets.size).toBeGreaterThan(1)
    const text = [...lines, ...shownText].join('\n')
    for (const secret of [...vault.secrets, 'PRIVATE KEY']) expect(text.includes(secret)).toBe(false)
  })
})

const anotherService = `apiVersion: v1
kind: Service
metadata: { name: another, namespace: shop }
spec:
  selector: { app: store-v1 }
  ports: [{ name: http, port: 8081, targetPort: 8080 }]
`

function vaultObjects(origin: string): readonly string[] {
  const { hostname, port } = new URL(origin)
  return [
    `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshRootCertificate
metadata: { name: osm-mesh-root-certificate, namespace: osm-system }
spec:
  provider:
    vault:
      host: ${hostname}
      port: ${port}
      protocol: http
      role: openservicemesh
      auth: { kind: appRole, role: mesh }
      token: { secretKeyRef: { name: vault, namespace: osm-system, key: secret-id } }
`,
    `apiVersion: v1
kind: Secret
metadata: { name: vault, namespace: osm-system }
stringData: { secret-id: planted-secret-id }
`,
  ]
}
