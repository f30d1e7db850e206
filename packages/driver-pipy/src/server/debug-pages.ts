import type { DebugHandlers, DebugRequest, DebugResponse } from '@osm-ts/driver-api'
import { listPage, type Steps } from '@osm-ts/driver-api/toolkit'

import type { RepoServer } from './repo-server.js'
import type { WorkerSession } from './worker-session.js'

/**
 * Debug pages of the driver: `/debug/pipy` lists the workers of this replica; `?uuid=` shows one, `&cfg` what it should do, `&identity=`
 * tells apart proxies of one uuid, `?namespace=` shows those of a namespace. Documents are shown as they are
 * without the certificate of the worker: keys are on no page. The list is bounded and made in turns.
 */
export class DebugPages {
  readonly #server: Pick<RepoServer, 'sessions'>
  readonly #signal: AbortSignal

  /** @param signal - ends the making of pages */
  constructor(server: Pick<RepoServer, 'sessions'>, signal: AbortSignal) {
    this.#server = server
    this.#signal = signal
  }

  register(handlers: DebugHandlers): void {
    handlers.register('/debug/pipy', async (request) => this.#workers(request))
  }

  async #workers({ query }: DebugRequest): Promise<DebugResponse> {
    const { uuid, identity, namespace, cfg } = query
    const sessions = [...this.#server.sessions].filter(
      ({ proxy }) =>
        (uuid === undefined || proxy.uuid === uuid) &&
        (identity === undefined || proxy.identity === identity) &&
        (namespace === undefined || proxy.namespace === namespace),
    )
    if (uuid !== undefined && sessions.length === 0) return json(404, { error: `no worker ${uuid} is connected here` })
    if (cfg === undefined) {
      const filters = ['namespace', 'uuid', 'identity']
      return listPage({ items: sessions, noun: 'workers', describe, query, filters, signal: this.#signal })
    }
    const [session, another] = sessions
    if (uuid === undefined || session === undefined) return json(400, { error: 'cfg needs the uuid of a proxy' })
    if (another !== undefined)
      return json(400, { error: `cfg needs the identity too: ${uuid} is the uuid of several proxies` })
    const document = session.plainDocument()
    return json(200, {
      ...session.describe(),
      document: document === undefined ? null : (JSON.parse(document.body) as unknown),
    })
  }
}

function* describe(session: WorkerSession): Steps<unknown> {
  yield
  return session.describe()
}

function json(status: number, value: unknown): DebugResponse {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value, undefined, 2)}\n` }
}
