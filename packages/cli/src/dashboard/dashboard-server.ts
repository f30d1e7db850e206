import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

import { isOsmError } from '@osm-ts/driver-api'
import type { Refusal, Sections, WhatIfQuestion, WhyQuestion } from '@osm-ts/dashboard'
import { errorMessage, onAbort } from '@osm-ts/driver-api/toolkit'
import { pageServer, requireOwnHost } from '@osm-ts/program'
import { CommanderError } from 'commander'

import { cliError } from '../errors.js'
import { isPlainRecord } from '../state/json.js'
import { answerWhatIf, answerWhy } from './mesh-questions.js'
import { MeshWatch, type SectionTexts, type WatchedMesh } from './mesh-watch.js'
import type { PageFile } from './page-files.js'
import { QuestionQueue } from './question-queue.js'

/** Pages that may be open at once. */
const MAX_PAGES = 16
/** Largest change that is compared, in bytes. */
const MAX_QUESTION_BYTES = 1024 * 1024
/** A silent connection is closed; this keeps those of pages open. */
const HEARTBEAT_MS = 4000

/**
 * Scripts and styles come from this server alone, and nothing on the page runs that a name or message of the mesh contains. No other page may frame this one,
 * and no address of it is passed on, since it holds the token.
 */
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** What is served. */
export interface DashboardOptions {
  readonly watched: WatchedMesh
  readonly files: ReadonlyMap<string, PageFile>
  /** Of the loopback interface; 0 lets the system choose. */
  readonly port: number
  readonly signal: AbortSignal
}

/** A page that is served. */
export interface Dashboard {
  /** With the token that stands for permission. */
  readonly url: string
  /** Resolves when the signal has ended everything. */
  readonly closed: Promise<void>
}

/**
 * Serves the dashboard on the loopback interface. All addresses below a random token; other users of the machine do not know it, and pages of other hosts that
 * resolve to this address are refused by their `Host`.
 *
 * @throws OsmError `OSM_CLI_DASHBOARD_PORT` if the port is in use
 */
export async function serveDashboard({ watched, files, port, signal }: DashboardOptions): Promise<Dashboard> {
  const token = randomBytes(24).toString('base64url')
  const watch = new MeshWatch(watched)
  const questions = new QuestionQueue()
  const app = pageServer()
  requireOwnHost(app, [])
  app.addHook('onRequest', async ({ url }, reply) => {
    reply.headers(securityHeaders)
    return isSame(url.split('/')[1] ?? '', token) ? undefined : reply.code(404).send(refusal('not found'))
  })
  app.setErrorHandler(async (error, _request, reply) => {
    return reply.code(statusOf(error)).send(refusal(errorMessage(error)))
  })

  app.get('/:token', async (_request, reply) => reply.redirect(`/${token}/`))
  app.get('/:token/*', async ({ params }, reply) => {
    const { '*': name = '' } = params as Readonly<Record<string, string>>
    const found = files.get(name === '' ? 'index.html' : name)
    return found === undefined ? reply.code(404).send(refusal('not found')) : reply.type(found.type).send(found.content)
  })

  app.get('/:token/api/events', async (request, reply) => {
    if (watch.readers >= MAX_PAGES)
      return reply.code(503).send(refusal(`${MAX_PAGES} pages are open; close one of them`))
    reply.hijack()
    const ending = new AbortController()
    const stop = onAbort(signal, () => ending.abort())
    request.raw.once('close', () => ending.abort())
    await sendSections(reply.raw, watch, ending.signal).finally(stop)
    return reply
  })
  app.get('/:token/api/policy', async ({ query }) => {
    const { uuid = '', identity = '' } = query as Readonly<Record<string, string>>
    return watched.policy({ uuid, identity })
  })
  app.post('/:token/api/why', { bodyLimit: MAX_QUESTION_BYTES }, async ({ body }) => {
    const question = whyQuestion(body)
    return orRefusal(questions.ask(() => answerWhy(watched, question)))
  })
  app.post('/:token/api/what-if', { bodyLimit: MAX_QUESTION_BYTES }, async ({ body }) => {
    const question = whatIfQuestion(body)
    return orRefusal(questions.ask(() => answerWhatIf(watched, question)))
  })

  try {
    await app.listen({ host: '127.0.0.1', port })
  } catch (error) {
    throw cliError(
      'OSM_CLI_DASHBOARD_PORT',
      `the dashboard cannot be served on port ${port}: ${errorMessage(error)}`,
      'choose another port with --local-port; 0 lets the system choose',
      error,
    )
  }
  const [bound] = app.addresses()
  const boundPort = typeof bound === 'object' ? bound.port : port
  const running = watch.run(signal)
  const closed = new Promise<void>((resolve) => void onAbort(signal, resolve)).then(async () => {
    await Promise.all([running, app.close()])
  })
  return { url: `http://127.0.0.1:${boundPort}/${token}/`, closed }
}

/** Sends what has changed since it was sent last. A reader that does not keep up gets the newest state when it has read. */
async function sendSections(response: ServerResponse, watch: MeshWatch, signal: AbortSignal): Promise<void> {
  response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' })
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': \n\n')
  }, HEARTBEAT_MS)
  const sent = new Map<keyof Sections, string>()
  try {
    for await (const sections of watch.read(signal)) {
      if (!response.write(changedEvents(sections, sent))) await once(response, 'drain', { signal })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    clearInterval(heartbeat)
    response.end()
  }
}

function changedEvents(sections: SectionTexts, sent: Map<keyof Sections, string>): string {
  const changed = [...sections].filter(([name, text]) => sent.get(name) !== text)
  for (const [name, text] of changed) sent.set(name, text)
  return changed.map(([name, text]) => `event: ${name}\ndata: ${text}\n\n`).join('')
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** A question without an answer is answered with the reason: the request itself is in order. */
async function orRefusal<T>(asking: Promise<T>): Promise<T | Refusal> {
  return asking.catch((error: unknown) => {
    if (isOsmError(error) || error instanceof CommanderError) return refusal(error.message)
    throw error
  })
}

function statusOf(error: unknown): number {
  if (isOsmError(error, 'OSM_CLI_USAGE')) return 400
  // What fastify refuses itself has a status.
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : 500
}

function refusal(error: string): Refusal {
  return { error }
}

function whyQuestion(body: unknown): WhyQuestion {
  const text = (name: keyof WhyQuestion): string => textOf(body, name)
  return { from: text('from'), to: text('to'), method: text('method'), path: text('path'), headers: text('headers') }
}

function whatIfQuestion(body: unknown): WhatIfQuestion {
  const remove = isPlainRecord(body) ? body['remove'] : undefined
  if (!Array.isArray(remove) || !remove.every((name) => typeof name === 'string'))
    throw cliError('OSM_CLI_USAGE', 'remove: must be a list of texts', 'send {"yaml": "…", "remove": []}')
  return { yaml: textOf(body, 'yaml'), remove }
}

function textOf(body: unknown, name: string): string {
  const value = isPlainRecord(body) ? body[name] : undefined
  if (typeof value === 'string') return value
  throw cliError('OSM_CLI_USAGE', `${name}: must be a text`, 'send all members of the question')
}
