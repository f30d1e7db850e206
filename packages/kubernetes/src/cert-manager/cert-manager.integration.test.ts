import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  certificateNames,
  generateKeyPairFor,
  type KeyPair,
  RemoteProvider,
  type RemoteProviderOptions,
  signingRequest,
  systemClock,
} from '@osm-ts/core'

import { providerContract } from '../../../core/test/certificates/provider-contract.js'
import { ads, domains, HOUR, service } from '../../../core/test/certificates/tresor-fixture.js'
import { APPROVED, CertManagerStandIn } from '../../test/cert-manager-stand-in.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { MemoryLogger } from '../../test/memory-logger.js'
import { resourceTypes } from '../resource-types.js'
import { CertManagerAuthority, type CertManagerOptions } from './cert-manager-authority.js'

const NAMESPACE = 'osm-system'
const names = certificateNames(service, domains)
const denied = { type: 'Denied', status: 'True', reason: 'policy.example', message: 'names of  others' } as const

let server: FakeApiServer
let certManager: CertManagerStandIn
let closing: AbortController
let running: Promise<void>[]
let logger: MemoryLogger

beforeAll(async () => {
  server = await FakeApiServer.start()
  certManager = await CertManagerStandIn.start(await server.api())
})

beforeEach(() => {
  closing = new AbortController()
  running = []
  logger = new MemoryLogger()
})

afterEach(async () => {
  closing.abort()
  await Promise.all(running)
  server.clearFaults()
  Object.assign(certManager, { approval: APPROVED, outcome: undefined, maxMs: Number.POSITIVE_INFINITY })
  Object.assign(certManager, { changed: (csr: string) => csr, ca: (chain: string) => chain })
  certManager.requests.length = 0
})

afterAll(async () => {
  await certManager.stop()
  await server.close()
})

/** Time passes where a test says so: waits for an approval end at once. */
const shortTimeouts = {
  ...systemClock,
  setTimer: (callback: () => void, delayMs: number) => systemClock.setTimer(callback, delayMs / 20),
}

async function authority(changes: Partial<CertManagerOptions> = {}): Promise<CertManagerAuthority> {
  const opened = new CertManagerAuthority({
    api: await server.api(),
    meshName: 'osm',
    namespace: NAMESPACE,
    issuer: { name: 'osm-ca', kind: 'Issuer', group: 'cert-manager.io' },
    probe: names,
    clock: systemClock,
    random: Math.random,
    logger,
    ...changes,
  })
  running.push(opened.run(closing.signal))
  return opened
}

async function open(
  remote?: CertManagerAuthority,
  changes: Partial<RemoteProviderOptions> = {},
): Promise<RemoteProvider> {
  const options = {
    remote: remote ?? (await authority()),
    authority: 'workload',
    otherRoots: () => [],
    clock: systemClock,
    random: Math.random,
    logger,
    ...changes,
  } as const
  return RemoteProvider.open(options, closing.signal)
}

async function request(pair?: KeyPair, validityMs = HOUR) {
  return signingRequest({ ...names, validityMs }, pair ?? (await generateKeyPairFor({ algorithm: 'ECDSA' })))
}

const left = (): number => server.objects.list(resourceTypes.CertificateRequest).length

async function eventually(check: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!check()) {
    if (Date.now() > deadline) throw new Error('did not happen within 120 s')
    await new Promise((resolve) => void setTimeout(resolve, 10))
  }
}

describe('cert-manager', () => {
  providerContract(
    () => open(),
    () => Date.now(),
  )

  it('is asked by a CertificateRequest of the mesh, which is deleted when it was answered', async () => {
    const provider = await open()
    await provider.sign(await request(), closing.signal)
    expect(certManager.requests).toHaveLength(2)
    expect(certManager.requests.at(-1)).toMatchObject({
      metadata: { namespace: NAMESPACE, labels: { 'app.kubernetes.io/instance': 'osm' } },
      spec: { issuerRef: { name: 'osm-ca', kind: 'Issuer', group: 'cert-manager.io' }, duration: '3600s', isCA: false },
    })
    expect(left()).toBe(0)
  })

  it('may be an issuer of another vendor', async () => {
    const issuer = { name: 'pca', kind: 'AWSPCAClusterIssuer', group: 'awspca.cert-manager.io' }
    certManager.issuer = issuer
    const provider = await open(await authority({ issuer }))
    await expect(provider.sign(await request(), closing.signal)).resolves.toMatchObject({
      serialNumber: expect.any(String),
    })
    certManager.issuer = { name: 'osm-ca', kind: 'Issuer', group: 'cert-manager.io' }
  })

  it('never signs for the control plane', async () => {
    const provider = await open()
    const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
    const wanted = signingRequest({ ...certificateNames(ads, domains), validityMs: HOUR }, pair)
    await expect(provider.sign(wanted, closing.signal)).rejects.toThrow('does not sign for the control-plane authority')
  })
})

describe('an approval', () => {
  it('that is missing is no outage, and its request is found again when it was approved', async () => {
    const provider = await open(await authority({ clock: shortTimeouts }))
    certManager.approval = undefined
    const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
    const wanted = await request(pair)
    await expect(provider.sign(wanted, closing.signal)).rejects.toMatchObject({
      code: 'OSM_CERT_APPROVAL_PENDING',
      message: expect.stringContaining('is neither approved nor denied'),
    })
    expect(left()).toBe(1)
    expect(provider.faults().map(({ code }) => code)).toEqual(['OSM_CERT_APPROVAL_PENDING'])
    await certManager.decide(APPROVED)
    await provider.sign(wanted, closing.signal)
    expect(provider.faults()).toEqual([])
    // One for the roots, one for the certificate.
    expect(certManager.requests).toHaveLength(2)
    await eventually(() => left() === 0)
  })

  it('that is denied is told with its reason, and the request is deleted', async () => {
    const provider = await open()
    certManager.approval = denied
    await expect(provider.sign(await request(), closing.signal)).rejects.toMatchObject({
      code: 'OSM_CERT_PROVIDER_REFUSED',
      message: expect.stringContaining('is denied: policy.example: names of others'),
    })
    expect(left()).toBe(0)
  })
})

describe('an issuer', () => {
  it.each([
    ['Failed', { type: 'Ready', status: 'False', reason: 'Failed', message: 'no key' }, 'is failed: Failed: no key'],
    ['InvalidRequest', { type: 'InvalidRequest', status: 'True', reason: 'X', message: 'csr' }, 'is invalid: X: csr'],
  ] as const)('that says %s refuses this request alone', async (_reason, outcome, message) => {
    const provider = await open()
    certManager.outcome = outcome
    await expect(provider.sign(await request(), closing.signal)).rejects.toMatchObject({
      code: 'OSM_CERT_PROVIDER_REFUSED',
      message: expect.stringContaining(message),
    })
    expect(left()).toBe(0)
  })

  it('that does not sign is unavailable, and its reason is told', async () => {
    const provider = await open(await authority({ clock: shortTimeouts }))
    certManager.outcome = { type: 'Ready', status: 'False', reason: 'Pending', message: 'Issuer "osm-ca" not found' }
    await expect(provider.sign(await request(), closing.signal)).rejects.toMatchObject({
      code: 'OSM_CERT_PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('Pending: Issuer "osm-ca" not found'),
    })
    expect(left()).toBe(0)
  })

  it('that returns another key is refused', async () => {
    const provider = await open()
    const other = (await request()).csr()
    certManager.changed = () => other
    await expect(provider.sign(await request(), closing.signal)).rejects.toMatchObject({ code: 'OSM_CERT_ISSUED_KEY' })
  })

  it('that adds a name is refused', async () => {
    const provider = await open()
    const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
    const dnsNames = [...names.dnsNames, 'other.bookstore.svc.cluster.local']
    const more = signingRequest({ ...names, dnsNames, validityMs: HOUR }, pair).csr()
    certManager.changed = () => more
    await expect(provider.sign(await request(pair), closing.signal)).rejects.toMatchObject({
      code: 'OSM_CERT_ISSUED_NAMES',
    })
  })

  it('that shortens lifetimes is reported', async () => {
    const provider = await open()
    certManager.maxMs = HOUR / 2
    await provider.sign(await request(), closing.signal)
    expect(provider.faults()).toMatchObject([{ code: 'OSM_CERT_ISSUED_SHORTENED', severity: 'warning' }])
  })

  it('without its root is not trusted, before and after the roots were configured', async () => {
    certManager.ca = () => ''
    const remote = await authority()
    const names = await remote.caCertificates(closing.signal)
    expect(names.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
    const opening = open(remote)
    await eventually(() => logger.lines.some(({ fields }) => fields.code === 'OSM_CERT_ISSUED_CHAIN'))
    closing.abort()
    await expect(opening).rejects.toThrow()
  })

  it('signs under configured roots alone', async () => {
    const [, root = ''] = (await certManager.authority.caCertificates()).split(/(?<=END CERTIFICATE-----\n)/)
    certManager.ca = () => ''
    const provider = await open(await authority({ roots: async () => root }))
    await provider.sign(await request(), closing.signal)
    expect(provider.trustBundle('workload')).toEqual([root])
  })
})

describe('the API server', () => {
  it.each([
    [404, 'NotFound', 'OSM_CERT_PROVIDER_UNAVAILABLE', 'install cert-manager'],
    [403, 'Forbidden', 'OSM_CERT_PROVIDER_REFUSED', 'no CertificateRequest can be made in namespace osm-system'],
    [503, 'ServiceUnavailable', 'OSM_CERT_PROVIDER_UNAVAILABLE', 'no CertificateRequest can be made'],
  ])('that answers %s is told as what it means', async (status, reason, code, message) => {
    const remote = await authority()
    const action = { kind: 'status', status, reason } as const
    server.fault({ action, when: ({ method }) => method === 'POST' })
    await expect(remote.sign(await request(), closing.signal)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
  })
})

describe('requests that no one uses', () => {
  const labels = { 'app.kubernetes.io/instance': 'osm', 'openservicemesh.io/certificate': 'workload' }
  const ready = { type: 'Ready', status: 'True', reason: 'Issued', message: '' }
  const issued = { status: { conditions: [APPROVED, ready], certificate: 'eA==' } }

  it('are deleted once they were answered, and not while they wait or where they belong to others', async () => {
    certManager.approval = undefined
    let now = 0
    const clock = { now: () => now, setTimer: (callback: () => void) => systemClock.setTimer(callback, 10) }
    const put = (name: string, own: Readonly<Record<string, string>>, more: object) =>
      server.put(resourceTypes.CertificateRequest, { namespace: NAMESPACE, name, labels: own }, { spec: {}, ...more })
    put('answered', labels, issued)
    put('waiting', labels, {})
    put('foreign', { ...labels, 'app.kubernetes.io/instance': 'other' }, issued)
    await authority({ clock })
    const present = (): readonly string[] =>
      server.objects.list(resourceTypes.CertificateRequest).map(({ metadata }) => metadata.name)
    // Time counts from the first look, which no one outside can see.
    const later = (ms: number): boolean => {
      now += ms
      return true
    }
    await eventually(() => later(1_000) && !present().includes('answered'))
    expect(now).toBeGreaterThanOrEqual(120_000)
    expect(present()).toEqual(expect.arrayContaining(['waiting', 'foreign']))
    await eventually(() => later(HOUR / 60) && !present().includes('waiting'))
    expect(now).toBeGreaterThanOrEqual(6 * HOUR)
    expect(present()).toContain('foreign')
    server.remove(resourceTypes.CertificateRequest, { namespace: NAMESPACE, name: 'foreign' })
  })
})
