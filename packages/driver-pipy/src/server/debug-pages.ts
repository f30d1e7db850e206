import type { DebugHandlers, DebugRequest, DebugResponse } from '@osm-ts/driver-api'

import type { RepoServer } from './repo-server.js'

/**
 * Debug pages of the driver: `/debug/pipy` lists the workers of this replica; `?uuid=` shows one, `&cfg` what it should do, `&identity=`
 * tells apart proxies of one uuid. Documents are shown as they are
 * without the certificate of the worker: keys are on no page.
 */
export class DebugPages {
  readonly #server: Pick<RepoServer, 'sessions'>

  constructor(server: Pick<RepoServer, 'sessions'>) {
    this.#server = server
  }

  register(handlers: DebugHandlers): void {
    handlers.register('/debug/pipy', async (request) => this.#workers(request))
  }

  #workers({ query: { uuid, identity, cfg } }: DebugRequest): DebugResponse {
    const sessions = [...this.#server.sessions].filter(
      ({ proxy }) =>
        (uuid === undefined || proxy.uuid === uuid) && (identity === undefined || proxy.identity === identity),
    )
    if (uuid !== undefined && sessions.length === 0) return json(404, { error: `no worker ${uuid} is connected here` })
    if (cfg === undefined)
      return json(
        200,
        sessions.map((session) => session.describe()),
      )
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

function json(status: number, value: unknown): DebugResponse {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value, undefined, 2)}\n` }
}
