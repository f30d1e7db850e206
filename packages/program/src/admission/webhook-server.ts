import type { Socket } from 'node:net'
import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:https'

import { isOsmError } from '@osm-ts/driver-api'
import { sourceOf } from '@osm-ts/driver-api/toolkit'
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import {
  FairSemaphore,
  FairTurns,
  type Metrics,
  parseDuration,
  type ProcessLogger,
  type Steps,
  WorkGivenUp,
} from '@osm-ts/core'

import { requestTimeouts } from '../server-limits.js'
import {
  type AdmissionAnswer,
  type AdmissionRequest,
  readAdmissionReviewInSteps,
  writeAdmissionReview,
} from './admission-review.js'
import { BodyReader, type ReadBody } from './body-reader.js'
import type { AdmissionErrorCode } from '../error-codes.js'
import { RequestLimiter } from './request-limiter.js'
import type { ServingKey } from './serving-certificate.js'

/** What a webhook serves with. */
export interface WebhookServerOptions {
  readonly path: string
  /** Kinds that it is asked about; reviews of any other are counted under `other`. */
  readonly kinds: readonly string[]
  /** Answers within the time given, in milliseconds. */
  readonly review: (request: AdmissionRequest, reviewTimeoutMs: number, work: ReviewWork) => Promise<AdmissionAnswer>
  readonly key: ServingKey
  /** PEM. Present: anyone who calls has to show a certificate of this CA. */
  readonly clientCa?: string | undefined
  /** Bytes of a request at most. */
  readonly bodyLimit: number
  /** How long the API server waits where it does not say so itself. */
  readonly timeoutMs: number
  readonly logger: ProcessLogger
  readonly metrics: Metrics
}

/** Does work of a review in turns with that of the other reviews, within its bounds. */
export type ReviewWork = <T>(steps: Steps<T>) => Promise<T>

/** A server of a webhook. */
export interface WebhookServer {
  readonly app: FastifyInstance<Server>
  /** New connections get another certificate; those that are open stay. */
  readonly replaceKey: (key: ServingKey) => void
}

/** The API server waits no longer for any webhook. */
const MAX_REQUEST_MS = 30_000
/** Share of the API server's timeout that is used; the rest is for the way back. */
const TIMEOUT_SHARE = 0.9
/** The API server closes connections that were idle for 90 s. Were it done here, a request could cross the end of its connection. */
const KEEP_ALIVE_MS = 120_000
const minVersion = 'TLSv1.3'
/**
 * Requests under way. An API server requests as many objects as are written at a time; most have some kilobytes. Large ones wait for their turn, of which
 * there are about twenty a second when an attacker is at work.
 */
const REQUEST_LIMITS = {
  inAll: { requests: 256, large: 96 },
  perPeer: { requests: 128, large: 24 },
} as const
/** Milliseconds between two lines of the log about requests that are refused. */
const BUSY_LOG_MS = 60_000
/** Milliseconds of work on reviews before the event loop has its turn. */
const TURN_MS = 5
/** Milliseconds of work on one review: a hundred times what a large object takes. */
const MAX_WORK_MS = 1_000
/** Bytes of a request that is read as soon as it comes. A parsed review takes up to thirty times the memory of its text: larger ones wait for each other. */
const SMALL_BYTES = 64 * 1024
/** Milliseconds after which others no longer wait for a large request: its sender may be slow, and so may what its review asks. */
const LARGE_HOLD_MS = 1_000
const OTHER = 'other'
const noBody: ReadBody = { bytes: new Uint8Array(), giveBack: () => undefined }
const BAD_REVIEW: AdmissionErrorCode = 'OSM_ADMISSION_REVIEW'

/** Serves a webhook: `POST <path>` over TLS 1.3. */
export function webhookServer(options: WebhookServerOptions): WebhookServer {
  const { path, kinds, review, key, clientCa, bodyLimit, timeoutMs, logger, metrics } = options
  const responses = metrics.counter('osm_admission_webhook_response_total', 'Reviews answered', ['kind', 'success'])
  // Anyone who reaches the port says which kind it is: what it says is not a label unless it is known.
  const known: ReadonlySet<string> = new Set(kinds)
  const labelOf = (kind: string): string => {
    const last = kind.slice(kind.lastIndexOf('/') + 1)
    return known.has(last) ? last : OTHER
  }
  const app = fastify({
    https: {
      ...key,
      ...requestTimeouts,
      minVersion,
      ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true }),
    },
    logger: false,
    bodyLimit,
    requestTimeout: MAX_REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })
  endAtOnce(app)
  limitRequests(app, options)
  const turns = new FairTurns({ turnMs: TURN_MS })
  measureAnswers(app, metrics)
  app.removeAllContentTypeParsers()
  const bodies = new BodyReader(bodyLimit)
  app.addContentTypeParser('application/json', (request: RequestHead, payload: IncomingMessage) =>
    bodies.read(payload, announcedBytes(request)),
  )
  app.post<{ Body: ReadBody | undefined }>(path, async (request, reply) => {
    const body = request.body ?? noBody
    const reviewTimeoutMs = reviewTimeout(request.query, timeoutMs)
    const start = performance.now()
    const work: ReviewWork = (steps) =>
      turns.run(steps, { workMs: MAX_WORK_MS, timeoutMs: reviewTimeoutMs - (performance.now() - start) })
    // Its memory may be that of another body as soon as no one reads it any more, whatever its sender does meanwhile.
    const asked = await work(readAdmissionReviewInSteps(body.bytes)).finally(body.giveBack)
    const answer = await review(asked, reviewTimeoutMs, work).catch(unlessGivenUp)
    responses.inc({ kind: labelOf(asked.kind), success: String(answer.allowed) })
    return reply.type('application/json').send(writeAdmissionReview(asked.uid, answer))
  })
  app.setErrorHandler(async (error: Error & { readonly statusCode?: number }, request, reply) => {
    const isBad = isOsmError(error, BAD_REVIEW)
    const status = isBad ? 400 : error instanceof WorkGivenUp ? 503 : (error.statusCode ?? 500)
    const code = isBad ? BAD_REVIEW : ''
    responses.inc({ kind: '', success: 'false' })
    logger.warn({ code, status, url: request.url, reason: error.message }, 'a review was not answered')
    // The rest of a body that is too large is not read.
    if (status === 413) reply.header('connection', 'close')
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

/** A review that would keep others waiting is answered: the API server would wait for it in vain. */
function unlessGivenUp(error: unknown): AdmissionAnswer {
  if (!(error instanceof WorkGivenUp)) throw error
  const code: AdmissionErrorCode = 'OSM_ADMISSION_WORK'
  const warnings: readonly string[] = []
  if (error.because === 'work') {
    const message = `the object takes more than ${MAX_WORK_MS} ms to review: divide it into smaller ones [${code}]`
    return { allowed: false, code: 422, reason: 'Invalid', message, warnings }
  }
  const message = `there are too many reviews to answer this one in time; try again [${code}]`
  return { allowed: false, code: 503, reason: 'ServiceUnavailable', message, warnings }
}

/** Answers at once what is beyond the limits, before its body is read: anyone who reaches the port can send as much as they like. */
function limitRequests(
  app: FastifyInstance<Server>,
  { metrics, logger, bodyLimit }: Pick<WebhookServerOptions, 'metrics' | 'logger' | 'bodyLimit'>,
): void {
  const limiter = new RequestLimiter(REQUEST_LIMITS)
  const refused = metrics.counter(
    'osm_admission_webhook_busy_total',
    'Requests refused because of the limit of concurrent requests',
    ['limit'],
  )
  let loggedAt = -Infinity
  const large = new FairSemaphore({ permits: 1, holdMs: LARGE_HOLD_MS })
  app.addHook('onRequest', async (request, reply) => {
    const isLarge = (announcedBytes(request) ?? bodyLimit) > SMALL_BYTES
    const source = sourceOf(request.socket.remoteAddress ?? '')
    const taken = limiter.take(source, isLarge)
    if (typeof taken === 'function') {
      // Also of a connection that breaks.
      reply.raw.once('close', taken)
      if (!isLarge) return undefined
      // Its body waits where it is: in buffers of the network.
      const release = await large.acquire(source)
      if (reply.raw.destroyed) release()
      else reply.raw.once('close', release)
      return undefined
    }
    refused.inc({ limit: taken })
    const code: AdmissionErrorCode = 'OSM_ADMISSION_BUSY'
    // Anyone who floods the port must not flood the log.
    if (performance.now() - loggedAt >= BUSY_LOG_MS) {
      loggedAt = performance.now()
      logger.warn({ code, limit: taken }, 'requests are refused: too many are under way')
    }
    const error =
      taken === 'peer' ? 'too many requests of one address are under way' : 'too many requests are under way'
    // Its body is not read.
    if (isLarge) reply.header('connection', 'close')
    return reply.code(429).header('retry-after', '1').send({ code, error })
  })
}

type RequestHead = Pick<FastifyRequest, 'headers'>

/** Length of a body, if its sender says so. */
function announcedBytes({ headers }: RequestHead): number | undefined {
  const announced = Number(headers['content-length'])
  return Number.isSafeInteger(announced) && announced >= 0 ? announced : undefined
}

/** OSM's metrics of its web servers. */
function measureAnswers(app: FastifyInstance<Server>, metrics: Metrics): void {
  const labels = ['code', 'method', 'path'] as const
  const answered = metrics.counter('osm_http_response_total', 'Responses of the webhook', labels)
  const durations = metrics.histogram(
    'osm_http_response_duration',
    'Time to respond to a request of the webhook with status 200, in seconds',
    labels,
    [0.005, 0.025, 0.1, 0.5, 1, 5, 20],
  )
  app.addHook('onResponse', async ({ routeOptions, method }, reply) => {
    const code = String(reply.statusCode)
    // Anybody who reaches the port chooses method and path: what no one serves is one, whatever it is.
    const { url } = routeOptions
    const answer = url === undefined ? { code, method: OTHER, path: OTHER } : { code, method, path: url }
    answered.inc(answer)
    if (code === '200') durations.observe(answer, reply.elapsedTime / 1000)
  })
}

/** The API server says how long it waits, as `?timeout=10s`. */
function reviewTimeout(query: unknown, defaultMs: number): number {
  const { timeout } = query as { readonly timeout?: unknown } // fastify parses every query into an object
  const said = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  const whole = said === undefined || said <= 0 ? defaultMs : Math.min(said, defaultMs)
  return Math.ceil(whole * TIMEOUT_SHARE)
}

/**
 * Has a server end when it has answered what it was asked, and not wait for connections that clients keep.
 *
 * Those that are idle Node ends by itself. It does not end one on which nothing has been asked yet, such as an API server opens ahead of need, before its
 * head is overdue, up to 90 s; and one that is answered meanwhile stays for as long as idle connections do.
 */
function endAtOnce(app: FastifyInstance<Server>): void {
  const unasked = new Map<string, Socket>()
  let ends = false
  // Below TLS, so that those count whose handshake is not done.
  app.server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    unasked.set(key, socket)
    socket.once('close', () => {
      if (unasked.get(key) === socket) unasked.delete(key)
    })
  })
  app.server.on('request', ({ socket }: IncomingMessage) => unasked.delete(keyOf(socket)))
  app.addHook('preClose', async () => {
    ends = true
    for (const socket of unasked.values()) socket.destroy()
  })
  app.addHook('onSend', async (_request, reply) => {
    if (ends) reply.header('connection', 'close')
  })
}

/** The same for a connection and for TLS on top of it. */
function keyOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
