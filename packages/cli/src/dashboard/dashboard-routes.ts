import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { isOsmError } from '@osm-ts/driver-api'
import type { Refusal, Sections, WhatIfQuestion, WhyQuestion } from '@osm-ts/dashboard'
import { errorMessage, isRecord, onAbort } from '@osm-ts/driver-api/toolkit'
import type { PageRequest, Pages } from '@osm-ts/program'
import { CommanderError } from 'commander'

import { cliError } from '../errors.js'
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
/** How often it is checked that the reader of an open page is still permitted. */
const RECHECK_MS = 60_000

/**
 * Scripts and styles come from this server alone, and nothing on the page runs that a name or message of the mesh contains. No other page may frame this one,
 * and no address of it is passed on, since it may hold a token.
 */
export const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** What is served. */
export interface DashboardContent {
  readonly watched: WatchedMesh
  readonly files: ReadonlyMap<string, PageFile>
  readonly signal: AbortSignal
}

/** Where the routes are, and who may use them. */
interface DashboardRoutes extends DashboardContent {
  /** Of all paths: empty, or a segment such as `/:token`. */
  readonly base: string
  /** Asked again while a page is open; absent where a reader who was permitted remains so. */
  readonly isPermitted?: (request: PageRequest) => Promise<boolean>
}

/**
 * Adds the page and its questions to a server, which has decided before who may ask.
 *
 * @returns resolves when nothing is watched any more after the signal
 */
export function addDashboardRoutes(
  app: Pages,
  { base, watched, files, signal, isPermitted }: DashboardRoutes,
): Promise<void> {
  const watch = new MeshWatch(watched)
  const questions = new QuestionQueue()
  app.setErrorHandler(async (error, _request, reply) => {
    return reply.code(statusOf(error)).send(refusal(errorMessage(error)))
  })
  app.get(`${base}/*`, async ({ params }, reply) => {
    const { '*': name = '' } = params as Readonly<Record<string, string>>
    const found = files.get(name === '' ? 'index.html' : name)
    return found === undefined ? reply.code(404).send(refusal('not found')) : reply.type(found.type).send(found.content)
  })
  app.get(`${base}/api/events`, async (request, reply) => {
    if (watch.readers >= MAX_PAGES)
      return reply.code(503).send(refusal(`${MAX_PAGES} pages are open; close one of them`))
    reply.hijack()
    const ending = new AbortController()
    const stop = onAbort(signal, () => ending.abort())
    request.raw.once('close', () => ending.abort())
    const rechecking = isPermitted && endWhenRefused(() => isPermitted(request), ending)
    await sendSections(reply.raw, watch, ending.signal).finally(stop)
    ending.abort()
    await rechecking
    return reply
  })
  app.get(`${base}/api/policy`, async ({ query }) => {
    const { uuid = '', identity = '' } = query as Readonly<Record<string, string>>
    return watched.policy({ uuid, identity })
  })
  app.post(`${base}/api/why`, { bodyLimit: MAX_QUESTION_BYTES }, async ({ body }) => {
    const question = whyQuestion(body)
    return orRefusal(questions.ask(() => answerWhy(watched, question)))
  })
  app.post(`${base}/api/what-if`, { bodyLimit: MAX_QUESTION_BYTES }, async ({ body }) => {
    const question = whatIfQuestion(body)
    return orRefusal(questions.ask(() => answerWhatIf(watched, question)))
  })
  return watch.run(signal)
}

/** Ends a page whose reader is not permitted any more. Never rejects. */
async function endWhenRefused(isPermitted: () => Promise<boolean>, ending: AbortController): Promise<void> {
  const { signal } = ending
  const isOver = (): boolean => signal.aborted
  while (!isOver()) {
    // Rejects when the signal aborts.
    await sleep(RECHECK_MS, undefined, { signal }).catch(() => undefined)
    if (!isOver() && !(await isPermitted().catch(() => false))) ending.abort()
  }
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

/** An answer that says why there is none. */
export function refusal(error: string): Refusal {
  return { error }
}

function whyQuestion(body: unknown): WhyQuestion {
  const text = (name: keyof WhyQuestion): string => textOf(body, name)
  return { from: text('from'), to: text('to'), method: text('method'), path: text('path'), headers: text('headers') }
}

function whatIfQuestion(body: unknown): WhatIfQuestion {
  const remove = isRecord(body) ? body['remove'] : undefined
  if (!Array.isArray(remove) || !remove.every((name) => typeof name === 'string'))
    throw cliError('OSM_CLI_USAGE', 'remove: must be a list of texts', 'send {"yaml": "…", "remove": []}')
  return { yaml: textOf(body, 'yaml'), remove }
}

function textOf(body: unknown, name: string): string {
  const value = isRecord(body) ? body[name] : undefined
  if (typeof value === 'string') return value
  throw cliError('OSM_CLI_USAGE', `${name}: must be a text`, 'send all members of the question')
}
