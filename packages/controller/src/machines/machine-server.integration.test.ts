import { createHash, generateKeyPairSync, sign, X509Certificate } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AddressRules,
  azureRoots,
  type CertificateSubject,
  createLogger,
  defaultCertificateSettings,
  FolderTokenStore,
  generateKeyPairFor,
  issuanceLog,
  type JoinAnswer,
  type KeyPair,
  machinePaths,
  type MachineReport,
  MemoryCaStore,
  MeshCertificateManager,
  MeshConfigurator,
  Metrics,
  newJoinToken,
  newProxyUUID,
  parseJoinToken,
  type ServiceNames,
  signingRequest,
  systemClock,
  TresorProvider,
  writeKeyRequest,
} from '@osm-ts/core'
import type { RefusedPeer } from '@osm-ts/driver-api'
import { listen, machineLimits } from '@osm-ts/program'

import { domains, silent } from '../../test/controller-fixture.js'
import { AzureMachines } from './azure-machines.js'
import { type Machine, machineRefusals, type Machines } from './machine.js'
import { MachineAdmission } from './machine-admission.js'
import { machineServer } from './machine-server.js'

const HOUR_MS = 3_600_000
const grant = { namespace: 'shop', serviceAccount: 'store', labels: { app: 'store' } }
const listeners = { first: 15_100, last: 15_999 }

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Machines in memory. */
class MemoryMachines implements Machines {
  readonly all = new Map<string, Machine & { ready: boolean }>()
  twice: ((machine: Machine) => Error) | undefined

  async find(uuid: Machine['uuid']): Promise<Machine | undefined> {
    return this.all.get(uuid)
  }

  async ofVirtualMachine(): Promise<undefined> {
    return undefined
  }

  countOf(): number {
    return 0
  }

  async admit(machine: Machine): Promise<void> {
    this.all.set(machine.uuid, { ...machine, ready: false })
  }

  async report(uuid: Machine['uuid'], { ready }: MachineReport) {
    const machine = this.all.get(uuid)
    if (machine !== undefined && this.twice !== undefined) throw this.twice(machine)
    if (machine !== undefined) machine.ready = ready
    return { HTTP_PROXY: 'http://127.0.0.1:15100' }
  }

  async remove(uuid: Machine['uuid']): Promise<void> {
    this.all.delete(uuid)
  }

  async run(): Promise<void> {
    return undefined
  }
}

/** One element of DER with less than 128 bytes of content. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const inner = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag, inner.length]), inner])
}

/** A request with an extension beside its key: subject alternative name, or basic constraints with the CA bit. */
function requestWith(extension: Buffer): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const attributes = der(0xa0, der(0x30, Buffer.from('06092a864886f70d01090e', 'hex'), der(0x31, der(0x30, extension))))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const content = Buffer.concat([Buffer.from('020100', 'hex'), der(0x30), spki, attributes])
  const info = Buffer.concat([Buffer.from([0x30, 0x81, content.length]), content])
  const signature = der(0x03, Buffer.from([0]), sign('sha256', info, privateKey))
  const algorithm = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'))
  const whole = Buffer.concat([info, algorithm, signature])
  const text = Buffer.concat([Buffer.from([0x30, 0x82, whole.length >> 8, whole.length & 255]), whole]).toString(
    'base64',
  )
  return `-----BEGIN CERTIFICATE REQUEST-----\n${text}\n-----END CERTIFICATE REQUEST-----\n`
}

const caBit = der(
  0x30,
  Buffer.from('0603551d13', 'hex'),
  Buffer.from('0101ff', 'hex'),
  der(0x04, der(0x30, Buffer.from('0101ff', 'hex'))),
)
const otherName = der(
  0x30,
  Buffer.from('0603551d11', 'hex'),
  der(0x04, der(0x30, der(0x82, Buffer.from('osm-controller.osm-system.svc')))),
)

describe('the server that machines join by', () => {
  let folder: string
  let end: AbortController
  let provider: TresorProvider
  let tokens: FolderTokenStore
  let machines: MemoryMachines
  let port: number
  /** Difference of the server's clock to that of the test. */
  let skewMs: number
  let lines: string[]
  let refused: RefusedPeer[]
  let manager: MeshCertificateManager
  let names: ServiceNames | undefined
  const ends: (() => Promise<unknown>)[] = []
  const now = (): number => Date.now() + skewMs

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-machine-server-'))
    end = new AbortController()
    skewMs = 0
    lines = []
    refused = []
    names = undefined
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const logger = createLogger('test', 'info', { write: (line) => void lines.push(line) })
    manager = new MeshCertificateManager({
      provider,
      issuanceLog: issuanceLog(logger),
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal: end.signal,
    })
    tokens = new FolderTokenStore(folder, now)
    machines = new MemoryMachines()
    const configurator = new MeshConfigurator({
      meshName: 'test',
      osmNamespace: 'osm-system',
      domains,
      environment: { OSM_DEFAULT_SIDECAR_CLASS: 'envoy' },
      current: () => undefined,
      subscribe: () => () => undefined,
      locate: () => undefined,
    })
    const admission = new MachineAdmission({
      meshName: 'test',
      osmNamespace: 'osm-system',
      domains,
      certificates: manager,
      configurator,
      drivers: { names: () => ['envoy'] },
      environment: {},
      tokens,
      azure: new AzureMachines({ current: () => undefined, machines, roots: azureRoots(''), now }),
      machines,
      addresses: new AddressRules({ allowLoopback: false, refused: ['10.96.0.0/12'] }),
      controlPlane: () => ({ port: 15_128, serverName: 'osm-controller.osm-system.svc' }),
      now,
    })
    const server = await machineServer({
      admission,
      machines,
      names: () => names,
      certificates: manager,
      domains,
      serverNames: { dnsNames: ['osm-controller.osm-system.svc'], ipAddresses: ['127.0.0.1'] },
      onRefused: (peer) => void refused.push(peer),
      logger,
      now,
    })
    const following = server.follow(end.signal)
    port = await listen(
      server.app,
      { host: '127.0.0.1', port: 0 },
      { name: 'machines', limits: machineLimits, metrics: new Metrics(), logger: silent() },
    )
    ends.push(async () => Promise.all([following, server.app.close()]))
  })

  afterEach(async () => {
    end.abort()
    for (const stop of ends.splice(0)) await stop()
    provider.close()
    await rm(folder, { recursive: true })
  })

  function ask(
    method: string,
    path: string,
    body?: unknown,
    held?: { readonly chain: string; readonly key: string },
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sending = request({
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        ca: [...provider.trustBundle('control-plane')],
        ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' } }),
        ...(held && { cert: held.chain, key: held.key }),
      })
      sending.once('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) }),
        )
      })
      sending
        .once('error', reject)
        .end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
    })
  }

  async function makeToken(ttlMs = HOUR_MS) {
    const [root = ''] = provider.trustBundle('control-plane')
    const { text, stored } = newJoinToken(grant, { root, expiresAt: now() + ttlMs })
    await tokens.add(stored)
    const { id, secret } = parseJoinToken(text)
    return { kind: 'token', id, secret }
  }

  const newPair = (): Promise<KeyPair> => generateKeyPairFor({ algorithm: 'ECDSA' })

  async function joining(changes: Readonly<Record<string, unknown>> = {}) {
    const proof = await makeToken()
    const csr = writeKeyRequest(await newPair())
    return { proof, csr, name: 'rack-7', address: '192.0.2.7', ports: [{ port: 8080 }], listeners, ...changes }
  }

  /** Joins, and gives what the machine then holds. */
  async function joined() {
    const pair = await newPair()
    const { status, body } = await ask('POST', machinePaths.join, await joining({ csr: writeKeyRequest(pair) }))
    expect([status, body]).toEqual([200, expect.anything()])
    const answer = body as unknown as JoinAnswer
    return { answer, held: { chain: answer.chain, key: pair.privateKey } }
  }

  it('issues a certificate with the identity of the token, and writes an audit line', async () => {
    const { answer } = await joined()
    const leaf = new X509Certificate(answer.chain)
    expect(leaf.subjectAltName).toBe(`DNS:${answer.commonName}`)
    expect(answer).toMatchObject({ namespace: 'shop', serviceAccount: 'store', address: '192.0.2.7' })
    expect(leaf.ca).toBe(false)
    expect(Date.parse(leaf.validTo) - Date.now()).toBeLessThanOrEqual(24 * HOUR_MS)
    const audit = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ kind }) => kind === 'proxy')
    expect(audit).toMatchObject({
      audit: 'certificate',
      askedBy: 'machine',
      commonName: answer.commonName,
      keyHolder: 'proxy',
    })
  })

  it('tells names of Services to machines that want them, and only when they change', async () => {
    const { held } = await joined()
    const services = [{ namespace: 'shop', name: 'books', addresses: ['10.96.0.7'] }]
    const report = (more: Readonly<Record<string, unknown>>) =>
      ask('PUT', machinePaths.self, { ready: true, ...more }, held).then(({ body }) => body['names'])
    await expect(report({ names: '' })).resolves.toBeUndefined()
    names = { digest: 'first', clusterDomain: 'cluster.local', services }
    await expect(report({})).resolves.toBeUndefined()
    await expect(report({ names: '' })).resolves.toEqual(names)
    await expect(report({ names: 'first' })).resolves.toBeUndefined()
    names = { ...names, digest: 'second' }
    await expect(report({ names: 'first' })).resolves.toEqual(names)
  })

  it('admits machines whose connections are redirected, unless they serve a port of the sidecar', async () => {
    const taken = await ask(
      'POST',
      machinePaths.join,
      await joining({ mode: 'transparent', ports: [{ port: 15_001 }] }),
    )
    expect(taken).toMatchObject({
      status: 400,
      body: { code: 'OSM_MACHINE_REQUEST', error: expect.stringContaining('15001 is a port of the sidecar') },
    })
    // Listeners of its own choice mean nothing there.
    const few = { mode: 'transparent', listeners: { first: 8_080, last: 8_081 } }
    const { status, body } = await ask('POST', machinePaths.join, await joining(few))
    expect([status, body['sidecar']]).toEqual([200, expect.objectContaining({ exclusions: expect.anything() })])
    expect([...machines.all.values()].map(({ mode }) => mode)).toEqual(['transparent'])
    const other = await ask('POST', machinePaths.join, await joining({ mode: 'ebpf' }))
    expect(other).toMatchObject({ status: 400, body: { code: 'OSM_MACHINE_REQUEST' } })
  })

  it('never writes a secret or a key into its log', async () => {
    const body = await joining()
    await ask('POST', machinePaths.join, body)
    await ask('POST', machinePaths.join, { ...body, csr: writeKeyRequest(await newPair()) })
    expect(lines.join('')).not.toContain(body.proof.secret)
    expect(lines.join('')).not.toContain('PRIVATE KEY')
  })

  it('answers a machine again that has lost its answer, and no other machine', async () => {
    const body = await joining()
    const first = await ask('POST', machinePaths.join, body)
    const again = await ask('POST', machinePaths.join, body)
    expect(again.body['uuid']).toBe(first.body['uuid'])
    const stolen = await ask('POST', machinePaths.join, { ...body, csr: writeKeyRequest(await newPair()) })
    expect(stolen).toMatchObject({ status: 403, body: { code: 'OSM_MACHINE_TOKEN_USED' } })
    expect(refused).toEqual([{ address: '127.0.0.1', code: 'OSM_MACHINE_TOKEN_USED', message: stolen.body['error'] }])
  })

  it('refuses tokens that have expired, also where its clock is an hour ahead', async () => {
    const body = await joining()
    skewMs = HOUR_MS
    expect(await ask('POST', machinePaths.join, body)).toMatchObject({
      status: 403,
      body: { code: 'OSM_MACHINE_TOKEN_EXPIRED' },
    })
  })

  it('refuses tokens of service accounts where there are none', async () => {
    const body = await joining({ proof: { kind: 'serviceAccountToken', token: 'a.b.c' } })
    expect(await ask('POST', machinePaths.join, body)).toMatchObject({
      status: 403,
      body: { code: 'OSM_MACHINE_TOKEN', error: expect.stringContaining('does not run on Kubernetes') },
    })
    expect(lines.join('')).not.toContain('a.b.c')
  })

  it('refuses unknown tokens, and limits the attempts of one address', async () => {
    const body = await joining({ proof: { kind: 'token', id: '0'.repeat(16), secret: 'A'.repeat(43) } })
    const codes: unknown[] = []
    for (let n = 0; n < 25; n += 1) codes.push((await ask('POST', `${machinePaths.join}?${n}`, body)).body['code'])
    expect(codes.slice(0, 15)).toEqual(Array(15).fill('OSM_MACHINE_TOKEN'))
    expect(codes.at(-1)).toBe('OSM_MACHINE_BUSY')
  })

  it.each([
    ['another name', () => requestWith(otherName)],
    ['the CA bit', () => requestWith(caBit)],
    [
      'a subject',
      async () =>
        signingRequest(
          { kind: 'proxy', commonName: 'a.b', dnsNames: ['a.b'], uris: [], ipAddresses: [], validityMs: 1 },
          await newPair(),
        ).csr(),
    ],
    ['text that is not a request', () => 'nonsense'],
    [
      'the signature of another key',
      async () => {
        const text = writeKeyRequest(await newPair()).split('\n')
        const bytes = Buffer.from(text.slice(1, -2).join(''), 'base64')
        const at = bytes.length - 4
        bytes[at] = (bytes[at] ?? 0) ^ 1
        return `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
      },
    ],
  ])('refuses a request for a certificate with %s, and uses up no token for it', async (_what, make) => {
    const body = await joining({ csr: await make() })
    expect(await ask('POST', machinePaths.join, body)).toMatchObject({ status: 400, body: { code: 'OSM_MACHINE_KEY' } })
    expect((await tokens.read(body.proof.id))?.use).toBeUndefined()
  })

  it.each([
    ['name', { name: 'Rack_7' }],
    ['address', { address: '169.254.169.254' }],
    ['address', { address: '127.0.0.1' }],
    ['address', { address: '10.96.0.1' }],
    ['address', { address: undefined }],
    ['network', { network: { name: 'On Prem' } }],
    ...['127.0.0.1', '169.254.169.254', '10.96.0.1', 'gateway.example'].map(
      (address) => ['gateway', { network: { name: 'onprem', gateway: { address, port: 15_443 } } }] as const,
    ),
    ['listeners', { listeners: { first: 15_100, last: 15_101 } }],
    ['listeners', { ports: [{ port: 15_200 }] }],
    ['ports', { ports: [{ port: 1 }, { port: 1 }] }],
    ['ports', { ports: [{ port: 70_000 }] }],
    ['labels', { labels: { app: 'bank' } }],
    ['namespace', { namespace: 'osm-system' }],
  ])('refuses a request with a wrong %s, and names the field', async (field, changes) => {
    const { status, body } = await ask('POST', machinePaths.join, await joining(changes))
    expect([status, body]).toEqual([
      400,
      { code: 'OSM_MACHINE_REQUEST', error: expect.stringMatching(new RegExp(`^${field}`)) },
    ])
  })

  it('refuses classes without a driver, and bodies that are not JSON or too large', async () => {
    expect(await ask('POST', machinePaths.join, await joining({ sidecarClass: 'other' }))).toMatchObject({
      status: 400,
      body: { code: 'OSM_MACHINE_CLASS' },
    })
    expect((await ask('POST', machinePaths.join, '{')).status).toBe(400)
    expect((await ask('POST', machinePaths.join, JSON.stringify({ csr: 'x'.repeat(40_000) }))).status).toBe(413)
  })

  it('renews by the current certificate, for a fresh key', async () => {
    const { answer, held } = await joined()
    const pair = await newPair()
    const { status, body } = await ask('POST', machinePaths.certificate, { csr: writeKeyRequest(pair) }, held)
    expect(status).toBe(200)
    const leaf = new X509Certificate(String(body['chain']))
    expect(leaf.subjectAltName).toBe(`DNS:${answer.commonName}`)
    const hash = (key: Buffer): string => createHash('sha256').update(key).digest('hex')
    expect(hash(leaf.publicKey.export({ type: 'spki', format: 'der' }))).toBe(hash(pair.publicKey))
  })

  it('takes reports, and forgets a machine that leaves: its certificate opens nothing then', async () => {
    const { answer, held } = await joined()
    expect(await ask('PUT', machinePaths.self, { ready: true }, held)).toMatchObject({
      status: 200,
      body: { variables: {} },
    })
    expect(machines.all.get(answer.uuid)?.ready).toBe(true)
    expect((await ask('DELETE', machinePaths.self, undefined, held)).status).toBe(204)
    expect(machines.all.size).toBe(0)
    const later = await ask('POST', machinePaths.certificate, { csr: writeKeyRequest(await newPair()) }, held)
    expect(later).toMatchObject({ status: 403, body: { code: 'OSM_MACHINE_UNKNOWN' } })
  })

  it('names the machine whose certificate another process shows', async () => {
    const { answer, held } = await joined()
    machines.twice = machineRefusals.twice
    const twice = await ask('PUT', machinePaths.self, { ready: true }, held)
    expect(twice).toMatchObject({ status: 409, body: { code: 'OSM_MACHINE_TWICE' } })
    expect(refused).toEqual([
      expect.objectContaining({ address: '127.0.0.1', commonName: answer.commonName, code: 'OSM_MACHINE_TWICE' }),
    ])
  })

  it('renews nothing without a certificate, by that of a pod, or of another account with the uuid of a machine', async () => {
    const { answer } = await joined()
    const hold = async (subject: CertificateSubject) => {
      const { chain, privateKey } = (await manager.issueCertificate(subject, { keep: false })).credential()
      return { chain, key: privateKey }
    }
    const strangers = [
      undefined,
      await hold({ kind: 'proxy', uuid: newProxyUUID(), serviceAccount: { namespace: 'shop', name: 'store' } }),
      await hold({
        kind: 'proxy',
        uuid: answer.uuid as Machine['uuid'],
        serviceAccount: { namespace: 'bank', name: 'store' },
      }),
      await hold({ kind: 'control-plane', name: 'osm-injector', dnsNames: [], ipAddresses: [] }),
    ]
    for (const held of strangers) {
      const found = await ask('POST', machinePaths.certificate, { csr: writeKeyRequest(await newPair()) }, held)
      expect(found).toMatchObject({ status: 403, body: { code: 'OSM_MACHINE_UNKNOWN' } })
    }
  })

  it('renews nothing by a certificate of another root, or one that has expired', async () => {
    const { held } = await joined()
    skewMs = 25 * HOUR_MS
    const late = await ask('PUT', machinePaths.self, { ready: true }, held)
    expect(late).toMatchObject({ status: 403, body: { code: 'OSM_CERT_PEER_EXPIRED' } })
    skewMs = 0
    const other = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const foreign = new MeshCertificateManager({
      provider: other,
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal: end.signal,
    })
    const { chain, privateKey } = (
      await foreign.issueCertificate({
        kind: 'proxy',
        uuid: newProxyUUID(),
        serviceAccount: { namespace: 'shop', name: 'store' },
      })
    ).credential()
    const stranger = await ask('PUT', machinePaths.self, { ready: true }, { chain, key: privateKey })
    expect(stranger).toMatchObject({ status: 403, body: { code: 'OSM_CERT_PEER_UNTRUSTED' } })
    other.close()
  })
})
