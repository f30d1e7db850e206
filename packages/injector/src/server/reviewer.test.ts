import { beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger, Metrics } from '@osm-ts/core'
import type { AdmissionAnswer } from '@osm-ts/program'
import { OsmError } from '@osm-ts/driver-api'

import { annotated, namespaceOf, podOf, portsOf, settingsOf } from '../../test/fixture.js'
import type { NamespaceFacts } from '../inject/settings.js'
import type { JsonObject } from '../json/json.js'
import { PodReviewer, type ReviewerOptions } from './reviewer.js'

describe('PodReviewer and an informer that is behind', () => {
  const injection = 'openservicemesh.io/sidecar-injection'
  const { signal } = new AbortController()
  const labels = namespaceOf().labels
  const enabled = namespaceOf()
  const notEnabled = namespaceOf({ annotations: {} })
  const notReady = new OsmError('OSM_INJECT_NOT_READY', 'namespace shop cannot be read')
  let reads = 0

  beforeEach(() => {
    reads = 0
  })

  async function review(
    known: NamespaceFacts | undefined,
    stored: NamespaceFacts | Error,
    pod: JsonObject = podOf(),
  ): Promise<AdmissionAnswer> {
    const ports = await portsOf()
    const reviewer = new PodReviewer({
      state: {
        settings: () => settingsOf(),
        knownNamespace: () => known,
        readNamespace: async () => {
          reads += 1
          if (stored instanceof Error) throw stored
          return stored
        },
      },
      certificates: {
        // Called for proxies only.
        issueCertificate: (subject: Parameters<typeof ports.issue>[0]) => ports.issue(subject, signal),
      } as unknown as ReviewerOptions['certificates'],
      secrets: { store: () => Promise.resolve(), reusableUuid: () => Promise.resolve(undefined) },
      podCertificates: { assertServed: () => Promise.resolve() },
      logger: createLogger('test', 'disabled', { write: () => undefined }),
      metrics: new Metrics(),
    })
    const request = {
      uid: 'u',
      operation: 'CREATE',
      namespace: 'shop',
      name: 'books',
      kind: 'v1/Pod',
      subResource: '',
      dryRun: false,
      object: pod,
      oldObject: undefined,
    }
    return reviewer.review(request, 10_000)
  }

  const behind: readonly (readonly [string, NamespaceFacts | undefined])[] = [
    ['has not seen the namespace', undefined],
    ['has not seen it join', namespaceOf({ labels: {} })],
    ['knows it as one to ignore', namespaceOf({ labels: { ...labels, 'openservicemesh.io/ignore': 'true' } })],
    ['knows it as a control plane', namespaceOf({ labels: { ...labels, 'control-plane': '' } })],
    ['has not seen injection enabled', notEnabled],
    ['knows injection as disabled', namespaceOf({ annotations: { [injection]: 'disabled' } })],
  ]

  it.each(behind)('injects by what is stored where it %s', async (_what, known) => {
    const answer = await review(known, enabled)
    expect(answer).toMatchObject({ allowed: true, operations: expect.arrayContaining([expect.anything()]) })
    expect(reads).toBe(1)
  })

  it.each(behind)('refuses for now where it %s and no one can tell', async (_what, known) => {
    await expect(review(known, notReady)).resolves.toMatchObject({
      allowed: false,
      code: 503,
      message: 'namespace shop cannot be read [OSM_INJECT_NOT_READY]',
    })
    expect(reads).toBe(1)
  })

  it('skips what is stored that way, and asks once', async () => {
    for (const known of [undefined, notEnabled]) {
      reads = 0
      await expect(review(known, notEnabled)).resolves.toEqual({ allowed: true, warnings: [] })
      expect(reads).toBe(1)
    }
  })

  it.each<[string, NamespaceFacts, JsonObject]>([
    ['a pod says so', enabled, annotated({ [injection]: 'disabled' })],
    ['a pod can have no sidecar', enabled, podOf({}, { spec: { hostNetwork: true } })],
    ['a namespace never joins', namespaceOf({ name: 'kube-system' }), podOf()],
  ])('asks no one where %s', async (_what, known, pod) => {
    await expect(review(known, notReady, pod)).resolves.toEqual({ allowed: true, warnings: [] })
    expect(reads).toBe(0)
  })

  it('asks no one before a pod is injected', async () => {
    await expect(review(enabled, notReady)).resolves.toMatchObject({ allowed: true, operations: expect.any(Array) })
    expect(reads).toBe(0)
  })
})
