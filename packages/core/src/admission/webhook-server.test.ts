import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { createLogger } from '../observability/logger.js'
import { Metrics } from '../observability/metrics.js'
import { type WebhookServer, webhookServer } from './webhook-server.js'

describe('a webhook', () => {
  let metrics: Metrics
  let server: WebhookServer

  beforeEach(() => {
    metrics = new Metrics()
    server = webhookServer({
      path: '/review',
      kinds: ['Pod', 'Retry'],
      review: () => Promise.resolve({ allowed: true, warnings: [] }),
      // Requests are handed in below TLS.
      key: { cert: '', key: '' },
      bodyLimit: 4 << 20,
      timeoutMs: 1_000,
      logger: createLogger('test', 'disabled', { write: () => undefined }),
      metrics,
    })
  })

  afterEach(() => server.app.close())

  async function post(group: string, kind: string): Promise<number> {
    const request = { uid: 'u-1', kind: { group, version: 'v1', kind } }
    const payload = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
    const headers = { 'content-type': 'application/json' }
    return (await server.app.inject({ method: 'POST', url: '/review', headers, payload })).statusCode
  }

  async function counted(): Promise<readonly string[]> {
    const { body } = await metrics.render()
    return body.split('\n').filter((line) => line.startsWith('osm_admission_webhook_response_total{'))
  }

  it('counts by the kinds that it is asked about, and everything else as one', async () => {
    for (const [group, kind] of [
      ['', 'Pod'],
      ['policy.openservicemesh.io', 'Retry'],
      ['', 'Secret'],
      ['Pod', 'Podling'],
      ['', 'constructor'],
      ['', ''],
    ] as const)
      expect(await post(group, kind)).toBe(200)
    expect(await counted()).toEqual([
      'osm_admission_webhook_response_total{kind="Pod",success="true"} 1',
      'osm_admission_webhook_response_total{kind="Retry",success="true"} 1',
      'osm_admission_webhook_response_total{kind="other",success="true"} 4',
    ])
  })

  it('keeps nothing of what a stranger sends for a kind', async () => {
    for (let sent = 0; sent < 300; sent += 1) expect(await post('', `Kind${sent}`)).toBe(200)
    expect(await post('', 'x'.repeat(1 << 20))).toBe(400)
    expect(await counted()).toEqual([
      'osm_admission_webhook_response_total{kind="other",success="true"} 300',
      'osm_admission_webhook_response_total{kind="",success="false"} 1',
    ])
  })

  it("measures answers as OSM's web servers do, with one path for all that nobody serves", async () => {
    await post('', 'Pod')
    await server.app.inject({ method: 'GET', url: '/a' })
    await server.app.inject({ method: 'PUT', url: '/b' })
    const { body } = await metrics.render()
    expect(body).toMatch(/^osm_http_response_total\{code="200",method="POST",path="\/[\w-]+"\} 1$/m)
    expect(body).toContain('osm_http_response_total{code="404",method="other",path="other"} 2')
    expect(body).toMatch(/^osm_http_response_duration_count\{code="200",method="POST",path="\/[\w-]+"\} 1$/m)
    expect(body).not.toMatch(/^osm_http_response_duration_count\{code="404"/m)
  })
})
