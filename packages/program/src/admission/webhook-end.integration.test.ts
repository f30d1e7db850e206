import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { connect } from 'node:tls'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger, Metrics } from '@osm-ts/core'

import { ads, TresorFixture } from '../../../core/test/certificates/tresor-fixture.js'
import type { AdmissionAnswer } from './admission-review.js'
import { type WebhookServer, webhookServer } from './webhook-server.js'

const body = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u-1', kind: { group: '', version: 'v1', kind: 'Pod' } },
})

describe('a webhook that ends', () => {
  let server: WebhookServer
  let reviewing: Promise<void>
  let answer: (answer: AdmissionAnswer) => void
  let ca: string

  beforeEach(async () => {
    const roots = await TresorFixture.open()
    const certificate = await roots.issue(ads)
    ca = roots.provider.rootCertificate('control-plane').chain
    const given = new Promise<AdmissionAnswer>((resolve) => (answer = resolve))
    let begin = (): void => undefined
    reviewing = new Promise((resolve) => (begin = resolve))
    server = webhookServer({
      path: '/review',
      kinds: ['Pod'],
      review: () => {
        begin()
        return given
      },
      key: { cert: certificate.chain, key: certificate.privateKey() },
      bodyLimit: 1 << 20,
      timeoutMs: 10_000,
      logger: createLogger('test', 'disabled', { write: () => undefined }),
      metrics: new Metrics(),
    })
    await server.app.listen({ host: '127.0.0.1', port: 0 })
  })

  afterEach(() => server.app.close())

  const target = () => ({ host: '127.0.0.1', port: (server.app.server.address() as AddressInfo).port })

  it('waits for no one who has asked nothing, and answers who has', async () => {
    const silent = connect({ ...target(), ca, servername: 'localhost', checkServerIdentity: () => undefined })
    await once(silent, 'secureConnect')
    // Node waits two minutes for a handshake.
    const wordless = connectTcp(target())
    await once(wordless, 'connect')
    // As the API server does: the connection stays for the next one.
    const agent = new Agent({ keepAlive: true })
    const headers = { 'content-type': 'application/json' }
    const asking = request({
      ...target(),
      ca,
      checkServerIdentity: () => undefined,
      method: 'POST',
      path: '/review',
      headers,
      agent,
    })
    const response = once(asking, 'response')
    asking.end(body)
    await reviewing

    const ends = [silent, wordless].map(async (socket) => {
      socket.on('error', () => undefined).resume()
      await once(socket, 'close')
    })
    const closed = server.app.close()
    await Promise.all(ends)
    answer({ allowed: true, warnings: [] })
    const [{ statusCode }] = (await response) as [{ readonly statusCode?: number }]
    expect(statusCode).toBe(200)
    await closed
  })
})
