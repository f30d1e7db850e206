import { inTurns, type LoopWatch } from '@osm-ts/core'
import { pageServer, refuseElsewhere, requireOwnHost } from '@osm-ts/program'
import type { DebugRequest, DebugResponse } from '@osm-ts/driver-api'
import { jsonInSteps } from '@osm-ts/driver-api/toolkit'
import type { FastifyInstance } from 'fastify'

/** A page of the debug server. */
export type DebugPage = (request: DebugRequest) => Promise<DebugResponse>

/** A page is data: a browser neither runs what a name or a message in it says, nor guesses another type. */
const dataHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}
const JSON_TYPE = 'application/json; charset=utf-8'
/** Statuses below announce another answer, which would never come. */
const FIRST_FINAL_STATUS = 200

/**
 * The debug server. Its index is for everyone; the other pages answer to loopback only, which includes port-forwarding.
 *
 * @param pages - looked up again for each request, as drivers add theirs while they start
 * @param loop - told of the making of each page; that of a large mesh is a large text
 * @param names - DNS names of the server; it refuses requests under others
 */
export function debugServer(
  pages: () => ReadonlyMap<string, DebugPage>,
  loop: Pick<LoopWatch, 'run'>,
  names: readonly string[],
): FastifyInstance {
  const app = pageServer()
  requireOwnHost(app, names)
  app.get('/debug', async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(`${[...pages().keys()].sort().join('\n')}\n`),
  )
  app.get('/debug/*', async (request, reply) => {
    const refusal = refuseElsewhere(request, reply)
    if (refusal !== undefined) return refusal
    const path = request.url.split('?', 1)[0] ?? request.url
    const page = pages().get(path)
    if (page === undefined) return reply.code(404).send({ error: `no debug page ${path}; see /debug` })
    const { status, contentType, body } = await loop.run('debug page', () =>
      page({ path, query: flatQuery(request.query) }),
    )
    if (status < FIRST_FINAL_STATUS) return reply.code(502).send({ error: `the page answered with status ${status}` })
    return reply.code(status).type(contentType).headers(dataHeaders).send(body)
  })
  return app
}

/** A JSON answer of a debug page whose size does not grow with the mesh. */
export function jsonPage(value: unknown, status = 200): DebugResponse {
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify(value)}\n` }
}

/** A JSON answer whose text is made in turns of the event loop: that of a large mesh is megabytes. `{}` once the signal aborts. */
export async function largeJsonPage(value: unknown, signal: AbortSignal): Promise<DebugResponse> {
  const body = (await inTurns(jsonInSteps(value), signal)) ?? '{}'
  return { status: 200, contentType: JSON_TYPE, body: `${body}\n` }
}

/** A query as pages take it: repeated parameters count once, the first time. */
export function flatQuery(query: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries((query ?? {}) as Readonly<Record<string, string | readonly string[]>>)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value : (value[0] ?? '')]),
  )
}
