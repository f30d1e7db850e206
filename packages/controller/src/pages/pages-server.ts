import {
  type CertificateManager,
  type ControlPlaneSubject,
  DASHBOARD_CERTIFICATE_PATH,
  dashboardPages,
  isPlainObject,
  type LoopWatch,
  type MeshDomains,
  PAGES_SERVER_NAME,
  type ProcessLogger,
} from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'
import { errorMessage, sourceOf } from '@osm-ts/driver-api/toolkit'

import { type ControlPlaneServer, controlPlaneServer } from '../control-plane-server.js'
import { type DebugPage, flatQuery } from '../debug-server.js'
import { provenKey } from '../proven-key.js'
import type { PagesAccess } from './pages-access.js'

/** What the server of pages serves with. */
export interface PagesServerOptions {
  readonly access: Pick<PagesAccess, 'check'>
  readonly pages: () => ReadonlyMap<string, DebugPage>
  readonly loop: Pick<LoopWatch, 'run'>
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  /** DNS names of osm-dashboard, whose certificates are signed here. */
  readonly dashboardNames: readonly string[]
  readonly logger: ProcessLogger
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Bytes of a request at most: one with the largest key has 2 kB. */
const BODY_LIMIT = 8 * 1024
/** osm-dashboard asks for another certificate at half of this. */
const CERTIFICATE_MS = 24 * 3_600_000

/** Serves the pages of {@link dashboardPages} to osm-dashboard over TLS 1.3, and signs its certificate. The key of that stays where it is. */
export async function pagesServer(options: PagesServerOptions): Promise<Pick<ControlPlaneServer, 'app' | 'follow'>> {
  const { access, pages, loop, certificates, domains, dashboardNames, logger, now } = options
  const subject: ControlPlaneSubject = {
    kind: 'control-plane',
    name: PAGES_SERVER_NAME,
    dnsNames: [],
    ipAddresses: [],
  }
  // The client is known by its token.
  const server = { certificates, domains, subject, rejectUnauthorized: false, bodyLimit: BODY_LIMIT, now }
  const { app, follow } = await controlPlaneServer(server)
  app.addHook('onRequest', async ({ headers, socket }, reply) => {
    const source = sourceOf(socket.remoteAddress ?? '')
    const verdict = await access.check(headers.authorization, source)
    if (verdict === 'permitted') return undefined
    if (verdict === 'busy') return reply.code(429).header('retry-after', '5').send({ error: 'too many tokens arrive' })
    logger.warn({ audit: 'pages', source }, 'a reader of pages was refused')
    return reply.code(401).send({ error: 'expected a token of the service account of osm-dashboard' })
  })
  for (const path of dashboardPages)
    app.get(path, async ({ query }, reply) => {
      const page = pages().get(path)
      if (page === undefined) return reply.code(404).send({ error: `there is no page ${path}` })
      const answer = await loop.run('debug page', () => page({ path, query: flatQuery(query) }))
      return reply.code(answer.status).type(answer.contentType).header('cache-control', 'no-store').send(answer.body)
    })
  app.post(DASHBOARD_CERTIFICATE_PATH, async ({ body }) => {
    const csr = isPlainObject(body) && typeof body.csr === 'string' ? body.csr : ''
    const holder = { id: 'osm-dashboard', commonName: '', place: 'dashboard', publicKey: provenKey(csr) } as const
    const wanted = {
      kind: 'control-plane',
      name: 'osm-dashboard',
      dnsNames: dashboardNames,
      ipAddresses: [],
      holder,
    } as const
    const { chain } = await certificates.issueCertificate(wanted, { keep: false, validityMs: CERTIFICATE_MS })
    return { chain }
  })
  app.setErrorHandler(async (error: Error & { readonly statusCode?: number }, _request, reply) => {
    const isKey = isOsmError(error) && ['OSM_MACHINE_KEY', 'OSM_PROXY_KEY'].includes(error.code)
    const status = isKey ? 400 : (error.statusCode ?? 500)
    if (status >= 500) logger.warn({ reason: errorMessage(error) }, 'osm-dashboard was not answered')
    return reply.code(status).send({ error: status < 500 ? error.message : 'internal error' })
  })
  return { app, follow }
}
