import type { ProcessLogger } from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'
import { isRecord, sourceOf } from '@osm-ts/driver-api/toolkit'
import { type PageRequest, securePageServer, type SecurePages } from '@osm-ts/program'

import { addDashboardRoutes, type DashboardContent, refusal, securityHeaders } from '../dashboard-routes.js'
import { loginNoticeOf, loginPage } from './login-page.js'
import { type PageAccess, type PageVerdict } from './page-access.js'
import type { PageCredential } from './page-credential.js'

/** What the page is served with in a cluster. */
export interface PageServerOptions extends DashboardContent {
  readonly access: Pick<PageAccess, 'check'>
  readonly audience: string
  readonly credential: PageCredential
  readonly logger: ProcessLogger
}

/** A server of the page. */
export interface PageServer {
  readonly app: SecurePages
  /** Takes another certificate; open connections keep theirs. */
  readonly renew: (credential: PageCredential) => void
  /** Resolves when nothing is watched any more after the signal. */
  readonly stopped: Promise<void>
}

/** Of a request that is no question. A token may have 8 kB. */
const BODY_LIMIT = 16 * 1024
/** With its name a browser sends it by TLS and to this host alone, below no other path. */
const COOKIE = '__Host-osm-dashboard'
/** Browsers drop larger cookies. */
const MAX_COOKIE_CHARACTERS = 3_800

const statuses: Readonly<Record<Exclude<PageVerdict, 'permitted'>, readonly [status: number, reason: string]>> = {
  unknown: [401, 'expected a bearer token that the API server accepts for the page'],
  forbidden: [
    403,
    'the account of the token may not see the page: it has to be bound to the Role osm-dashboard-viewer',
  ],
  busy: [429, 'too many tokens arrive; try again in a few seconds'],
}

/**
 * Serves the page over TLS 1.3 to readers whom the API server knows by their bearer token and permits. Browsers get a form that keeps the token in a cookie, which
 * no script can read and no other site can have sent.
 */
export function pageServer({ access, audience, credential, logger, ...content }: PageServerOptions): PageServer {
  const app = securePageServer(credential, BODY_LIMIT)
  const check = async (request: PageRequest, token: string | undefined): Promise<PageVerdict> =>
    token === undefined ? 'unknown' : access.check(token, sourceOf(request.socket.remoteAddress ?? ''))

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders)
    // Another site could have a browser sign in, or ask, in the name of its user.
    if (request.method === 'POST' && !isOwnSite(request))
      return reply.code(403).send(refusal('the request comes from another site'))
    if (isPublic(request)) return undefined
    const verdict = await check(request, bearerOf(request) ?? cookieOf(request))
    if (verdict === 'permitted') return undefined
    if (isNavigation(request)) return reply.code(303).header('location', 'login').send()
    const [status, reason] = statuses[verdict]
    if (verdict !== 'busy')
      logger.info({ audit: 'page', verdict, source: request.socket.remoteAddress }, 'a reader was refused')
    return reply
      .code(status)
      .headers(status === 401 ? { 'www-authenticate': 'Bearer realm="osm dashboard"' } : {})
      .send(refusal(reason))
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  })
  app.get('/login', async ({ query }, reply) => {
    const notice = loginNoticeOf((query as Readonly<Record<string, unknown>>)['notice'])
    return reply.type('text/html; charset=utf-8').send(loginPage(notice, audience))
  })
  app.post('/login', async (request, reply) => {
    const token = isRecord(request.body) ? request.body['token'] : undefined
    const text = typeof token === 'string' ? token.trim() : ''
    const verdict = text.length > MAX_COOKIE_CHARACTERS ? 'unknown' : await check(request, text)
    // By an address of its own, so that a browser does not send the token again when its user loads the form again.
    if (verdict !== 'permitted') return reply.code(303).header('location', `login?notice=${verdict}`).send()
    return reply
      .code(303)
      .header('set-cookie', `${COOKIE}=${text}; ${cookieAttributes}`)
      .header('location', './')
      .send()
  })
  app.post('/logout', async (_request, reply) =>
    reply
      .code(303)
      .header('set-cookie', `${COOKIE}=; Max-Age=0; ${cookieAttributes}`)
      .header('location', 'login')
      .send(),
  )
  const stopped = addDashboardRoutes(app, {
    ...content,
    base: '',
    isPermitted: async (request) => (await check(request, bearerOf(request) ?? cookieOf(request))) === 'permitted',
  })
  app.addHook('onError', async ({ method }, _reply, error) => {
    if (!isOsmError(error, 'OSM_CLI_USAGE')) logger.warn({ method, reason: error.message }, 'a request failed')
  })
  return {
    app,
    renew: (next) => app.server.setSecureContext({ ...next, minVersion: 'TLSv1.3' }),
    stopped,
  }
}

const cookieAttributes = 'Path=/; Secure; HttpOnly; SameSite=Strict'

/** Paths that tell nothing of the mesh. */
function isPublic({ url }: PageRequest): boolean {
  const [path = ''] = url.split('?')
  return ['/login', '/logout', '/page.css', '/icon.svg'].includes(path)
}

/** A browser opens the page, rather than a part of it. */
function isNavigation({ method, url, headers }: PageRequest): boolean {
  return method === 'GET' && url === '/' && headers.authorization === undefined
}

/** Browsers say which site a request comes from. Others are no one's browser, and have no cookie of anyone. */
function isOwnSite({ headers }: PageRequest): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
}

function bearerOf({ headers: { authorization } }: PageRequest): string | undefined {
  if (authorization === undefined) return undefined
  return /^Bearer (.+)$/i.exec(authorization)?.[1] ?? ''
}

function cookieOf({ headers: { cookie = '' } }: PageRequest): string | undefined {
  const prefix = `${COOKIE}=`
  return cookie
    .split('; ')
    .find((pair) => pair.startsWith(prefix))
    ?.slice(prefix.length)
}
