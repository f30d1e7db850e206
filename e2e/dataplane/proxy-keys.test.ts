import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyUUID } from '@osm-ts/driver-api'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { issueLike } from './support/authority.js'
import { programs, type TestMesh, startTestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { load, throughProxy } from './support/traffic.js'
import { account, meshConfig, service, trafficTarget, workload as workloadObject } from './support/yaml.js'

const traffic = { enablePermissiveTrafficPolicyMode: false, enableEgress: false }
const perProxy = { traffic, certificate: { serviceCertificates: 'perProxy' } }
const shared = { traffic, certificate: { serviceCertificates: 'shared' } }
/** A proxy returns within seconds; the machine may be loaded. */
const RETURNED_MS = 60_000

/** The service certificate that Envoy has, PEM. Its dumps show no keys, and do not say where they are. */
async function chainOf(mesh: TestMesh, workload: string): Promise<string> {
  const { admin } = mesh.instance(workload)
  const answer = await fetch(`http://${admin?.address}:${admin?.port}/config_dump?resource=dynamic_active_secrets`)
  const { configs = [] } = (await answer.json()) as {
    readonly configs?: readonly {
      readonly name: string
      readonly secret: { readonly tls_certificate?: { readonly certificate_chain: { readonly inline_string: string } } }
    }[]
  }
  const found = configs.find(({ name }) => name === 'service-cert')?.secret.tls_certificate?.certificate_chain
  return found?.inline_string ?? ''
}

const publicKeyOf = (chain: string): string =>
  chain === '' ? '' : String(new X509Certificate(chain).publicKey.export({ type: 'spki', format: 'pem' }))
const publicHalfOf = (privateKey: string): string =>
  String(createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' }))

/** Folder with the files of a sidecar. */
function homeOf(mesh: TestMesh, workload: string): string {
  const { name } = mesh.instance(workload)
  const file = readdirSync(mesh.stateFolder, { recursive: true, encoding: 'utf8' }).find(
    (path) => path.endsWith('/sds_key.pem') && path.includes(name),
  )
  if (file === undefined) throw new Error(`the sidecar of ${workload} has no key file`)
  return join(mesh.stateFolder, file, '..')
}

const keyOf = (mesh: TestMesh, workload: string): string =>
  readFileSync(join(homeOf(mesh, workload), 'sds_key.pem'), 'utf8')

/** Puts a new proxy certificate in place of the one in force, as a renewal does: the key first. */
async function replaceKey(mesh: TestMesh, workload: string): Promise<string> {
  const { uuid, namespace } = mesh.instance(workload)
  const [, name = ''] = workload.split('/')
  const subject = { kind: 'proxy', uuid: uuid as ProxyUUID, serviceAccount: { namespace, name } } as const
  const { certificate } = await issueLike(mesh.stateFolder, subject)
  for (const [file, content] of [
    ['sds_key.pem', certificate.privateKey()],
    ['sds_cert.pem', certificate.chain],
  ] as const) {
    const path = join(homeOf(mesh, workload), file)
    writeFileSync(`${path}.new`, content, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return publicHalfOf(certificate.privateKey())
}

/** Has the chain of a sidecar for another key than that of its file, or for that one. */
const hasChainFor = async (mesh: TestMesh, workload: string, publicKey: string): Promise<boolean> =>
  publicKeyOf(await chainOf(mesh, workload)) === publicKey

describe('a mesh whose proxies have certificates for their own keys', () => {
  let mesh: TestMesh

  beforeAll(async () => {
    mesh = await startTestMesh(shop(perProxy))
  })
  afterAll(async () => {
    await mesh.stop()
  })

  const ask = () => throughProxy(mesh.proxyOf('shop/client'), 'http://store-v1.shop:8080/books/1')

  it('carries requests under chains for the keys in the files of the sidecars', async () => {
    await eventually(ask, ({ status }) => status === 200)
    for (const workload of ['shop/client', 'shop/store-v1', 'shop/store-v2'])
      expect(await hasChainFor(mesh, workload, publicHalfOf(keyOf(mesh, workload)))).toBe(true)
  })

  it('gives a sidecar whose key was replaced a chain for the new one, and loses no request', async () => {
    const stop = load(ask, 2)
    const before = publicHalfOf(keyOf(mesh, 'shop/store-v1'))
    const replaced = await replaceKey(mesh, 'shop/store-v1')
    // The chain for the previous key stays in use with that key, whatever else becomes of listeners and clusters.
    await mesh.apply('another.yaml', ...laterService('later'))
    expect((await mesh.status('shop/store-v1')).state).toBe('applied')
    expect(await hasChainFor(mesh, 'shop/store-v1', before)).toBe(true)
    // Another service of the account: its certificate is issued again, for the key of the connection, which is not in the file any more.
    await mesh.write('more.yaml', service('shop/store-again', 'store-v1', 8080))
    await eventually(
      () => hasChainFor(mesh, 'shop/store-v1', replaced),
      (isNew) => isNew,
      { what: 'a chain for the new key', timeoutMs: RETURNED_MS },
    )
    await mesh.settled()
    const failures = await stop(20)
    expect(failures).toEqual([])
  })

  it('gives chains for the keys in the files when the controller comes back', async () => {
    const replaced = await replaceKey(mesh, 'shop/client')
    await mesh.restartController()
    await eventually(
      () => hasChainFor(mesh, 'shop/client', replaced),
      (isNew) => isNew,
      { what: 'a chain for the new key', timeoutMs: RETURNED_MS },
    )
    expect((await ask()).status).toBe(200)
  })

  it('changes to shared certificates and back while it runs, and loses no request', async () => {
    const stop = load(ask, 2)
    const own = publicHalfOf(keyOf(mesh, 'shop/store-v1'))
    const becomes = (isOwn: boolean) =>
      eventually(
        () => hasChainFor(mesh, 'shop/store-v1', own),
        (is) => is === isOwn,
        { what: isOwn ? 'a chain for its own key' : 'a shared certificate' },
      )
    await mesh.write('config.yaml', meshConfig(shared))
    await becomes(false)
    await mesh.write('config.yaml', meshConfig(perProxy))
    await becomes(true)
    const failures = await stop(20)
    expect(failures).toEqual([])
  })
})

/** One more workload, which the client may call: each sidecar gets another cluster, and none another certificate. */
function laterService(name: string): readonly string[] {
  return [
    account(`shop/${name}`),
    workloadObject(`shop/${name}`, { program: programs.http, port: 8080, app: name }),
    service(`shop/${name}`, name, 8080),
    trafficTarget(`shop/${name}`, {
      to: `shop/${name}`,
      from: ['shop/client', 'shop/store-v1'],
      rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['read'] }],
    }),
  ]
}
