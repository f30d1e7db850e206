import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { LocalAuthority, recordingLogger } from '../../test/certificates/local-authority.js'
import { OpensslAuthority } from '../../test/certificates/openssl-authority.js'
import { providerContract } from '../../test/certificates/provider-contract.js'
import { domains, HOUR, service, TresorFixture } from '../../test/certificates/tresor-fixture.js'
import { certificateNames } from './certificate-subject.js'
import { systemClock } from './clock.js'
import { issueLeaf, signingRequest } from './issue-leaf.js'
import { generateEcKeyPair } from './key-pair.js'
import { RemoteProvider, type RemoteAuthority } from './remote-provider.js'
import { SplitProvider } from './split-provider.js'

const now = (): number => Date.now()

describe('the built-in CA', () => {
  providerContract(async () => (await TresorFixture.open()).provider, now)
})

describe('an authority outside the process', () => {
  providerContract(() => openRemote(), now)
})

describe('one provider for each authority', () => {
  providerContract(async () => {
    const { provider } = await TresorFixture.open()
    return new SplitProvider({ 'control-plane': provider, workload: await openRemote() })
  }, now)
})

describe('an authority of OpenSSL with an intermediate', () => {
  let authority: OpensslAuthority

  beforeAll(async () => {
    authority = await OpensslAuthority.start()
  })

  afterAll(() => authority.stop())

  providerContract(() => openRemote(authority), now)

  it('verifies requests, and reads all of their names', async () => {
    const names = certificateNames(service, domains)
    const wanted = { ...names, ipAddresses: ['10.0.0.1', 'fd00::1'], validityMs: HOUR }
    const text = await authority.describe(signingRequest(wanted, generateEcKeyPair()).csr())
    expect(text).toContain('Subject: CN = bookbuyer.bookstore.cluster.local')
    for (const name of [...names.dnsNames.map((each) => `DNS:${each}`), `URI:${names.uris[0] ?? ''}`])
      expect(text).toContain(name)
    expect(text).toContain('IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1')
  })

  it('reads a request without common name where the name is too long for one', async () => {
    const account = { namespace: 'bookstore', name: 'b'.repeat(60) }
    const names = certificateNames({ kind: 'service', serviceAccount: account, services: [] }, domains)
    const text = await authority.describe(signingRequest({ ...names, validityMs: HOUR }, generateEcKeyPair()).csr())
    expect(text).toMatch(/Subject: *\n/)
    expect(text).toContain('X509v3 Subject Alternative Name: critical')
  })

  it('sends its intermediate with each leaf, and keeps its root to the trust bundle', async () => {
    const provider = await openRemote(authority)
    const request = { ...certificateNames(service, domains), validityMs: HOUR, key: { algorithm: 'ECDSA' } } as const
    const { chain } = await issueLeaf(provider, request, new AbortController().signal)
    expect(chain.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
    expect(provider.trustBundle('workload')).toHaveLength(1)
  })
})

describe('an intermediate with name constraints', () => {
  it.each([
    ['permitted;DNS:cluster.local, permitted;URI:cluster.local', true],
    ['permitted;DNS:.cluster.local', true],
    ['permitted;DNS:CLUSTER.local, permitted;DNS:example', true],
    ['permitted;DNS:example', false],
    ['permitted;URI:example', false],
    ['permitted;URI:.cluster.local', false],
    ['permitted;IP:10.0.0.0/255.0.0.0, permitted;IP:fd00::/ff00::', true],
    ['permitted;IP:10.0.0.0/255.255.255.254', false],
    ['excluded;IP:10.0.0.1/255.255.255.255', false],
    ['excluded;DNS:svc.cluster.local', false],
    ['excluded;DNS:uster.local', true],
    ['excluded;URI:cluster.local', false],
    ['excluded;URI:local', true],
    ['excluded;email:example', true],
  ])('that has %s signs for the mesh: %j, as OpenSSL finds', async (constraints, isAllowed) => {
    const authority = await OpensslAuthority.start(constraints)
    try {
      const provider = await openRemote(authority)
      const names = { ...certificateNames(service, domains), ipAddresses: ['10.0.0.1', 'fd00::1'] }
      const request = { ...names, validityMs: HOUR, key: { algorithm: 'ECDSA' } } as const
      const outcome = await issueLeaf(provider, request, new AbortController().signal).then(
        () => 'issued',
        (error: unknown) => (error as { readonly code?: string }).code,
      )
      expect(outcome).toBe(isAllowed ? 'issued' : 'OSM_CERT_ISSUED_CONSTRAINTS')
      expect(await authority.accepts()).toBe(isAllowed)
    } finally {
      await authority.stop()
    }
  })
})

async function openRemote(remote?: RemoteAuthority): Promise<RemoteProvider> {
  return RemoteProvider.open(
    {
      remote: remote ?? (await LocalAuthority.start(now)),
      authority: 'workload',
      otherRoots: () => [],
      clock: systemClock,
      random: Math.random,
      logger: recordingLogger([]),
    },
    new AbortController().signal,
  )
}
