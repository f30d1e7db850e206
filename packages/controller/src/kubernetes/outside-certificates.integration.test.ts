import { X509Certificate } from 'node:crypto'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type CertificateAnnouncement,
  type CertificateManager,
  defaultCertificateSettings,
  MemoryCaStore,
  MeshCertificateManager,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { resourceTypes } from '@osm-ts/kubernetes'

import type { FakeCluster } from '../../test/fake-cluster.js'
import { LeaderDuty } from '../../test/leader-duty.js'
import type { MemoryApi } from '../../test/memory-api.js'
import type { WantedCertificate } from './outside-certificate.js'
import { OutsideCertificates } from './outside-certificates.js'

const { Secret } = resourceTypes
const osmNamespace = 'osm-system'
const inShop = { namespace: 'shop', name: 'caller' }
const HOUR_MS = 3_600_000

function wantedBy(more: Partial<WantedCertificate> = {}): WantedCertificate {
  return {
    object: { kind: 'AccessCert', namespace: 'shop', name: 'caller' },
    field: 'spec',
    names: ['caller.example'],
    validityMs: HOUR_MS,
    secret: inShop,
    ...more,
  }
}

const gateway = (name: string, namespace = osmNamespace): WantedCertificate =>
  wantedBy({
    object: { kind: 'MeshConfig', namespace: osmNamespace, name: 'osm-mesh-config' },
    field: 'spec.certificate.ingressGateway',
    names: ['gateway.example', 'gateway.edge'],
    secret: { namespace, name },
  })

describe('OutsideCertificates', () => {
  let duty: LeaderDuty
  let api: MemoryApi
  let cluster: FakeCluster
  let wanted: readonly WantedCertificate[]
  let changed: () => void
  let provider: TresorProvider
  let certificates: CertificateManager
  let reconciler: OutsideCertificates
  let ended: AbortController

  const start = (): void => {
    reconciler = new OutsideCertificates({
      ...duty.options,
      certificates,
      wanted: () => wanted,
      subscribe: (listener) => {
        changed = listener
        return () => undefined
      },
      osmNamespace,
    })
    duty.start(reconciler)
  }
  const stop = (): Promise<void> => duty.stop()
  const ask = (...certs: readonly WantedCertificate[]): void => {
    wanted = certs
    changed()
  }
  const dataOf = (name = inShop) => {
    const data = api.find(Secret, name)?.data as Readonly<Record<string, string>> | undefined
    const text = (key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString()
    return data && { roots: text('ca.crt'), chain: text('tls.crt'), key: text('tls.key') }
  }
  const leaf = (name = inShop): X509Certificate => new X509Certificate(dataOf(name)?.chain ?? '')
  const until = (condition: () => boolean): Promise<void> => duty.until(condition)

  beforeEach(async () => {
    duty = new LeaderDuty()
    ;({ api, cluster } = duty)
    cluster.join('shop')
    wanted = []
    changed = () => undefined
    ended = new AbortController()
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    certificates = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains: parseMeshDomains({ trustDomain: 'mesh.example', clusterDomain: 'cluster.local' }),
      clock: systemClock,
      random: Math.random,
      signal: ended.signal,
    })
    start()
  })

  afterEach(async () => {
    await stop()
    ended.abort()
    provider.close()
  })

  it('issues into a TLS Secret of Kubernetes, with the roots beside, and removes it with its object', async () => {
    ask(wantedBy(), gateway('osm-nginx-client-cert'))
    const own = { namespace: osmNamespace, name: 'osm-nginx-client-cert' }
    await until(() => dataOf() !== undefined && dataOf(own) !== undefined)
    expect(api.find(Secret, inShop)).toMatchObject({
      type: 'kubernetes.io/tls',
      metadata: { labels: { 'app.kubernetes.io/instance': 'osm' } },
    })
    expect(leaf().subjectAltName).toBe('DNS:caller.example')
    expect(leaf(own).subjectAltName).toBe('DNS:gateway.example, DNS:gateway.edge')
    expect(dataOf()?.roots).toBe(certificates.trustBundle('workload').join('\n'))
    expect(leaf().verify(new X509Certificate(dataOf()?.roots ?? '').publicKey)).toBe(true)
    expect(Math.abs(Date.parse(leaf().validTo) - systemClock.now() - HOUR_MS)).toBeLessThan(60_000)
    expect(reconciler.problems()).toEqual([])
    ask()
    await until(() => dataOf() === undefined && dataOf(own) === undefined)
  })

  it('issues again for other names or another validity, and keeps what is as it should be, a new leader included', async () => {
    ask(wantedBy())
    await until(() => dataOf() !== undefined)
    const first = leaf().serialNumber
    await stop()
    const writes = (): number => api.calls.filter((call) => /^(create|replace) /.test(call)).length
    const before = writes()
    start()
    ask(wantedBy(), gateway('osm-nginx-client-cert'))
    await until(() => writes() === before + 1)
    expect(leaf().serialNumber).toBe(first)
    ask(wantedBy({ names: ['other.example'] }))
    await until(() => leaf().subjectAltName === 'DNS:other.example')
    ask(wantedBy({ names: ['other.example'], validityMs: 2 * HOUR_MS }))
    await until(() => Date.parse(leaf().validTo) - systemClock.now() > 1.5 * HOUR_MS)
  })

  it('replaces a certificate in time', async () => {
    ask(wantedBy({ validityMs: 3000 }))
    await until(() => dataOf() !== undefined)
    const first = leaf().serialNumber
    await until(() => leaf().serialNumber !== first)
    expect(Date.parse(leaf().validTo)).toBeGreaterThan(systemClock.now())
  })

  it('restores what others have changed or deleted, when it looks again', async () => {
    ask(wantedBy())
    await until(() => dataOf() !== undefined)
    const found = api.find(Secret, inShop)
    if (found === undefined) throw new Error('there was one')
    api.put(Secret, { ...found, data: { ...(found.data as object), 'tls.key': '' } })
    cluster.join('shop')
    await until(() => (dataOf()?.key ?? '') !== '')
    api.drop(Secret, inShop)
    cluster.join('shop')
    await until(() => dataOf() !== undefined)
  })

  it.each<[string, WantedCertificate, string]>([
    [
      'a sidecar of the mesh',
      wantedBy({ names: ['0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11.sidecar.a.b.mesh.example'] }),
      'a name outside mesh.example',
    ],
    [
      'a service of the mesh',
      wantedBy({ names: ['ok.example', 'a.b.svc.cluster.local'] }),
      'a name outside cluster.local',
    ],
    ['the trust domain itself', wantedBy({ names: ['Mesh.Example'] }), 'a name outside mesh.example'],
    ['a wildcard', wantedBy({ names: ['*.example'] }), 'without wildcard'],
    ['a Secret of another namespace', wantedBy({ secret: { namespace: 'bank', name: 'a' } }), 'must be in shop'],
    ['a Secret outside the mesh', gateway('a', 'elsewhere'), 'not a namespace of the mesh'],
    ['the Secret of the roots', gateway('osm-ca-bundle'), 'may be one of'],
  ])('issues nothing for %s', async (_what, asked, message) => {
    cluster.join('bank')
    ask(asked)
    await until(() => reconciler.problems().length > 0)
    expect(reconciler.problems()).toEqual([
      expect.objectContaining({
        code: 'OSM_CONTROLLER_CERTIFICATE',
        severity: 'error',
        message: expect.stringContaining(message),
        object: asked.object,
      }),
    ])
    expect(api.find(Secret, asked.secret)).toBeUndefined()
    ask()
    await until(() => reconciler.problems().length === 0)
  })

  it('continues with the certificate that OSM issued to an ingress gateway before an upgrade', async () => {
    const names = ['ingress-nginx.ingress-nginx.mesh.example']
    const asked = { ...gateway('osm-nginx-client-cert'), names }
    const secret = asked.secret
    const former = await certificates.issueCertificate({ kind: 'outside', names }, { validityMs: HOUR_MS, keep: false })
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const data = {
      'ca.crt': base64(certificates.trustBundle('workload').join('\n')),
      'tls.crt': base64(former.chain),
      'tls.key': base64(former.privateKey()),
    }
    // Those of OSM have no labels.
    api.put(Secret, { metadata: secret, type: 'kubernetes.io/tls', data })
    ask(asked)
    await until(() => leaf(secret).serialNumber !== former.serialNumber)
    expect(leaf(secret).subjectAltName).toBe('DNS:ingress-nginx.ingress-nginx.mesh.example')
    expect(reconciler.problems()).toEqual([])
    await stop()
    // The same certificate for other names is not theirs.
    api.put(Secret, { metadata: secret, type: 'kubernetes.io/tls', data })
    start()
    ask({ ...asked, names: ['other.ingress-nginx.mesh.example'] })
    await until(() => reconciler.problems().length > 0)
    expect(leaf(secret).serialNumber).toBe(former.serialNumber)
  })

  it('leaves a Secret of somebody else alone, and the one of another object too', async () => {
    const foreign = { data: { password: 'eA==' } }
    api.put(Secret, { metadata: inShop, ...foreign })
    ask(wantedBy())
    await until(() => reconciler.problems().length > 0)
    expect(api.find(Secret, inShop)).toMatchObject(foreign)
    api.drop(Secret, inShop)
    cluster.join('shop')
    await until(() => dataOf() !== undefined)
    const second = wantedBy({
      object: { kind: 'AccessCert', namespace: 'shop', name: 'later' },
      names: ['later.example'],
    })
    ask(wantedBy(), second)
    await until(() => reconciler.problems().length > 0)
    expect(reconciler.problems()).toMatchObject([{ object: { name: 'later' } }])
    expect(leaf().subjectAltName).toBe('DNS:caller.example')
  })

  it('issues again when the roots change', async () => {
    await stop()
    const roots = { text: certificates.trustBundle('workload') }
    const listeners = new Set<(announcement: CertificateAnnouncement) => void>()
    const real = certificates
    certificates = {
      ...real,
      issueCertificate: (subject, options) => real.issueCertificate(subject, options),
      trustBundle: () => roots.text,
      subscribe: async function* (signal) {
        while (!signal.aborted)
          yield await new Promise<CertificateAnnouncement>((resolve) => {
            listeners.add(resolve)
            signal.addEventListener('abort', () => resolve({ type: 'missed', count: 0 }), { once: true })
          })
      },
    }
    start()
    ask(wantedBy())
    await until(() => dataOf() !== undefined)
    const first = leaf().serialNumber
    roots.text = [...roots.text, 'another root\n']
    for (const tell of listeners) tell({ type: 'rootChanged', authority: 'workload' })
    await until(() => dataOf()?.roots.endsWith('another root\n') === true)
    expect(leaf().serialNumber).not.toBe(first)
  })
})
