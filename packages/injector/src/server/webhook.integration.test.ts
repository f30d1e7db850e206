import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  certificateNames,
  createLogger,
  issueLeaf,
  MemoryCaStore,
  Metrics,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { KubernetesError, type KubernetesErrorFacts, type KubernetesManifest } from '@osm-ts/kubernetes'
import { readAdmissionReview, type ServingKey, type WebhookServer } from '@osm-ts/program'
import type { ProxyUUID } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

import { namespaceOf, podOf, settingsOf } from '../../test/fixture.js'
import { BootstrapSecrets } from './bootstrap-secrets.js'
import { podWebhook } from './pod-webhook.js'
import { PodReviewer, type ReviewerOptions } from './reviewer.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const unlimited = { spend: () => undefined }

const host = 'osm-injector.osm-system.svc'

/** Of what reviews are measured by: two histograms, reasons, and how requests were answered. */
const MAX_SERIES = 70

interface ReviewResponse {
  readonly uid: string
  readonly allowed: boolean
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly status?: { readonly code: number; readonly message: string }
}

function review(object: object, changes: object = {}): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u-1',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      namespace: 'shop',
      operation: 'CREATE',
      object,
      ...changes,
    },
  }
}

describe('the webhook', () => {
  let provider: TresorProvider
  let server: WebhookServer
  let log: string[]
  let metrics: Metrics
  let stored: KubernetesManifest[]
  let secrets: ReviewerOptions['secrets']

  const signal = new AbortController().signal
  async function issue(): Promise<ServingKey> {
    const subject = { kind: 'control-plane', name: 'osm-injector', dnsNames: [host], ipAddresses: [] } as const
    const names = certificateNames(subject, domains)
    const certificate = await issueLeaf(
      provider,
      { ...names, validityMs: 3_600_000, key: { algorithm: 'ECDSA' } },
      signal,
    )
    return { cert: certificate.chain, key: certificate.privateKey() }
  }

  async function start(changes: Partial<Parameters<typeof settingsOf>[1]> = {}): Promise<void> {
    const logger = createLogger('test', 'info', { write: (line: string) => void log.push(line) })
    const settings = settingsOf({}, changes)
    const certificates: ReviewerOptions['certificates'] = {
      // Called for proxies only.
      issueCertificate: async (subject: Parameters<typeof certificateNames>[0]) =>
        issueLeaf(
          provider,
          { ...certificateNames(subject, domains), validityMs: 3_600_000, key: { algorithm: 'ECDSA' } },
          signal,
        ),
    }
    const state = {
      settings: () => settings,
      knownNamespace: () => namespaceOf(),
      readNamespace: () => Promise.reject(new Error('not asked for')),
    }
    const reviewer = new PodReviewer({
      state,
      certificates,
      secrets,
      podCertificates: { assertServed: () => Promise.resolve() },
      logger,
      metrics,
    })
    server = podWebhook({ reviewer, key: await issue(), timeoutMs: 20_000, logger, metrics })
    await server.app.listen({ host: '127.0.0.1', port: 0 })
  }

  beforeEach(async () => {
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
      authorities: ['control-plane'],
    })
    log = []
    stored = []
    metrics = new Metrics()
    secrets = {
      store: async (secret) => void stored.push(secret),
      reusableUuid: () => Promise.resolve(undefined),
    }
  })

  afterEach(async () => {
    await server.app.close()
  })

  const port = (): number => (server.app.server.address() as AddressInfo).port

  async function post(
    body: string,
    options: RequestOptions = {},
  ): Promise<{ readonly status: number; readonly body: string; readonly json: () => ReviewResponse }> {
    const sent = request({
      host: '127.0.0.1',
      port: port(),
      servername: host,
      ca: provider.trustBundle('control-plane').join(''),
      method: 'POST',
      path: '/mutate-pod-creation?timeout=10s',
      headers: { 'content-type': 'application/json' },
      agent: false,
      ...options,
    })
    // A body that is not read to its end is no concern of the one who sends it.
    sent.on('error', () => undefined).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk as string
    // The log is written after the answer.
    await setImmediate()
    return {
      status: response.statusCode ?? 0,
      body: text,
      json: () => (JSON.parse(text) as { readonly response: ReviewResponse }).response,
    }
  }

  it('patches a pod, stores its Secret first, and says so in one line without a secret in it', async () => {
    await start()
    const answer = (await post(JSON.stringify(review(podOf())))).json()
    expect(answer).toMatchObject({ uid: 'u-1', allowed: true, patchType: 'JSONPatch' })
    const patch = Buffer.from(answer.patch ?? '', 'base64').toString()
    expect(patch).toContain('"path":"/spec/containers/1"')
    expect(stored.map(({ metadata }) => metadata.namespace)).toEqual(['shop'])
    expect(log).toHaveLength(1)
    expect(JSON.parse(log[0] ?? '')).toMatchObject({
      level: 'info',
      namespace: 'shop',
      pod: 'books',
      outcome: 'injected',
      class: 'envoy',
    })
    expect(`${log.join('')}${patch}`).not.toMatch(/PRIVATE|BEGIN/)
    const { body } = await metrics.render()
    expect(body).toContain('osm_injector_decisions_total{outcome="injected",reason="new"} 1')
    expect(body).toContain('osm_admission_webhook_response_total{kind="Pod",success="true"} 1')
  })

  it('skips and refuses with reasons', async () => {
    await start()
    const hostNetwork = review(podOf({}, { spec: { hostNetwork: true } }))
    expect((await post(JSON.stringify(hostNetwork))).json()).toEqual({ uid: 'u-1', allowed: true })
    const refused = (await post(JSON.stringify(review(podOf({ ports: [{ containerPort: 15010 }] }))))).json()
    expect(refused).toMatchObject({
      allowed: false,
      status: {
        code: 422,
        message: expect.stringMatching(
          /container app: ports\[0\].containerPort 15010 is a port of the sidecar.*another port.*\[OSM_INJECT_POD\]/,
        ),
      },
    })
    expect(
      log.map(
        (line) =>
          (JSON.parse(line) as { reason?: string; code?: string }).reason ??
          (JSON.parse(line) as { code?: string }).code,
      ),
    ).toEqual(['host-network', 'OSM_INJECT_POD'])
    expect(stored).toEqual([])
  })

  it('passes warnings on', async () => {
    await start()
    const pod = podOf({ lifecycle: { preStop: { httpGet: { port: 80 } } } })
    expect((await post(JSON.stringify(review(pod)))).json().warnings).toEqual([
      expect.stringContaining('lifecycle.preStop.httpGet'),
    ])
  })

  it('stores nothing in a dry run', async () => {
    await start()
    expect((await post(JSON.stringify(review(podOf(), { dryRun: true })))).json().allowed).toBe(true)
    expect(stored).toEqual([])
  })

  it('lets everything but new pods pass', async () => {
    await start()
    for (const changes of [
      { operation: 'UPDATE' },
      { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } },
      { subResource: 'eviction' },
    ]) {
      const answer = (await post(JSON.stringify(review(podOf(), changes)))).json()
      expect(answer).toMatchObject({ allowed: true, warnings: [expect.stringContaining('pods that are created')] })
      expect(answer).not.toHaveProperty('patch')
    }
  })

  it.each<[string, string, RequestOptions, number, RegExp]>([
    [
      'an older review',
      JSON.stringify({ ...review(podOf()), apiVersion: 'admission.k8s.io/v1beta1' }),
      {},
      400,
      /v1beta1.*admissionReviewVersions: \[v1\]/,
    ],
    ['something else', '{"kind":"Pod"}', {}, 400, /is not an AdmissionReview/],
    ['no JSON', '{"kind":', {}, 400, /is not JSON/],
    ['a review without uid', JSON.stringify(review(podOf(), { uid: '' })), {}, 400, /no request.uid/],
    ['a deep one', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, {}, 400, /nested deeper than 128 levels/],
    ['a large one', JSON.stringify(review(podOf(), { filler: 'x'.repeat(3 << 20) })), {}, 413, /too large/],
    ['another type of content', '{}', { headers: { 'content-type': 'text/plain' } }, 415, /Media Type/],
    ['another path', '{}', { path: '/' }, 404, /not found/i],
    ['another method', '', { method: 'GET' }, 404, /not found/i],
  ])('refuses %s', async (_what, body, options, status, message) => {
    await start()
    const answer = await post(body, options)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatch(message)
  })

  it('refuses in time when something does not answer, and gives the API server room to hear it', async () => {
    secrets = { ...secrets, store: () => new Promise(() => undefined) }
    await start()
    const answer = (await post(JSON.stringify(review(podOf())), { path: '/mutate-pod-creation?timeout=200ms' })).json()
    expect(answer).toMatchObject({
      allowed: false,
      status: { code: 503, message: expect.stringMatching(/within 180 ms.*OSM_INJECT_TIMEOUT/) },
    })
  })

  it('survives a driver that fails in its own way', async () => {
    const driver = { ...createEnvoyDriver(), patch: () => Promise.reject(new TypeError('no such luck')) }
    await start({ drivers: [driver] })
    const answer = (await post(JSON.stringify(review(podOf())))).json()
    expect(answer.status?.message).toMatch(
      /driver envoy failed to produce a sidecar patch: no such luck \[OSM_DRIVER_PATCH\]/,
    )
  })

  it('has a bounded number of series after 1,000 pods and whatever else it is asked', async () => {
    await start()
    for (let index = 0; index < 1000; index += 1) {
      const changes = { namespace: `shop-${String(index)}` }
      const metadata = { metadata: { name: `books-${String(index)}` } }
      const pods = [
        podOf({}, metadata),
        podOf({}, { ...metadata, spec: { hostNetwork: true } }),
        podOf({ name: 'osm-init' }, metadata),
      ]
      await post(JSON.stringify(review(pods[index % pods.length] ?? {}, changes)))
      if (index % 10 === 0) await post('', { method: 'GET', path: `/path-${String(index)}` })
    }
    for (const kind of ['Deployment', 'Invented'])
      await post(JSON.stringify(review({}, { kind: { group: '', version: 'v1', kind } })))
    await post('nothing')
    const { body } = await metrics.render()
    const series = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(series).toContain('osm_injector_decisions_total{outcome="skipped",reason="host-network"} 333')
    expect(series.length).toBeLessThanOrEqual(MAX_SERIES)
    expect(series.filter((line) => /shop|books|path-|Invented/.test(line))).toEqual([])
  })

  it('speaks TLS 1.3 only', async () => {
    await start()
    const socket = connect({ host: '127.0.0.1', port: port(), maxVersion: 'TLSv1.2', rejectUnauthorized: false })
    await expect(once(socket, 'secureConnect')).rejects.toThrow(/alert|version|ECONNRESET/i)
  })

  it('shows new connections another certificate without ending the old ones', async () => {
    await start()
    const serialOf = async (): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port: port(), servername: host, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      const { serialNumber } = socket.getPeerCertificate()
      socket.destroy()
      return serialNumber
    }
    const open = connect({ host: '127.0.0.1', port: port(), servername: host, rejectUnauthorized: false })
    await once(open, 'secureConnect')
    const before = await serialOf()
    server.replaceKey(await issue())
    expect(await serialOf()).not.toBe(before)
    expect((await post(JSON.stringify(review(podOf())))).json().allowed).toBe(true)
    open.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const [answer] = (await once(open, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1.1 404/)
    open.destroy()
  })

  describe('and Secrets', () => {
    const refuse = (
      code: 'OSM_KUBERNETES_FORBIDDEN' | 'OSM_KUBERNETES_UNREACHABLE',
      message: string,
      facts: KubernetesErrorFacts = {},
    ): BootstrapSecrets => {
      const fail = (): Promise<never> => Promise.reject(new KubernetesError(code, message, facts))
      return new BootstrapSecrets({ create: fail, replace: fail, mergePatch: fail } as never, 'osm', unlimited)
    }

    it.each<[string, BootstrapSecrets, RegExp]>([
      [
        'the binding is missing',
        refuse('OSM_KUBERNETES_FORBIDDEN', 'create Secret: 403 Forbidden', { forbiddenBy: 'rbac' }),
        /namespace shop: RoleBinding osm-osm-bootstrap-secrets is missing.*OSM_INJECT_SECRET_FORBIDDEN/,
      ],
      [
        'the namespace ends',
        refuse('OSM_KUBERNETES_FORBIDDEN', 'the namespace is being terminated', { forbiddenBy: 'terminating' }),
        /being terminated \[OSM_INJECT_SECRET\]/,
      ],
      ['the API server is away', refuse('OSM_KUBERNETES_UNREACHABLE', 'no answer'), /no answer \[OSM_INJECT_SECRET\]/],
    ])('refuses for now when %s', async (_what, given, message) => {
      secrets = given
      await start()
      const answer = (await post(JSON.stringify(review(podOf())))).json()
      expect(answer).toMatchObject({ allowed: false, status: { code: 503, message: expect.stringMatching(message) } })
    })

    it('tells a pod that is shown again from a copy', async () => {
      await start()
      const uuid = '0b6fbeee-0a6c-4b36-9d0c-000000000001'
      const secretWith = (metadata: object) =>
        new BootstrapSecrets({ mergePatch: () => Promise.resolve({ metadata }) } as never, 'osm', unlimited)
      const made = { annotations: { 'openservicemesh.io/admission': 'digest' } }
      const again: ProxyUUID | undefined = await secretWith(made).reusableUuid('shop', uuid, 'digest', signal)
      expect(again).toBe(uuid)
      await expect(secretWith(made).reusableUuid('shop', uuid, 'other', signal)).resolves.toBeUndefined()
      await expect(
        secretWith({ ...made, ownerReferences: [{}] }).reusableUuid('shop', uuid, 'digest', signal),
      ).resolves.toBeUndefined()
      await expect(secretWith(made).reusableUuid('shop', '../x', 'digest', signal)).resolves.toBeUndefined()
      await expect(
        refuse('OSM_KUBERNETES_FORBIDDEN', 'no').reusableUuid('shop', uuid, 'digest', signal),
      ).resolves.toBeUndefined()
    })
  })

  it('counts depth outside of texts only', async () => {
    await start()
    const pod = podOf({}, { metadata: { annotations: { deep: '[{"\\"'.repeat(500) } } })
    expect(readAdmissionReview(Buffer.from(JSON.stringify(review(pod)))).object).toEqual(pod)
  })
})
