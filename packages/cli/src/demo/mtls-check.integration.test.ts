import { createServer, type AddressInfo, type Server } from 'node:net'
import tls from 'node:tls'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { certificateNames, issueLeaf, MemoryCaStore, parseMeshDomains, systemClock, TresorProvider } from '@osm-ts/core'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { samplePolicy } from '../../test/sample-policy.js'
import { proxyStatus } from '../../test/sample-view.js'
import { certificateIn } from '../live/sidecar-certificates.js'
import { checkMtls } from './mtls-check.js'

const { signal } = new AbortController()
const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const uri = 'spiffe://cluster.local/bookstore/bookstore'
const status = proxyStatus('bookstore-v2-0', 'bookstore', 'bookstore')

describe('checkMtls', () => {
  let provider: TresorProvider
  let server: Server | undefined

  beforeAll(async () => {
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
  })
  afterEach(async () => {
    await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined))
    server = undefined
  })
  afterAll(() => provider.close())

  async function issue(account: string) {
    const subject = {
      kind: 'service',
      serviceAccount: { namespace: 'bookstore', name: account },
      services: [],
    } as const
    const key = { algorithm: 'ECDSA' } as const
    return issueLeaf(provider, { ...certificateNames(subject, domains), validityMs: 3_600_000, key }, signal)
  }

  async function tlsServer(account: string, options: tls.TlsOptions): Promise<number> {
    const certificate = await issue(account)
    return listen(
      tls.createServer(
        {
          cert: certificate.chain,
          key: certificate.privateKey(),
          ca: [...provider.trustBundle('workload')],
          ...options,
        },
        (socket) => {
          socket.on('error', () => undefined)
          socket.resume().end('welcome')
        },
      ),
    )
  }

  async function listen(started: Server): Promise<number> {
    server = started
    await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
    return (started.address() as AddressInfo).port
  }

  function policyAt(port: number): ProxyPolicy {
    const policy = samplePolicy()
    const trust = policy.parts[policy.proxy.trust]!
    const inbound = policy.proxy.inbound.map((binding) => ({ ...binding, listen: { address: '127.0.0.1', port } }))
    return {
      ...policy,
      proxy: { ...policy.proxy, inbound },
      parts: {
        ...policy.parts,
        [policy.proxy.trust]: { ...trust, roots: [...provider.trustBundle('workload')] } as typeof trust,
      },
    }
  }

  const check = (port: number, uris: readonly string[] = [uri]) =>
    checkMtls([{ status, policy: policyAt(port) }], new Map([[status.name, { uris }]]), new Set(), signal)

  it('knows the identity in a certificate that a sidecar shows as it is', async () => {
    const { chain } = await issue('bookstore')
    expect(certificateIn({ certificates: [{ cert_chain: [{ pem: chain }] }] })).toEqual({ uris: [uri] })
    expect(certificateIn({ certificates: [] })).toBeUndefined()
  })

  it('is content with a sidecar that requests certificates and shows its own', async () => {
    const result = await check(await tlsServer('bookstore', { requestCert: true, rejectUnauthorized: true }))
    expect(result).toMatchObject({ ok: true, failures: [] })
    expect(result.handshakes).toMatchObject([
      {
        plaintext: 'refused',
        withoutCertificate: 'refused',
        serverUris: [uri],
        signedByMesh: true,
        protocol: 'TLSv1.3',
      },
    ])
  })

  it('finds a port that lets clients in without a certificate', async () => {
    const result = await check(await tlsServer('bookstore', {}))
    expect(result.handshakes).toMatchObject([{ withoutCertificate: 'accepted', ok: false }])
    expect(result.failures.join()).toContain('a client without a certificate should be refused')
  })

  it('finds a port that answers plaintext', async () => {
    const result = await check(await listen(createServer((socket) => socket.on('error', () => undefined).pipe(socket))))
    expect(result.handshakes).toMatchObject([{ plaintext: 'answered', ok: false }])
    expect(result.failures.join()).toContain('plaintext should be refused')
  })

  it('finds a server with another identity', async () => {
    const result = await check(await tlsServer('bookthief', { requestCert: true, rejectUnauthorized: true }))
    expect(result.ok).toBe(false)
    expect(result.failures.join()).toContain('spiffe://cluster.local/bookthief/bookstore')
  })

  it('finds a sidecar with the certificate of another, or with none', async () => {
    const port = await tlsServer('bookstore', { requestCert: true, rejectUnauthorized: true })
    expect((await check(port, ['spiffe://cluster.local/bookthief/bookthief'])).ok).toBe(false)
    expect((await check(port, [])).failures.join()).toContain('it has no URI')
  })

  it('takes what a port shows for what a sidecar holds that need not tell', async () => {
    const silent = (port: number, names: readonly string[]) =>
      checkMtls([{ status, policy: policyAt(port) }], new Map(), new Set(names), signal)
    const port = await tlsServer('bookstore', { requestCert: true, rejectUnauthorized: true })
    const result = await silent(port, [status.name])
    expect(result).toMatchObject({ ok: true, identities: [{ uris: [uri], ok: true }], failures: [] })
    expect((await silent(port, ['another'])).failures.join()).toContain('it has no URI')
    await new Promise((resolve) => server?.close(resolve))
    const other = await tlsServer('bookthief', { requestCert: true, rejectUnauthorized: true })
    expect((await silent(other, [status.name])).identities).toMatchObject([{ ok: false }])
  })

  it('proves nothing where no port was found', async () => {
    const policy = { ...samplePolicy(), proxy: { ...samplePolicy().proxy, inbound: [] } }
    const result = await checkMtls([{ status, policy }], new Map([[status.name, { uris: [uri] }]]), new Set(), signal)
    expect(result).toMatchObject({ ok: false, failures: ['no served port was found to connect to'] })
  })
})
