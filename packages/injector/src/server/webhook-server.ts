import type { Server } from 'node:https'

import { parseDuration, type Metrics, type ProcessLogger } from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'
import { fastify, type FastifyInstance } from 'fastify'

import { readAdmissionReview, writeAdmissionReview } from './admission-review.js'
import type { PodReviewer } from './reviewer.js'

/** A chain and its key, both PEM. */
export interface ServingKey {
  readonly cert: string
  /** Secret. */
  readonly key: string
}

/** What the webhook serves with. */
export interface WebhookServerOptions {
  readonly reviewer: Pick<PodReviewer, 'review'>
  readonly key: ServingKey
  /** How long the API server waits where it does not say so itself. */
  readonly timeoutMs: number
  readonly logger: ProcessLogger
  readonly metrics: Metrics
}

/** A server of the webhook. */
export interface WebhookServer {
  readonly app: FastifyInstance<Server>
  /** New connections get another certificate; those that are open stay. */
  readonly replaceKey: (key: ServingKey) => void
}

/** Path of the webhook, as OSM has it. */
const WEBHOOK_PATH = '/mutate-pod-creation'
/** Twice what the API server stores of an object at most. */
const BODY_LIMIT = 3 * 1024 * 1024
/** Share of the API server's patience that is used; the rest is for the way back. */
const PATIENCE_SHARE = 0.9
/** The API server closes connections that were idle for 90 s. Were it done here, a request could cross the end of its connection. */
const KEEP_ALIVE_MS = 120_000
const minVersion = 'TLSv1.3'

/** The mutating webhook: `POST /mutate-pod-creation` over TLS 1.3. */
export function webhookServer({ reviewer, key, timeoutMs, logger, metrics }: WebhookServerOptions): WebhookServer {
  const responses = metrics.counter('osm_admission_webhook_response_total', 'Reviews that were answered', [
    'kind',
    'success',
  ])
  const app = fastify({
    https: { ...key, minVersion },
    logger: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: 30_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body)
  })
  app.post(WEBHOOK_PATH, async (request, reply) => {
    const review = readAdmissionReview(typeof request.body === 'string' ? request.body : '')
    const answer = await reviewer.review(review, patience(request.query, timeoutMs))
    responses.inc({ kind: 'Pod', success: String(answer.allowed) })
    return reply.type('application/json').send(writeAdmissionReview(review.uid, answer))
  })
  app.setErrorHandler(async (error: Error & { readonly statusCode?: number }, request, reply) => {
    const status = isOsmError(error) ? 400 : (error.statusCode ?? 500)
    const code = isOsmError(error) ? error.code : ''
    responses.inc({ kind: '', success: 'false' })
    logger.warn({ code, status, url: request.url, reason: error.message }, 'a review was not answered')
    // What went wrong inside is for the log.
    return reply.code(status).send({ code, error: status < 500 ? error.message : 'internal error' })
  })
  return {
    app,
    replaceKey: (next) => {
      app.server.setSecureContext({ ...next, minVersion })
    },
  }
}

/** The API server says how long it waits, as `?timeout=10s`. */
function patience(query: unknown, defaultMs: number): number {
  const { timeout } = query as { readonly timeout?: unknown } // fastify parses every query into an object
  const said = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  const whole = said === undefined || said <= 0 ? defaultMs : Math.min(said, defaultMs)
  return Math.ceil(whole * PATIENCE_SHARE)
}
