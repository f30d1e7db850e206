import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'

import { expect, it } from '@jest/globals'
import {
  allKinds,
  certificateNames,
  createLogger,
  issueLeaf,
  MemoryCaStore,
  Metrics,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { listen, webhookLimits } from '@osm-ts/program'

import { MAX_REVIEW_OCTETS, objectWebhook } from './object-webhook.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const servername = 'osm-validator.osm-system.svc'
const OBJECTS = 1000
/** What the webhook may take of the 620 series that a controller may have, two for each kind; the rest is counted where controllers are started. */
const MAX_SERIES = 74

const review = (kind: string, name: string): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u-1',
      kind: { group: 'policy.openservicemesh.io', version: 'v1alpha1', kind },
      operation: 'CREATE',
      namespace: `ns-${name}`,
      name,
      object: { kind },
    },
  })

it('has a bounded number of series, whatever it is asked by whomever', async () => {
  const signal = AbortSignal.timeout(60_000)
  const rootKey = { algorithm: 'ECDSA' } as const
  const provider = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey })
  const subject = { kind: 'control-plane', name: 'osm-validator', dnsNames: [servername], ipAddresses: [] } as const
  const names = certificateNames(subject, domains)
  const leaf = await issueLeaf(provider, { ...names, validityMs: 600_000, key: { algorithm: 'ECDSA' } }, signal)
  const metrics = new Metrics()
  const logger = createLogger('test', 'disabled', { write: () => undefined })
  let asked = 0
  const server = objectWebhook({
    reviewer: {
      // eslint-disable-next-line require-yield -- it takes one step
      *reviewInSteps() {
        return { denials: asked++ % 2 === 0 ? [] : ['no'], warnings: [] }
      },
    },
    key: { cert: leaf.chain, key: leaf.privateKey() },
    metrics,
    logger,
  })
  const port = await listen(
    server.app,
    { host: '127.0.0.1', port: 0 },
    { name: 'webhook', limits: webhookLimits, metrics, logger },
  )
  const ca = provider.trustBundle('control-plane').join('\n')
  const send = async (body: string, more: { method?: string; path?: string; type?: string } = {}): Promise<number> => {
    const { method = 'POST', path = '/validate', type = 'application/json' } = more
    const headers = { 'content-type': type }
    const sent = request({ host: '127.0.0.1', port, path, method, ca, servername, headers })
    sent.on('error', () => undefined).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'close')
    return response.statusCode ?? 0
  }
  try {
    const kinds = allKinds()
    // Twice, so that every kind is admitted and refused.
    for (let index = 0; index < OBJECTS; index += 1)
      await send(review(kinds[Math.floor(index / 2) % kinds.length] ?? '', `name-${String(index)}`))
    for (let index = 0; index < 100; index += 1) await send('', { method: 'GET', path: `/path-${String(index)}` })
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'LOCK', 'SEARCH', 'TRACE'])
      for (const path of ['/validate', '/']) await send('', { method, path })
    for (const kind of ['Pod', 'Invented', 'x'.repeat(500)]) await send(review(kind, 'x'))
    await send('nothing')
    await send('', { type: 'text/plain' })
    await send('x'.repeat(MAX_REVIEW_OCTETS + 1))
    const { body } = await metrics.render()
    const series = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(series.length).toBeLessThanOrEqual(MAX_SERIES)
    expect(series.filter((line) => /name-|path-|Invented|xxx/.test(line))).toEqual([])
  } finally {
    await server.app.close()
    provider.close()
  }
})
