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
