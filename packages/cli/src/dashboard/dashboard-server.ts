import { randomBytes, timingSafeEqual } from 'node:crypto'

import { errorMessage, onAbort } from '@osm-ts/driver-api/toolkit'
import { pageServer, requireOwnHost } from '@osm-ts/program'

import { cliError } from '../errors.js'
import { addDashboardRoutes, type DashboardContent, refusal, securityHeaders } from './dashboard-routes.js'

/** What is served, and where. */
export interface DashboardOptions extends DashboardContent {
  /** Of the loopback interface; 0 lets the system choose. */
  readonly port: number
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
export async function serveDashboard({ port, ...content }: DashboardOptions): Promise<Dashboard> {
  const { signal } = content
  const token = randomBytes(24).toString('base64url')
  const app = pageServer()
  requireOwnHost(app, [])
  app.addHook('onRequest', async ({ url }, reply) => {
    reply.headers(securityHeaders)
    return isSame(url.split('/')[1] ?? '', token) ? undefined : reply.code(404).send(refusal('not found'))
  })
  app.get('/:token', async (_request, reply) => reply.redirect(`/${token}/`))
  const running = addDashboardRoutes(app, { ...content, base: '/:token' })
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
  const closed = new Promise<void>((resolve) => void onAbort(signal, resolve)).then(async () => {
    await Promise.all([running, app.close()])
  })
  return { url: `http://127.0.0.1:${boundPort}/${token}/`, closed }
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)]
  return one.length === other.length && timingSafeEqual(one, other)
}
