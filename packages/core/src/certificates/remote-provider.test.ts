import { createPrivateKey, X509Certificate } from 'node:crypto'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { FakeClock } from '../../test/certificates/fake-clock.js'
import { LocalAuthority, recordingLogger } from '../../test/certificates/local-authority.js'
import { domains, HOUR, service, TresorFixture } from '../../test/certificates/tresor-fixture.js'
import { certificateNames } from './certificate-subject.js'
import type { Certificate } from './certificate.js'
import { issueLeaf } from './issue-leaf.js'
import { generateEcKeyPair } from './key-pair.js'
import { RemoteProvider } from './remote-provider.js'

const names = certificateNames(service, domains)
const ecdsa = { algorithm: 'ECDSA' } as const
const MINUTE = 60_000

let clock: FakeClock
let authority: LocalAuthority
let provider: RemoteProvider
let closing: AbortController
let lines: string[]

beforeEach(async () => {
  clock = new FakeClock()
  closing = new AbortController()
  lines = []
  authority = await LocalAuthority.start(() => clock.now())
  provider = await open()
})

afterEach(async () => {
  closing.abort()
  await clock.pass(0)
  expect(clock.pending).toBe(0)
})

function open(pinnedRoots?: string, otherRoots: readonly string[] = []): Promise<RemoteProvider> {
  return RemoteProvider.open(
    {
      remote: authority,
      authority: 'workload',
      ...(pinnedRoots === undefined ? {} : { pinnedRoots }),
      otherRoots: () => otherRoots,
      clock,
      random: () => 0.99,
      logger: recordingLogger(lines),
    },
    closing.signal,
  )
}

function issue(validityMs = HOUR): Promise<Certificate> {
  return issueLeaf(provider, { ...names, validityMs, key: ecdsa }, closing.signal)
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'issued',
    (error: unknown) => (error as { code?: string }).code,
  )
}

describe('an authority that does something else than it was asked for', () => {
  it.each([
    ['another key', { publicKey: generateEcKeyPair().publicKey }, 'OSM_CERT_ISSUED_KEY'],
    ['an added DNS name', { dnsNames: [...names.dnsNames, 'bank.other.svc.cluster.local'] }, 'OSM_CERT_ISSUED_NAMES'],
    ['an added identity', { uris: [...names.uris, 'spiffe://cluster.local/a/b'] }, 'OSM_CERT_ISSUED_NAMES'],
    ['an added address', { ipAddresses: [Buffer.from([10, 0, 0, 1])] }, 'OSM_CERT_ISSUED_NAMES'],
    ['another common name', { commonName: 'ads.cluster.local' }, 'OSM_CERT_ISSUED_NAMES'],
    ['a missing identity', { uris: [] }, 'OSM_CERT_ISSUED_NAMES'],
  ] as const)('is refused for %s', async (_what, changes, code) => {
    authority.changes = changes
    await expect(codeOf(issue())).resolves.toBe(code)
    expect(provider.faults()).toMatchObject([{ code, severity: 'error', authority: 'workload', provider: 'local' }])
    authority.changes = {}
    await expect(codeOf(issue())).resolves.toBe('issued')
    expect(provider.faults()).toEqual([])
  })

  it('is refused for the certificate of a CA', async () => {
    const [root] = authority.signers
    authority.answer = () => root?.certificate ?? ''
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_KEY')
  })

  it.each(['', 'no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'is refused for the answer %j',
    async (answer) => {
      authority.answer = () => answer
      await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_CHAIN')
    },
  )

  it('is refused for a chain of too many certificates', async () => {
    authority.answer = (pem) => pem.repeat(7)
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_CHAIN')
  })

  it('is refused for a longer life than was requested', async () => {
    authority.changes = { notAfter: clock.now() + 2 * HOUR }
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_VALIDITY')
  })

  it.each([
    ['ahead', HOUR],
    ['behind', -HOUR],
  ])('is refused if its clock is an hour %s', async (_which, skew) => {
    const now = clock.now() + skew
    authority.changes = { notBefore: now, notAfter: now + HOUR }
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_VALIDITY')
    await expect(issue()).rejects.toThrow(skew > 0 ? /compare the clocks/ : /expires before it can be used/)
  })

  it('may shorten the life, which is reported and counts for the rotation', async () => {
    authority.changes = { notAfter: clock.now() + HOUR / 2 }
    const certificate = await issue()
    expect(certificate.expiration).toBe(clock.now() + HOUR / 2)
    expect(provider.faults()).toMatchObject([
      { code: 'OSM_CERT_ISSUED_SHORTENED', severity: 'warning', message: expect.stringContaining('1800 s instead') },
    ])
    authority.changes = {}
    await issue()
    expect(provider.faults()).toEqual([])
  })
})

describe('an authority that is unavailable', () => {
  it('is asked again at growing intervals, and everyone else is refused at once', async () => {
    authority.before = () => Promise.reject(new Error('connect ECONNREFUSED'))
    for (let second = 0; second < 600; second += 1) {
      await expect(issue()).rejects.toThrow('connect ECONNREFUSED')
      await clock.pass(1_000)
    }
    expect(authority.requests).toBeGreaterThan(5)
    expect(authority.requests).toBeLessThan(25)
    expect(provider.faults()).toMatchObject([{ code: 'OSM_CERT_PROVIDER_UNAVAILABLE', severity: 'error' }])
    expect(lines.filter((line) => line.includes('is unavailable'))).toHaveLength(1)
    authority.before = () => Promise.resolve()
    await clock.pass(MINUTE)
    await expect(codeOf(issue())).resolves.toBe('issued')
    expect(provider.faults()).toEqual([])
    expect(lines.at(-1)).toMatch(/^info .* is available again/)
  })

  it('is given up after 30 seconds without an answer', async () => {
    authority.before = () => new Promise(() => undefined)
    const waiting = codeOf(issue())
    await clock.pass(29_999)
    const other = codeOf(issue())
    await clock.pass(1)
    await expect(waiting).resolves.toBe('OSM_CERT_PROVIDER_UNAVAILABLE')
    await clock.pass(MINUTE)
    await expect(other).resolves.toBe('OSM_CERT_PROVIDER_UNAVAILABLE')
  })

  it('is asked by one at a time once its pause is over', async () => {
    authority.before = () => Promise.reject(new Error('down'))
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_PROVIDER_UNAVAILABLE')
    await clock.pass(MINUTE)
    let answer = (): void => undefined
    authority.before = () => new Promise((resolve) => (answer = resolve))
    const probe = codeOf(issue())
    await clock.pass(0)
    await expect(issue()).rejects.toThrow(/it is being asked again/)
    answer()
    await expect(probe).resolves.toBe('issued')
  })

  it('is waited for at the start', async () => {
    authority.before = () => Promise.reject(new Error('down'))
    const opening = open()
    await clock.pass(MINUTE)
    expect(lines.filter((line) => line.includes('cannot be read')).length).toBeGreaterThan(2)
    authority.before = () => Promise.resolve()
    await clock.pass(MINUTE)
    await expect(opening).resolves.toBeInstanceOf(RemoteProvider)
  })
})

describe('roots of an authority', () => {
  it('that are replaced are trusted before a certificate of the new one is handed out', async () => {
    const [before] = provider.trustBundle('workload')
    const heard: string[] = []
    provider.onRootChange((which) => heard.push(which))
    await authority.replaceRoot()
    const certificate = await issue()
    const [first, second] = provider.trustBundle('workload')
    expect(certificate.issuingCA.chain).toBe(first)
    expect(second).toBe(before)
    expect(heard).toContain('workload')
    expect(provider.rootCertificate('workload').chain).toBe(first)
  })

  it('are checked from time to time', async () => {
    const running = provider.run(closing.signal)
    const heard: number[] = []
    provider.onRootChange(() => heard.push(provider.trustBundle('workload').length))
    await authority.replaceRoot()
    await clock.pass(6 * MINUTE)
    expect(heard).toEqual([2])
    await clock.pass(25 * HOUR)
    expect(heard).toEqual([2, 1])
    closing.abort()
    await running
  })

  it('that an authority names twice are trusted once', async () => {
    const own = authority.signers
    authority.caCertificates = async () => own.map(({ certificate }) => certificate.repeat(2)).join('')
    expect((await open()).trustBundle('workload')).toHaveLength(1)
  })

  it('are not taken up if there are more than sidecars can read', async () => {
    const others = await Promise.all(Array.from({ length: 16 }, () => LocalAuthority.start(() => clock.now())))
    const texts = [authority, ...others].flatMap(({ signers }) => signers.map(({ certificate }) => certificate))
    authority.caCertificates = async () => texts.join('')
    const running = provider.run(closing.signal)
    await clock.pass(6 * MINUTE)
    expect(provider.trustBundle('workload')).toHaveLength(1)
    expect(lines.at(-1)).toMatch(/OSM_CERT_ROOTS_BOUND.*has 17 certificates, at most 16 are accepted/)
    authority.caCertificates = async () => texts.slice(0, 16).join('')
    await clock.pass(6 * MINUTE)
    expect(provider.trustBundle('workload')).toHaveLength(16)
    closing.abort()
    await running
  })

  it('must not be those of the control plane', async () => {
    const [root] = authority.signers
    const opening = open(undefined, [root?.certificate ?? ''])
    await clock.pass(MINUTE)
    expect(lines.at(-1)).toContain('OSM_CERT_CA_SHARED')
    closing.abort(new Error('enough'))
    await expect(opening).rejects.toThrow('enough')
  })

  it('that are pinned are the only ones', async () => {
    const other = await TresorFixture.open()
    provider = await open(other.provider.trustBundle('workload').join(''))
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_CHAIN')
  })

  it('that a chain lacks are reported', async () => {
    const other = await LocalAuthority.start(() => clock.now())
    authority.answer = (pem) => pem
    const [own] = authority.signers
    authority.signers = other.signers
    authority.caCertificates = async () => own?.certificate ?? ''
    await expect(codeOf(issue())).resolves.toBe('OSM_CERT_ISSUED_CHAIN')
    await expect(issue()).rejects.toThrow(/no trusted root is at the end of the chain/)
  })
})

it('does not sign for the authority of the control plane', async () => {
  const wanted = certificateNames({ kind: 'control-plane', name: 'ads', dnsNames: [], ipAddresses: [] }, domains)
  await expect(issueLeaf(provider, { ...wanted, validityMs: HOUR, key: ecdsa }, closing.signal)).rejects.toMatchObject({
    code: 'OSM_CERT_ISSUE',
  })
})

it('hands over the key of a certificate with it', async () => {
  const certificate = await issue()
  expect(new X509Certificate(certificate.chain).checkPrivateKey(createPrivateKey(certificate.privateKey()))).toBe(true)
})
