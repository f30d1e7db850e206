import type { DebugRequest, DebugResponse } from '@osm-ts/driver-api'
import { type FastifyInstance, fastify } from 'fastify'

/** A page of the debug server. */
export type DebugPage = (request: DebugRequest) => Promise<DebugResponse>

/** What the health server answers from. */
export interface HealthSources {
  readonly alive: () => Promise<boolean>
  readonly ready: () => Promise<boolean>
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>
  readonly version: { readonly version: string; readonly git_commit: string; readonly build_date: string }
  /** SMI kinds and the versions that are read. */
  readonly smiVersions: Readonly<Record<string, string>>
}

/** Largest request body that either server reads; neither has a use for one. */
const BODY_LIMIT = 1024

function server(): FastifyInstance {
  return fastify({ logger: false, bodyLimit: BODY_LIMIT, requestTimeout: 10_000, connectionTimeout: 10_000 })
}

/** Health, version and metrics, as OSM's port 9091 has them. */
export function healthServer(sources: HealthSources): FastifyInstance {
  const app = server()
  app.get('/health/alive', async (_request, reply) =>
    (await sources.alive()) ? reply.send('Service is alive') : reply.code(503).send('Service is not alive'),
  )
  app.get('/health/ready', async (_request, reply) =>
    (await sources.ready()) ? reply.send('Service is ready') : reply.code(503).send('Service is not ready'),
  )
  app.get('/metrics', async (_request, reply) => {
    const { contentType, body } = await sources.metrics()
    return reply.type(contentType).send(body)
  })
  app.get('/version', async (_request, reply) => reply.send(sources.version))
  app.get('/smi/version', async (_request, reply) => reply.send(sources.smiVersions))
  return app
}

/**
 * The debug server. Its index is for everyone; the other pages answer to loopback only, which includes port-forwarding.
 *
 * @param pages - looked up anew for each request, as drivers add theirs while they start
 */
export function debugServer(pages: () => ReadonlyMap<string, DebugPage>): FastifyInstance {
  const app = server()
  app.get('/debug', async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(`${[...pages().keys()].sort().join('\n')}\n`),
  )
  app.get('/debug/*', async (request, reply) => {
    if (!isLoopback(request.socket.remoteAddress))
      return reply.code(403).send({ error: 'debug pages answer on loopback only; use a port-forward' })
    const path = request.url.split('?', 1)[0] ?? request.url
    const page = pages().get(path)
    if (page === undefined) return reply.code(404).send({ error: `no debug page ${path}; see /debug` })
    const { status, contentType, body } = await page({ path, query: flat(request.query) })
    return reply.code(status).type(contentType).header('cache-control', 'no-store').send(body)
  })
  return app
}

/** A JSON answer of a debug page. */
export function jsonPage(value: unknown, status = 200): DebugResponse {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` }
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || (address?.startsWith('127.') ?? false) || (address?.startsWith('::ffff:127.') ?? false)
}

/** Repeated parameters count once, the first time. */
function flat(query: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries((query ?? {}) as Readonly<Record<string, string | readonly string[]>>)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value : (value[0] ?? '')]),
  )
}
