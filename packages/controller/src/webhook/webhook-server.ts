import type { Server } from 'node:https'

import type { Metrics, ProcessLogger } from '@osm-ts/core'
import { type FastifyInstance, fastify } from 'fastify'

import { admissionResponse, MAX_REVIEW_OCTETS, parseAdmissionReview } from './admission-review.js'
import type { ObjectReviewer } from './object-reviewer.js'

/** What the webhook serves with. */
export interface WebhookServerOptions {
  readonly reviewer: Pick<ObjectReviewer, 'review'>
  readonly credential: ServerKey
  readonly metrics: Metrics
  readonly logger: ProcessLogger
}

/** A certificate chain and its key. */
export interface ServerKey {
  readonly cert: string
  /** Secret. */
  readonly key: string
}

/** A server of the webhook. */
export interface WebhookServer {
  readonly app: FastifyInstance<Server>
  /** Serves new connections with another certificate. */
  readonly replaceCredential: (credential: ServerKey) => void
}

/** The API server waits 30 s at most for any webhook. */
const TIMEOUT_MS = 30_000
const minVersion = 'TLSv1.3'

/** The validating webhook: `POST /validate` over TLS 1.3. */
export function webhookServer({ reviewer, credential, metrics, logger }: WebhookServerOptions): WebhookServer {
  const responses = metrics.counter('osm_admission_webhook_response_total', 'Reviews that were answered', [
    'kind',
    'success',
  ])
  const app = fastify({
    https: { ...credential, minVersion },
    logger: false,
    bodyLimit: MAX_REVIEW_OCTETS,
    requestTimeout: TIMEOUT_MS,
    connectionTimeout: TIMEOUT_MS,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })
  const answered = metrics.counter('osm_http_response_total', 'Answers of the webhook', ['code', 'method', 'path'])
  const durations = metrics.histogram(
    'osm_http_response_duration',
    'Seconds from a request to the webhook to its answer',
    ['code', 'method', 'path'],
    [0.005, 0.025, 0.1, 0.5, 1, 5, 20],
  )
  app.addHook('onResponse', async (request, reply) => {
    // Paths that nobody serves are one, however many there are.
    const path = request.routeOptions.url ?? 'other'
    const labels = { code: String(reply.statusCode), method: request.method, path }
    answered.inc(labels)
    durations.observe(labels, reply.elapsedTime / 1000)
  })
  app.post('/validate', async (request, reply) => {
    // The parser above hands every body over as it came.
    const admission = parseAdmissionReview(request.body instanceof Uint8Array ? request.body : new Uint8Array())
    const verdict = reviewer.review(admission)
    const kind = typeof admission.object?.kind === 'string' ? admission.object.kind : ''
    responses.inc({ kind, success: 'true' })
    if (verdict.denials.length > 0)
      logger.info(
        { kind, namespace: admission.namespace, name: admission.name, reasons: verdict.denials },
        'refused an object',
      )
    return reply.send(admissionResponse(admission.uid, verdict))
  })
  app.setErrorHandler(
    async (error: Error & { readonly statusCode?: number; readonly code?: string }, request, reply) => {
      responses.inc({ kind: '', success: 'false' })
      const isBad = error.code === 'OSM_ADMISSION_REVIEW'
      const status = isBad ? 400 : (error.statusCode ?? 500)
      logger.warn(
        { code: error.code ?? '', status, reason: error.message, url: request.url },
        'a review was not answered',
      )
      // What went wrong inside is for the log.
      return reply.code(status).send({ error: status < 500 ? error.message : 'internal error', code: error.code ?? '' })
    },
  )
  return {
    app,
    replaceCredential: (next) => {
      app.server.setSecureContext({ ...next, minVersion })
    },
  }
}
