import { request } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'

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
import { listen, type ServingKey, webhookLimits, type WebhookServer } from '@osm-ts/program'

import type { AdmissionVerdict } from './object-findings.js'
import { MAX_REVIEW_OCTETS, objectWebhook } from './object-webhook.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const servername = 'osm-validator.osm-system.svc'

interface Response {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

describe('objectWebhook', () => {
  let provider: TresorProvider
  let server: WebhookServer
  let port: number
  let metrics: Metrics
  let verdict: () => AdmissionVerdict

  const issue = async (): Promise<ServingKey> => {
    const subject = { kind: 'control-plane', name: 'osm-validator', dnsNames: [servername], ipAddresses: [] } as const
    const names = certificateNames(subject, domains)
    const signal = AbortSignal.timeout(5000)
    const leaf = await issueLeaf(provider, { ...names, validityMs: 60_000, key: { algorithm: 'ECDSA' } }, signal)
    return { cert: leaf.chain, key: leaf.privateKey() }
  }

  const logger = createLogger('test', 'disabled', { write: () => undefined })

  beforeEach(async () => {
    const rootKey = { algorithm: 'ECDSA' } as const
    provider = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey })
    metrics = new Metrics()
    verdict = () => ({ denials: [], warnings: [] })
    server = objectWebhook({
      reviewer: {
        // eslint-disable-next-line require-yield -- it takes one step
        *reviewInSteps() {
          return verdict()
        },
      },
      key: await issue(),
      metrics,
      logger,
    })
    port = await listen(
      server.app,
      { host: '127.0.0.1', port: 0 },
      { name: 'webhook', limits: webhookLimits, metrics, logger },
    )
  })

  afterEach(async () => {
    await server.app.close()
    provider.close()
  })

  function post(body: string | Buffer, type = 'application/json'): Promise<Response> {
    return new Promise((resolve, reject) => {
      const ca = provider.trustBundle('control-plane').join('\n')
      const options = { host: '127.0.0.1', port, path: '/validate', method: 'POST', ca, servername, agent: false }
      const sent = request({ ...options, headers: { 'content-type': type } }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as Response['body'] })
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** Serial number of the certificate that it shows, and the version of TLS. */
  function handshake(
    maxVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3',
  ): Promise<{ serial: string; version: string | null }> {
    return new Promise((resolve, reject) => {
      const ca = provider.trustBundle('control-plane').join('\n')
      const socket: TLSSocket = connect({ host: '127.0.0.1', port, ca, servername, maxVersion }, () => {
        resolve({ serial: socket.getPeerCertificate().serialNumber, version: socket.getProtocol() })
        socket.destroy()
      })
      socket.on('error', reject)
    })
  }

  const review = (object: unknown, more: object = {}): string =>
    JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: 'u-1',
        kind: { group: 'policy.openservicemesh.io', version: 'v1alpha1', kind: 'Retry' },
        operation: 'CREATE',
        namespace: 'shop',
        name: 'x',
        object,
        ...more,
      },
    })

  it('lets pass, and passes warnings on', async () => {
    verdict = () => ({ denials: [], warnings: ['spec.host: is odd', `long ${'x'.repeat(400)}`, 'with\r\nlines'] })
    const { status, body } = await post(review({ kind: 'Retry' }))
    expect(status).toBe(200)
    const { response } = body as { response: { warnings: string[] } }
    expect(response).toMatchObject({ uid: 'u-1', allowed: true })
    expect(response.warnings.map(({ length }) => length <= 256)).toEqual([true, true, true])
    expect(response.warnings[2]).toBe('with lines')
  })

  it('refuses with everything that is wrong', async () => {
    verdict = () => ({ denials: ['spec.a: is wrong [A]', 'spec.b: is wrong [B]'], warnings: [] })
    const { body } = await post(review({ kind: 'Retry' }))
    expect(body).toMatchObject({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: 'u-1',
        allowed: false,
        status: { code: 422, message: 'spec.a: is wrong [A]; spec.b: is wrong [B]' },
      },
    })
    expect((await metrics.render()).body).toContain(
      'osm_admission_webhook_response_total{kind="Retry",success="false"} 1',
    )
  })

  it.each([
    ['no JSON', 'nothing'],
    ['another kind', '{"kind":"Pod"}'],
    ['another version', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{}}'],
    ['no request', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'],
    ['no uid', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"operation":"CREATE"}}'],
    ['a list for a name', review({}, { name: ['x'] })],
    ['too deep a list', review([]).replace('[]', '['.repeat(100_000) + ']'.repeat(100_000))],
    ['nothing at all', ''],
  ])('answers %s with what is expected instead', async (_what, body) => {
    const answer = await post(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: expect.any(String) })
  })

  it('reads no more than an API server can send', async () => {
    await expect(post(`"${'x'.repeat(MAX_REVIEW_OCTETS)}"`)).resolves.toMatchObject({ status: 413 })
    await expect(post(review({}), 'text/plain')).resolves.toMatchObject({ status: 415 })
  })

  it('keeps its own faults to the log', async () => {
    verdict = () => {
      throw new Error('inner matters')
    }
    const { status, body } = await post(review({}))
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toContain('inner matters')
    expect((await metrics.render()).body).toContain('osm_admission_webhook_response_total{kind="",success="false"} 1')
  })

  it('speaks TLS 1.3 only, before and after its certificate is replaced', async () => {
    const before = await handshake()
    expect(before.version).toBe('TLSv1.3')
    server.replaceKey(await issue())
    const after = await handshake()
    expect(after.version).toBe('TLSv1.3')
    expect(after.serial).not.toBe(before.serial)
    await expect(handshake('TLSv1.2')).rejects.toThrow()
    await expect(post(review({}))).resolves.toMatchObject({ status: 200 })
  })
})
