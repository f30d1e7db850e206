import { generateKeyPairSync, X509Certificate } from 'node:crypto'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  defaultCertificateSettings,
  issuanceLog,
  createLogger,
  MemoryCaStore,
  MeshCertificateManager,
  parseMeshDomains,
  parseProxyUUID,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { KubernetesError, resourceTypes } from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import { LeaderDuty } from '../../test/leader-duty.js'
import type { MemoryApi } from '../../test/memory-api.js'
import { podRequest, podWith } from '../../test/pod-request.js'
import { PodCertificates } from './pod-certificates.js'

const { Namespace, Pod, PodCertificateRequest, ServiceAccount } = resourceTypes
const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const uuid = '5f0f5b43-6a92-4f4b-9d0e-0a4d5a1c9e01'
const other = '5f0f5b43-6a92-4f4b-9d0e-0a4d5a1c9e02'
const HOUR_MS = 3_600_000

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[]
  readonly certificateChain?: string
  readonly notBefore?: string
  readonly beginRefreshAt?: string
  readonly notAfter?: string
}

describe('PodCertificates', () => {
  let duty: LeaderDuty
  let api: MemoryApi
  let provider: TresorProvider
  let closing: AbortController
  let lines: string[]
  let signer: PodCertificates
  let most: number
  let fault: OsmError | undefined

  const statusOf = (pod: string): Status | undefined =>
    api.find(PodCertificateRequest, { namespace: 'shop', name: `request-${pod}` })?.status as Status | undefined
  const conditionOf = (pod: string) => statusOf(pod)?.conditions?.[0]
  const serve = (version: string): void => {
    api.documents.set(`/apis/certificates.k8s.io/${version}`, { resources: [{ name: 'podcertificaterequests' }] })
  }
  const answered = (pod: string) => duty.until(() => conditionOf(pod) !== undefined)

  beforeEach(async () => {
    duty = new LeaderDuty()
    ;({ api } = duty)
    closing = new AbortController()
    lines = []
    most = 0
    fault = undefined
    const logger = createLogger('test', 'info', { write: (line: string) => void lines.push(line) })
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const manager = new MeshCertificateManager({
      provider,
      domains,
      settings: () => defaultCertificateSettings,
      issuanceLog: issuanceLog(logger),
      clock: systemClock,
      random: Math.random,
      signal: closing.signal,
    })
    let running = 0
    signer = new PodCertificates({
      ...duty.options,
      logger,
      certificates: {
        issueCertificate: async (subject, options) => {
          running += 1
          most = Math.max(most, running)
          try {
            await new Promise((resolve) => setImmediate(resolve))
            if (fault !== undefined) throw fault
            return await manager.issueCertificate(subject, options)
          } finally {
            running -= 1
          }
        },
      },
      enrolment: { meshName: 'osm', osmNamespace: 'osm-system' },
      trustDomain: domains.trustDomain,
      configName: 'osm-mesh-config',
      sweepMs: 30,
    })
    api.put(Namespace, { metadata: { name: 'shop', labels: { 'openservicemesh.io/monitored-by': 'osm' } } })
    api.put(ServiceAccount, { metadata: { namespace: 'shop', name: 'books', uid: 'account-books' } })
    serve('v1alpha1')
  })
  afterEach(async () => {
    await duty.stop()
    closing.abort()
    provider.close()
  })

  it.each(['signature', 'request'] as const)(
    'signs for the key of a pod that is proven by a %s, under the name of its sidecar',
    async (form) => {
      const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      api.put(Pod, podWith('a', uuid))
      api.put(PodCertificateRequest, podRequest('a', { key, form }))
      duty.start(signer)
      await answered('a')
      expect(conditionOf('a')).toMatchObject({ type: 'Issued', status: 'True', reason: 'Issued' })
      const { certificateChain = '', notBefore = '', beginRefreshAt = '', notAfter = '' } = statusOf('a') ?? {}
      const leaf = new X509Certificate(certificateChain)
      expect(leaf.publicKey.equals(key.publicKey)).toBe(true)
      expect(leaf.subjectAltName).toBe(`DNS:${uuid}.sidecar.books.shop.cluster.local`)
      expect(leaf.ca).toBe(false)
      expect(leaf.verify(new X509Certificate(provider.rootCertificate('control-plane').chain).publicKey)).toBe(true)
      // What the API server demands of an answer.
      expect([Date.parse(notBefore), Date.parse(notAfter)]).toEqual([
        Date.parse(leaf.validFrom),
        Date.parse(leaf.validTo),
      ])
      expect(Math.abs(Date.parse(notBefore) - Date.now())).toBeLessThan(300_000)
      const lifetime = Date.parse(notAfter) - Date.parse(notBefore)
      expect(lifetime).toBeGreaterThanOrEqual(HOUR_MS)
      expect(lifetime).toBeLessThanOrEqual(24 * HOUR_MS)
      const refresh = Date.parse(beginRefreshAt) - Date.parse(notBefore)
      expect(refresh / lifetime).toBeGreaterThan(0.49)
      expect(refresh / lifetime).toBeLessThan(0.76)
      const audit = lines.find((line) => line.includes('certificate issued')) ?? ''
      expect(JSON.parse(audit)).toMatchObject({
        askedBy: 'kubelet',
        keyHolder: 'proxy',
        serialNumber: expect.any(String),
      })
      expect(lines.join('')).not.toContain('PRIVATE KEY')
    },
  )

  it.each<[string, string, () => void]>([
    ['the uid of another pod', 'PodNotFound', () => put({ spec: { podUID: 'pod-z' }, proven: 'pod-z' })],
    ['a pod that is gone', 'PodNotFound', () => api.drop(Pod, { namespace: 'shop', name: 'a' })],
    ['a pod that has ended', 'PodNotFound', () => api.put(Pod, podWith('a', uuid, { status: { phase: 'Failed' } }))],
    ['another service account', 'WrongAccount', () => put({ spec: { serviceAccountName: 'admin' } })],
    ['the uid of a former service account', 'WrongAccount', () => put({ spec: { serviceAccountUID: 'account-old' } })],
    ['another node', 'WrongNode', () => put({ spec: { nodeName: 'node-2' } })],
    ['another signer', 'WrongSigner', () => put({ spec: { signerName: 'sidecar.openservicemesh.io/another' } })],
    ['a namespace that is not of the mesh', 'NotEnrolled', () => api.put(Namespace, { metadata: { name: 'shop' } })],
    [
      'a pod without a sidecar',
      'NoSidecar',
      () => api.put(Pod, podWith('a', uuid, { spec: { ...podWith('a', uuid).spec, volumes: [] } })),
    ],
    [
      'a pod whose label names another sidecar',
      'NoSidecar',
      () => {
        const { metadata, ...pod } = podWith('a', uuid)
        api.put(Pod, { ...pod, metadata: { ...metadata, labels: { 'osm-proxy-uuid': other } } })
      },
    ],
    [
      'a copy of a pod',
      'CopiedSidecar',
      () => {
        const { metadata, ...pod } = podWith('first', uuid)
        api.put(Pod, { ...pod, metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' } })
      },
    ],
    [
      'annotations for the signer',
      'UnknownAnnotation',
      () => put({ spec: { unverifiedUserAnnotations: { 'a.example/b': 'c' } } }),
    ],
    ['a proof for another pod', 'InvalidProof', () => put({ proven: 'pod-b' })],
    ['two keys', 'InvalidRequest', () => put({ form: 'both' })],
    ['no key', 'InvalidRequest', () => put({ spec: { pkixPublicKey: '' } })],
    ['a request with a name', 'InvalidRequest', () => put({ form: 'request', subject: Buffer.from('3100', 'hex') })],
    [
      'a request that is cut short',
      'InvalidRequest',
      () => put({ form: 'request', spec: { stubPKCS10Request: 'MIIB' } }),
    ],
    ['a key that is not a key', 'InvalidRequest', () => put({ spec: { pkixPublicKey: 'AAAA' } })],
    ['a key of Ed25519', 'UnsupportedKeyType', () => put({ key: generateKeyPairSync('ed25519') })],
    ['a key on P-521', 'UnsupportedKeyType', () => put({ key: generateKeyPairSync('ec', { namedCurve: 'P-521' }) })],
    ['a life of an hour', 'InvalidLifetime', () => put({ spec: { maxExpirationSeconds: 3_600 } })],
  ])('denies a request with %s', async (_what, reason, change) => {
    api.put(Pod, podWith('a', uuid))
    put({})
    change()
    duty.start(signer)
    await answered('a')
    expect(conditionOf('a')).toMatchObject({ type: 'Denied', reason, message: expect.stringMatching(/./) })
    expect(statusOf('a')?.certificateChain).toBeUndefined()
    const audit = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(audit).toContainEqual(expect.objectContaining({ audit: 'certificate', reason, pod: 'a' }))
  })

  const put = (parts: Parameters<typeof podRequest>[1]): void => {
    api.put(PodCertificateRequest, podRequest('a', parts))
  }

  it('gives a sidecar to the oldest pod that has it, whatever other pods carry its label', async () => {
    const { metadata, ...pod } = podWith('later', uuid)
    api.put(Pod, { ...pod, metadata: { ...metadata, creationTimestamp: '2026-02-01T00:00:00Z' } })
    // Only a label: no volume goes with it.
    const { metadata: labelled } = podWith('first', uuid)
    api.put(Pod, { metadata: { ...labelled, creationTimestamp: '2026-01-01T00:00:00Z' }, spec: { volumes: [] } })
    api.put(Pod, podWith('a', uuid))
    put({})
    duty.start(signer)
    await answered('a')
    expect(conditionOf('a')?.type).toBe('Issued')
  })

  it('denies the certificate of a sidecar that was released', async () => {
    api.put(Pod, podWith('a', uuid))
    put({})
    fault = new OsmError('OSM_CERT_RELEASED', `certificate ${parseProxyUUID(uuid)} was released`)
    duty.start(signer)
    await answered('a')
    expect(conditionOf('a')).toMatchObject({ type: 'Denied', reason: 'SidecarReleased' })
  })

  it('leaves requests without an answer while nothing can be issued or written, and answers them later', async () => {
    api.put(Pod, podWith('a', uuid))
    put({})
    fault = new OsmError('OSM_CERT_ISSUE', 'the CA is away')
    duty.start(signer)
    await duty.until(() => lines.some((line) => line.includes('cannot be answered yet')))
    expect(conditionOf('a')).toBeUndefined()
    fault = undefined
    const patch = 'patch podcertificaterequests'
    api.faults.set(patch, new KubernetesError('OSM_KUBERNETES_INVALID', 'notBefore is not near', { status: 422 }))
    await duty.until(() => api.calls.includes(patch))
    expect(conditionOf('a')).toBeUndefined()
    api.faults.clear()
    await answered('a')
    expect(conditionOf('a')?.type).toBe('Issued')
  })

  it('goes on when a pod is deleted while its certificate is signed', async () => {
    api.put(Pod, podWith('a', uuid))
    put({})
    fault = new OsmError('OSM_CERT_ISSUE', 'not yet')
    duty.start(signer)
    await duty.until(() => most > 0)
    api.drop(PodCertificateRequest, { namespace: 'shop', name: 'request-a' })
    fault = undefined
    api.put(Pod, podWith('b', other))
    api.put(PodCertificateRequest, podRequest('b'))
    await answered('b')
    expect(conditionOf('b')?.type).toBe('Issued')
  })

  it('answers two hundred requests that come at once, a few at a time', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `n${index}`)
    for (const [index, name] of names.entries()) {
      api.put(Pod, podWith(name, `5f0f5b43-6a92-4f4b-9d0e-${index.toString(16).padStart(12, '0')}`))
      api.put(PodCertificateRequest, podRequest(name))
    }
    duty.start(signer)
    await duty.until(() => names.every((name) => conditionOf(name) !== undefined))
    expect(new Set(names.map((name) => conditionOf(name)?.type))).toEqual(new Set(['Issued']))
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(8)
  })

  it('signs another key of the same pod, whose node has lost the first with its memory', async () => {
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    api.put(Pod, podWith('a', uuid))
    put({})
    duty.start(signer)
    await answered('a')
    api.drop(PodCertificateRequest, { namespace: 'shop', name: 'request-a' })
    put({ key })
    await answered('a')
    const { certificateChain = '' } = statusOf('a') ?? {}
    expect(new X509Certificate(certificateChain).publicKey.equals(key.publicKey)).toBe(true)
  })

  it('tells that the API server serves no such requests, and follows it to another version', async () => {
    api.documents.clear()
    api.put(Pod, podWith('a', uuid))
    put({})
    duty.start(signer)
    await duty.until(() => signer.problems().length > 0)
    expect(signer.problems()).toEqual([
      expect.objectContaining({
        code: 'OSM_CONTROLLER_POD_CERTIFICATES',
        severity: 'error',
        object: { kind: 'MeshConfig', namespace: 'osm-system', name: 'osm-mesh-config' },
      }),
    ])
    expect(conditionOf('a')).toBeUndefined()
    serve('v1beta1')
    await answered('a')
    expect(signer.problems()).toEqual([])
    serve('v1')
    const version = (): boolean =>
      lines.some((line) => line.includes('signing PodCertificateRequests') && line.includes('"version":"v1"'))
    await duty.until(version)
  })
})
