import { setImmediate as nextTurn } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger, Metrics, type Steps, WorkGivenUp } from '@osm-ts/core'

import { type WebhookServer, webhookServer, type WebhookServerOptions } from './webhook-server.js'

describe('a webhook', () => {
  let metrics: Metrics
  let server: WebhookServer
  let reviewing: WebhookServerOptions['review']

  beforeEach(() => {
    metrics = new Metrics()
    reviewing = () => Promise.resolve({ allowed: true, warnings: [] })
    server = webhookServer({
      path: '/review',
      kinds: ['Pod', 'Retry'],
      review: (...asked) => reviewing(...asked),
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

  it('refuses what one address has too much of under way, and answers others', async () => {
    let answer = (): void => undefined
    const given = new Promise<void>((resolve) => (answer = resolve))
    reviewing = () => given.then(() => ({ allowed: true, warnings: [] }))
    const send = async (remoteAddress: string) => {
      const request = { uid: 'u-1', kind: { group: '', version: 'v1', kind: 'Pod' } }
      const payload = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
      const headers = { 'content-type': 'application/json' }
      return server.app.inject({ method: 'POST', url: '/review', headers, payload, remoteAddress })
    }
    const many = Array.from({ length: 128 }, () => send('10.0.0.1'))
    const refused = await send('10.0.0.1')
    expect([refused.statusCode, refused.headers['retry-after'], refused.json<object>()]).toEqual([
      429,
      '1',
      { code: 'OSM_ADMISSION_BUSY', error: 'too many requests of one address are under way' },
    ])
    const other = send('10.0.0.2')
    answer()
    expect(new Set((await Promise.all([...many, other])).map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    expect((await send('10.0.0.1')).statusCode).toBe(200)
    const { body } = await metrics.render()
    expect(body).toContain('osm_admission_webhook_busy_total{limit="peer"} 1')
  })

  it('reads large reviews one at a time, in fair turns by address, and small ones meanwhile', async () => {
    const begun: string[] = []
    const going: (() => void)[] = []
    reviewing = async ({ uid }) => {
      begun.push(uid)
      if (uid !== 'small') await new Promise<void>((resolve) => going.push(resolve))
      return { allowed: true, warnings: [] }
    }
    const send = async (uid: string, remoteAddress: string, bytes = 100_000): Promise<number> => {
      const request = { uid, kind: { group: '', version: 'v1', kind: 'Pod' }, object: { filler: 'x'.repeat(bytes) } }
      const payload = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
      const headers = { 'content-type': 'application/json' }
      return (await server.app.inject({ method: 'POST', url: '/review', headers, payload, remoteAddress })).statusCode
    }
    const first = send('a1', '10.0.0.1')
    while (begun.length === 0) await nextTurn()
    const others = [send('a2', '10.0.0.1'), send('a3', '10.0.0.1'), send('b1', '10.0.0.2')]
    expect(await send('small', '10.0.0.1', 10)).toBe(200)
    expect(begun).toEqual(['a1', 'small'])
    for (let ended = 0; ended < 4; ended += 1) {
      while (going.length === 0) await nextTurn()
      going.shift()?.()
    }
    expect(await Promise.all([first, ...others])).toEqual([200, 200, 200, 200])
    expect(begun).toEqual(['a1', 'small', 'a2', 'b1', 'a3'])
  })

  it('denies what takes more work than a review may, and says why', async () => {
    const endless = function* (): Steps<never> {
      for (;;) yield
    }
    reviewing = async (_request, _timeoutMs, work) => work(endless())
    const request = { uid: 'u-1', kind: { group: '', version: 'v1', kind: 'Pod' } }
    const payload = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
    const headers = { 'content-type': 'application/json' }
    const ask = (url: string) => server.app.inject({ method: 'POST', url, headers, payload })
    const message = async (url: string) =>
      (await ask(url)).json<{ response: { allowed: boolean; status: { code: number; message: string } } }>().response
    // The time that it has ends before the work that it may take, unless the machine lets no one look in between.
    const { allowed, status } = await message('/review?timeout=30s')
    expect(allowed).toBe(false)
    expect(status.message).toContain('[OSM_ADMISSION_WORK]')
    reviewing = async () => Promise.reject(new WorkGivenUp('work'))
    expect(await message('/review')).toMatchObject({
      allowed: false,
      status: { code: 422, message: expect.stringContaining('divide it into smaller ones [OSM_ADMISSION_WORK]') },
    })
  })

  it('keeps nothing of what a stranger sends for a kind', async () => {
    for (let sent = 0; sent < 300; sent += 1) expect(await post('', `Kind${sent}`)).toBe(200)
    expect(await post('', 'x'.repeat(1 << 20))).toBe(400)
    expect(await counted()).toEqual([
      'osm_admission_webhook_response_total{kind="other",success="true"} 300',
      'osm_admission_webhook_response_total{kind="",success="false"} 1',
    ])
  })

  it("measures answers as OSM's web servers do, with one path for all that no one serves", async () => {
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
