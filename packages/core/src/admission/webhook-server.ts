import type { Server } from 'node:https'

import { isOsmError } from '@osm-ts/driver-api'
import { fastify, type FastifyInstance } from 'fastify'

import { parseDuration } from '../config/duration.js'
import type { Metrics } from '../observability/metrics.js'
import type { ProcessLogger } from '../observability/logger.js'
import {
  type AdmissionAnswer,
  type AdmissionRequest,
  readAdmissionReview,
  writeAdmissionReview,
} from './admission-review.js'
import { endAtOnce } from './end-at-once.js'
import type { AdmissionErrorCode } from './error-codes.js'
import type { ServingKey } from './serving-certificate.js'

/** What a webhook serves with. */
export interface WebhookServerOptions {
  readonly path: string
  /** Kinds that it is asked about; reviews of any other are counted under `other`. */
  readonly kinds: readonly string[]
  /** Answers within the time given, in milliseconds. */
  readonly review: (request: AdmissionRequest, patienceMs: number) => Promise<AdmissionAnswer>
  readonly key: ServingKey
  /** PEM. Present: whoever calls has to show a certificate of this CA. */
  readonly clientCa?: string | undefined
  /** Octets of a request at most. */
  readonly bodyLimit: number
  /** How long the API server waits where it does not say so itself. */
  readonly timeoutMs: number
  readonly logger: ProcessLogger
  readonly metrics: Metrics
}

/** A server of a webhook. */
export interface WebhookServer {
  readonly app: FastifyInstance<Server>
  /** New connections get another certificate; those that are open stay. */
  readonly replaceKey: (key: ServingKey) => void
}

/** The API server waits no longer for any webhook. */
const MAX_REQUEST_MS = 30_000
/** Share of the API server's patience that is used; the rest is for the way back. */
const PATIENCE_SHARE = 0.9
/** The API server closes connections that were idle for 90 s. Were it done here, a request could cross the end of its connection. */
const KEEP_ALIVE_MS = 120_000
const minVersion = 'TLSv1.3'
const OTHER = 'other'
const BAD_REVIEW: AdmissionErrorCode = 'OSM_ADMISSION_REVIEW'

/** Serves a webhook: `POST <path>` over TLS 1.3. */
export function webhookServer(options: WebhookServerOptions): WebhookServer {
  const { path, kinds, review, key, clientCa, bodyLimit, timeoutMs, logger, metrics } = options
  const responses = metrics.counter('osm_admission_webhook_response_total', 'Reviews that were answered', [
    'kind',
    'success',
  ])
  // Whoever reaches the port says which kind it is: what it says is no label unless it is known.
  const known: ReadonlySet<string> = new Set(kinds)
  const labelOf = (kind: string): string => {
    const last = kind.slice(kind.lastIndexOf('/') + 1)
    return known.has(last) ? last : OTHER
  }
  const app = fastify({
    https: { ...key, minVersion, ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true }) },
    logger: false,
    bodyLimit,
    requestTimeout: MAX_REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })
  endAtOnce(app)
  measureAnswers(app, metrics)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })
  app.post(path, async (request, reply) => {
    // The parser above hands every body over as it came.
    const asked = readAdmissionReview(request.body instanceof Uint8Array ? request.body : new Uint8Array())
    const answer = await review(asked, patience(request.query, timeoutMs))
    responses.inc({ kind: labelOf(asked.kind), success: String(answer.allowed) })
    return reply.type('application/json').send(writeAdmissionReview(asked.uid, answer))
  })
  app.setErrorHandler(async (error: Error & { readonly statusCode?: number }, request, reply) => {
    const isBad = isOsmError(error, BAD_REVIEW)
    const status = isBad ? 400 : (error.statusCode ?? 500)
    const code = isBad ? BAD_REVIEW : ''
    responses.inc({ kind: '', success: 'false' })
    logger.warn({ code, status, url: request.url, reason: error.message }, 'a review was not answered')
    // What went wrong inside is for the log.
    return reply.code(status).send({ code, error: status < 500 ? error.message : 'internal error' })
  })
  return {
    app,
    replaceKey: (next) => {
      app.server.setSecureContext({ ...next, minVersion, ...(clientCa === undefined ? {} : { ca: clientCa }) })
    },
  }
}

/** OSM's metrics of its web servers. */
function measureAnswers(app: FastifyInstance<Server>, metrics: Metrics): void {
  const labels = ['code', 'method', 'path'] as const
  const answered = metrics.counter('osm_http_response_total', 'Answers of the webhook', labels)
  const durations = metrics.histogram(
    'osm_http_response_duration',
    'Seconds from a request to the webhook to its answer, of those answered with 200',
    labels,
    [0.005, 0.025, 0.1, 0.5, 1, 5, 20],
  )
  app.addHook('onResponse', async ({ routeOptions, method }, reply) => {
    const code = String(reply.statusCode)
    // Anybody who reaches the port chooses method and path: what nobody serves is one, whatever it is.
    const { url } = routeOptions
    const answer = url === undefined ? { code, method: OTHER, path: OTHER } : { code, method, path: url }
    answered.inc(answer)
    if (code === '200') durations.observe(answer, reply.elapsedTime / 1000)
  })
}

/** The API server says how long it waits, as `?timeout=10s`. */
function patience(query: unknown, defaultMs: number): number {
  const { timeout } = query as { readonly timeout?: unknown } // fastify parses every query into an object
  const said = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  const whole = said === undefined || said <= 0 ? defaultMs : Math.min(said, defaultMs)
  return Math.ceil(whole * PATIENCE_SHARE)
}
