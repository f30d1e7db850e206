import { generateKeyPairSync, type KeyLike, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join as joinPath } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  generateKeyPairFor,
  type JoinAnswer,
  type KeyPair,
  machineAudience,
  machineLabelsAnnotation,
  machinePaths,
  newJoinToken,
  parseJoinToken,
  writeKeyRequest,
} from '@osm-ts/core'
import { resourceTypes, SecretTokenStore } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type OwnApiServer, programsFrom, startApiServer } from './harness/index.js'
import { ControllerProcess, freePort } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { controllerDeployment, MeshObjects } from './support/mesh-objects.js'
import { NodeStandIn } from './support/node-stand-in.js'
import { osmProgram } from './support/osm-program.js'

const signal = AbortSignal.timeout(300_000)
const meshName = 'machines'
const osmNamespace = 'osm-system'
const address = '10.99.0.7'
const node = 'node-stand-in'
/** As the chart sets it. */
const MACHINE_PORT = 9097
const grant = { namespace: 'shop', serviceAccount: 'store', labels: { app: 'store' } }
const replicas = [
  ['one', '127.0.0.41'],
  ['two', '127.0.0.42'],
] as const

const audience = machineAudience(meshName)
const seconds = (): number => Math.floor(Date.now() / 1000)

/** A service account of the mesh that lets machines join, with these labels. */
const permitting = (name: string, labels: string): string =>
  `apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: ${name}, namespace: shop, annotations: { ${machineLabelsAnnotation}: '${labels}' } }\n`

/** A token as the API server signs it. */
function signed(claims: object, key: KeyLike): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const content = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
  return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

describe('two controllers of a cluster', () => {
  let server: OwnApiServer
  let tokens: SecretTokenStore
  let controllers: readonly ControllerProcess[]
  let urls: readonly string[]
  let root: string
  let objects: MeshObjects
  const now = (): number => Date.now()

  const ask = (replica: 0 | 1, method: string, path: string, body?: unknown, tls: object = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { method, rejectUnauthorized: false, agent: false, ...tls }
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const sending = request(`${urls[replica] ?? ''}${path}`, { ...options, headers, signal }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) }),
        )
      })
      sending.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })

  /** A token that the mesh stores, by its parts. */
  async function token(more: Partial<typeof grant> = {}, ttlMs = 600_000) {
    const { text, stored } = newJoinToken({ ...grant, ...more }, { root, expiresAt: now() + ttlMs })
    await tokens.add(stored)
    const { id, secret } = parseJoinToken(text)
    return { kind: 'token', id, secret }
  }

  /** A token of a service account, as kubectl create token asks for it. */
  async function accountToken(namespace: string, name: string, of = audience, expirationSeconds = 600) {
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [of], expirationSeconds },
    }
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const { status } = (await server.client.api.post(path, request, signal)) as {
      readonly status: { readonly token: string }
    }
    return { kind: 'serviceAccountToken', token: status.token }
  }

  const join = (replica: 0 | 1, proof: unknown, pair: KeyPair, name = 'rack-7'): Promise<Answer> =>
    ask(replica, 'POST', machinePaths.join, {
      proof,
      csr: writeKeyRequest(pair),
      name,
      address,
      ports: [{ port: 8080 }],
      listeners: { first: 15_100, last: 15_999 },
    })

  const newPair = (): Promise<KeyPair> => generateKeyPairFor({ algorithm: 'ECDSA' })

  /** Addresses behind the Service, as a replica knows them. */
  async function endpoints(replica: number): Promise<readonly string[]> {
    const page = await controllers[replica]?.debugJson<{
      readonly endpoints: readonly { readonly address: string; readonly port: number; readonly identity: string }[]
    }>('/debug/services?service=shop/store')
    return (page?.endpoints ?? []).map((it) => `${it.identity} ${it.address}:${String(it.port)}`)
  }

  const untilEverywhere = (expected: readonly string[]) =>
    eventually(
      () => Promise.all(replicas.map((_, index) => endpoints(index))),
      (found) => found.every((each) => each.join() === expected.join()),
      { what: `${expected.join() || 'no endpoint'} at both replicas` },
    )

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    const { api } = server.client
    objects = new MeshObjects(api, signal)
    await objects.namespace(osmNamespace, {})
    await defineKinds(api, signal)
    await objects.apply(
      `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
        'spec: { sidecar: { sidecarClass: envoy }, observability: { enableDebugServer: true }, traffic: { enablePermissiveTrafficPolicyMode: true } }\n',
    )
    await objects.namespace('shop', { 'openservicemesh.io/monitored-by': meshName })
    await objects.namespace('stranger', {})
    for (const namespace of ['shop', 'stranger'])
      await objects.apply(`apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: store, namespace: ${namespace} }\n`)
    await objects.apply(
      'apiVersion: v1\nkind: Service\nmetadata: { name: store, namespace: shop }\nspec: { selector: { app: store }, ports: [{ name: http, port: 80, targetPort: 8080 }] }\n',
    )
    const ports = await Promise.all(replicas.map(([, host]) => freePort(host)))
    urls = replicas.map(([, host], index) => `https://${host}:${String(ports[index])}`)
    controllers = await Promise.all(
      replicas.map(([name, host], index) =>
        ControllerProcess.start({
          name,
          folder: server.description.folder,
          kubeconfig: server.description.kubeconfigPath,
          address: host,
          meshName,
          osmNamespace,
          flags: [`--machine-port=${String(ports[index])}`],
        }),
      ),
    )
    await Promise.all(controllers.map((controller) => controller.untilReady()))
    tokens = new SecretTokenStore({ api, meshName, namespace: osmNamespace, now, signal })
    const { body } = await ask(0, 'GET', machinePaths.trust)
    root = (body.trustBundle as readonly string[])[0] ?? ''
  })
  afterAll(async () => {
    for (const { program } of controllers) await program.stop()
    await server.stop()
  })

  it('admit a machine by a token, serve it both, and let it leave', async () => {
    const pair = await newPair()
    const proof = await token()
    const { status, body } = await join(0, proof, pair)
    expect([status, body.code]).toEqual([200, undefined])
    const { chain, namespace, serviceAccount } = body as unknown as JoinAnswer
    expect({ namespace, serviceAccount }).toEqual({ namespace: 'shop', serviceAccount: 'store' })
    const tls = { cert: chain, key: pair.privateKey }
    // The other replica knows it at once, whatever its watch has told.
    await expect(ask(1, 'PUT', machinePaths.self, { ready: true }, tls)).resolves.toMatchObject({
      status: 200,
      body: { variables: { HTTP_PROXY: 'http://127.0.0.1:15100' } },
    })
    await untilEverywhere([`store.shop ${address}:15103`])
    await ask(0, 'PUT', machinePaths.self, { ready: false }, tls)
    await untilEverywhere([])
    await ask(0, 'PUT', machinePaths.self, { ready: true }, tls)
    await untilEverywhere([`store.shop ${address}:15103`])
    // Another machine, or the same token again at another replica, changes nothing for this one.
    await expect(join(1, proof, await newPair(), 'thief')).resolves.toMatchObject({
      status: 403,
      body: { code: 'OSM_MACHINE_TOKEN_USED' },
    })
    await expect(join(1, await token(), await newPair())).resolves.toMatchObject({
      status: 409,
      body: { code: 'OSM_MACHINE_NAME' },
    })
    await expect(ask(1, 'DELETE', machinePaths.self, undefined, tls)).resolves.toMatchObject({ status: 204 })
    await untilEverywhere([])
    await expect(ask(1, 'PUT', machinePaths.self, { ready: true }, tls)).resolves.toMatchObject({
      status: 403,
      body: { code: 'OSM_MACHINE_UNKNOWN' },
    })
  })

  it('refuse tokens of namespaces outside the mesh, expired ones, and unknown ones', async () => {
    const refusal = async (proof: unknown) => (await join(0, proof, await newPair(), 'other')).body.code
    await expect(refusal(await token({ namespace: 'stranger' }))).resolves.toBe('OSM_MACHINE_ACCOUNT')
    await expect(refusal(await token({}, 0))).resolves.toBe('OSM_MACHINE_TOKEN_EXPIRED')
    await expect(refusal({ ...(await token()), id: '0'.repeat(16) })).resolves.toBe('OSM_MACHINE_TOKEN')
    await expect(refusal({ ...(await token()), secret: 'A'.repeat(43) })).resolves.toBe('OSM_MACHINE_TOKEN')
  })

  it('let one of two machines use a token that both show at one moment', async () => {
    const proof = await token()
    const answers = await Promise.all(
      ([0, 1] as const).map(async (replica) => (await join(replica, proof, await newPair(), `m-${replica}`)).status),
    )
    expect([...answers].sort()).toEqual([200, 403])
  })

  it('admit machines by tokens of osm machine token', async () => {
    const { api, kubeconfigPath } = server.client
    const { folder, address: host } = server.description
    const { spec, ...deployment } = controllerDeployment(osmNamespace, meshName)
    const labels = { app: 'osm-controller' }
    const containers = [{ name: 'osm-controller', image: 'none', args: [`--machine-port=${String(MACHINE_PORT)}`] }]
    const template = { metadata: { labels }, spec: { containers } }
    await objects.apply(JSON.stringify({ ...deployment, spec: { ...(spec as object), template } }))
    const pod = {
      serviceAccountName: 'osm-controller',
      automountServiceAccountToken: false,
      nodeName: node,
      containers,
    }
    await objects.controllerAccount(osmNamespace)
    await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'controller-0', namespace: osmNamespace, labels },
        spec: pod,
      }),
    )
    await objects.runs(osmNamespace, 'controller-0', '10.9.1.1')
    const service = `apiVersion: v1\nkind: Service\nmetadata: { name: osm-machines, namespace: ${osmNamespace} }\nspec: { ports: [{ port: ${String(MACHINE_PORT)} }] }\n`
    await objects.apply(service)
    const key = (name: string): string => readFileSync(joinPath(folder, `server.${name}`), 'utf8')
    const standIn = await NodeStandIn.start({
      api,
      name: node,
      address: host,
      certificate: { cert: key('crt'), key: key('key') },
      ports: (_pod, port) => {
        const { hostname, port: bound } = new URL(urls[0] ?? '')
        return port === MACHINE_PORT ? { host: hostname, port: Number(bound) } : undefined
      },
      signal,
    })
    try {
      const osm = osmProgram({ kubeconfig: kubeconfigPath })
      const args = ['machine', 'token', '-n', 'shop', '-a', 'store', '-l', 'app=store', '-o', 'json']
      const { code, stdout, stderr } = await osm(...args)
      expect([code, stderr]).toEqual([0, ''])
      const made = JSON.parse(stdout) as { readonly token: string; readonly controlPlane: string }
      expect(made.controlPlane).toMatch(new RegExp(`^https://[0-9.]+:${String(MACHINE_PORT)}$`))
      const { id, secret } = parseJoinToken(made.token)
      const joined = await join(1, { kind: 'token', id, secret }, await newPair(), 'by-command')
      expect([joined.status, joined.body.code]).toEqual([200, undefined])
    } finally {
      await standIn.stop()
    }
  })

  it('admit a machine by a token of a service account that permits machines, once', async () => {
    await objects.apply(permitting('store', 'app=store'))
    const proof = await accountToken('shop', 'store')
    const pair = await newPair()
    // Each replica learns of the annotation by its own watch.
    const admittedBy = (replica: 0 | 1) =>
      eventually(
        () => join(replica, proof, pair, 'by-account'),
        ({ status }) => status === 200,
        { what: `admission by replica ${replica}` },
      )
    const first = await admittedBy(0)
    expect(first.body).toMatchObject({ namespace: 'shop', serviceAccount: 'store', labels: { app: 'store' } })
    // The answer may be lost: the same key is admitted again, as the same machine.
    expect((await admittedBy(1)).body.uuid).toBe(first.body.uuid)
    await expect(join(1, proof, await newPair(), 'thief-of-account')).resolves.toMatchObject({
      status: 403,
      body: { code: 'OSM_MACHINE_TOKEN_USED' },
    })
  })

  it('refuse tokens of service accounts that are for something else, expired, forged, or not permitted', async () => {
    await objects.apply(
      `${permitting('store', 'app=store')}---\n${permitting('wrong', 'app')}---\napiVersion: v1\nkind: ServiceAccount\nmetadata: { name: plain, namespace: shop }\n`,
    )
    const refusal = async (proof: unknown) => (await join(1, proof, await newPair(), 'refused')).body.code
    const key = readFileSync(joinPath(server.description.folder, 'accounts.key'), 'utf8')
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const store = { namespace: 'shop', name: 'store' }
    const uid = (await server.client.api.get(resourceTypes.ServiceAccount, store, signal))?.metadata.uid
    const claims = (expiresInSeconds: number): object => ({
      iss: 'https://kubernetes.default.svc.cluster.local',
      aud: [audience],
      sub: 'system:serviceaccount:shop:store',
      iat: seconds() - 7_200,
      nbf: seconds() - 7_200,
      exp: seconds() + expiresInSeconds,
      'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'store', uid } },
    })
    const minted = (more: number, by: KeyLike) => ({ kind: 'serviceAccountToken', token: signed(claims(more), by) })
    await expect(refusal(await accountToken('shop', 'store', meshName))).resolves.toBe('OSM_MACHINE_TOKEN_AUDIENCE')
    await expect(refusal(await accountToken('shop', 'store', audience, 8 * 86_400))).resolves.toBe('OSM_MACHINE_TOKEN')
    await expect(refusal(await accountToken('shop', 'plain'))).resolves.toBe('OSM_MACHINE_ACCOUNT')
    await expect(refusal(await accountToken('shop', 'wrong'))).resolves.toBe('OSM_MACHINE_ACCOUNT')
    await expect(refusal(await accountToken('stranger', 'store'))).resolves.toBe('OSM_MACHINE_ACCOUNT')
    await expect(refusal(minted(-3_600, key))).resolves.toBe('OSM_MACHINE_TOKEN_EXPIRED')
    await expect(refusal(minted(600, other))).resolves.toBe('OSM_MACHINE_TOKEN')
    await expect(refusal({ kind: 'serviceAccountToken', token: 'a.b.c' })).resolves.toBe('OSM_MACHINE_TOKEN')
    // Such a token of the right key is what the API server itself makes.
    await expect(refusal(minted(600, key))).resolves.toBeUndefined()
  })

  it('keep no secret of a token', async () => {
    const { id, secret } = await token()
    const name = { namespace: osmNamespace, name: `osm-join-token-${meshName}-${id}` }
    const stored = await server.client.api.get(resourceTypes.Secret, name, signal)
    const data = Object.values((stored?.data ?? {}) as Readonly<Record<string, string>>)
    expect(data.length).toBe(1)
    expect(Buffer.from(data[0] ?? '', 'base64').toString()).not.toContain(secret)
  })
})
