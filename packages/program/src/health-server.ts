import type { FastifyInstance } from 'fastify'
import type { DriverState, SpiffeBundleDocument } from '@osm-ts/core'

import { isOwnHost, MISDIRECTED, misdirected } from './own-host.js'
import { pageServer, refuseElsewhere } from './page-server.js'

/** What the health server answers from. */
export interface HealthSources {
  readonly alive: () => Promise<boolean>
  readonly ready: () => Promise<boolean>
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>
  readonly version: VersionInfo
  /** SMI kinds and the versions that are read; absent for a program that reads none. */
  readonly smiVersions?: Readonly<Record<string, string>>
  /** Roots of workloads in SPIFFE's format, undefined until they are known; absent for a program that does not tell them. */
  readonly trustBundle?: () => SpiffeBundleDocument | undefined
  /** Drivers that the program has, or should have, for `/debug/drivers`; absent where a debug server has that page. */
  readonly drivers?: () => readonly DriverState[]
}

/** What `/version` answers. */
export interface VersionInfo {
  readonly version: string
  readonly git_commit: string
  readonly build_date: string
}

/** Health, version and metrics, as OSM's port 9091 has them. The debug page answers to loopback only, which includes port-forwarding. */
export function healthServer(sources: HealthSources): FastifyInstance {
  // The Go command lines of OSM and osm-edge join a base that ends in a slash with these paths: //health/alive.
  const app = pageServer({ ignoreDuplicateSlashes: true })
  app.get('/health/alive', async (_request, reply) =>
    (await sources.alive()) ? reply.send('Service is alive') : reply.code(503).send('Service is not alive'),
  )
  app.get('/health/ready', async (_request, reply) =>
    (await sources.ready()) ? reply.send('Service is ready') : reply.code(503).send('Service is not ready'),
  )
  app.get('/healthz', async (_request, reply) => reply.send('Health OK'))
  app.get('/metrics', async (_request, reply) => {
    const { contentType, body } = await sources.metrics()
    return reply.type(contentType).send(body)
  })
  app.get('/version', async (_request, reply) => reply.send(sources.version))
  const { smiVersions, trustBundle, drivers } = sources
  if (smiVersions !== undefined) app.get('/smi/version', async (_request, reply) => reply.send(smiVersions))
  if (trustBundle !== undefined)
    app.get('/spiffe/bundle', async (_request, reply) => {
      const document = trustBundle()
      if (document === undefined) return reply.code(503).send({ error: 'the roots are not known yet' })
      return reply.header('cache-control', `max-age=${document.spiffe_refresh_hint}`).send(document)
    })
  if (drivers !== undefined)
    app.get('/debug/drivers', async (request, reply) => {
      if (!isOwnHost(request, new Set())) return reply.code(MISDIRECTED).send({ error: misdirected })
      return refuseElsewhere(request, reply) ?? reply.header('cache-control', 'no-store').send({ drivers: drivers() })
    })
  return app
}
