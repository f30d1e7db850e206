import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createLogger,
  DASHBOARD_CERTIFICATE_PATH,
  dashboardPages,
  defaultCertificateSettings,
  generateKeyPairFor,
  issuanceLog,
  MemoryCaStore,
  MeshCertificateManager,
  Metrics,
  systemClock,
  TresorProvider,
  writeKeyRequest,
} from '@osm-ts/core'
import { listen, pagesLimits } from '@osm-ts/program'

import { domains, silent } from '../../test/controller-fixture.js'
import { jsonPage } from '../debug-server.js'
import { PagesAccess } from './pages-access.js'
import { pagesServer } from './pages-server.js'

const account = 'system:serviceaccount:osm-system:osm-dashboard'
const audience = 'osm-controller-pages.test'
const dashboardNames = ['osm-dashboard.osm-system.svc']
/** What the API server says of tokens. */
const reviews: Readonly<Record<string, object>> = {
  own: { authenticated: true, audiences: [audience], user: { username: account } },
  'of-another-account': { authenticated: true, audiences: [audience], user: { username: `${account}-2` } },
  'without-audience': { authenticated: true, user: { username: account } },
}

describe('the server that osm-dashboard reads', () => {
  let end: AbortController
  let provider: TresorProvider
  let port: number
  let time: number
  let reviewed: unknown[]
  let lines: string[]
  const ends: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    end = new AbortController()
    time = 0
    reviewed = []
    lines = []
    const logger = createLogger('test', 'info', { write: (line) => void lines.push(line) })
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const certificates = new MeshCertificateManager({
      provider,
      issuanceLog: issuanceLog(logger),
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal: end.signal,
    })
    const page = async ({ path, query }: { readonly path: string; readonly query: object }) => jsonPage({ path, query })
    const { app, follow } = await pagesServer({
      access: new PagesAccess({
        api: {
          post: async (_path, body) => {
            reviewed.push(body)
            const { token } = (body as { readonly spec: { readonly token: string } }).spec
            return { status: reviews[token] ?? { authenticated: false } }
          },
        },
        meshName: 'test',
        osmNamespace: 'osm-system',
        serviceAccount: 'osm-dashboard',
        monotonic: () => time,
      }),
      pages: () => new Map(['/debug/config', ...dashboardPages].map((path) => [path, page])),
      loop: { run: (_what, work) => work() },
      certificates,
      domains,
      dashboardNames,
      logger,
      now: () => Date.now(),
    })
    const following = follow(end.signal)
    const options = { name: 'pages', limits: pagesLimits, metrics: new Metrics(), logger: silent() }
    port = await listen(app, { host: '127.0.0.1', port: 0 }, options)
    ends.push(async () => Promise.all([following, app.close()]))
  })

  afterEach(async () => {
    end.abort()
    for (const stop of ends.splice(0)) await stop()
    provider.close()
  })

  const ask = (path: string, token?: string, body?: object) =>
    new Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }>((resolve, reject) => {
      const headers = {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      }
      const options = {
        method: body === undefined ? 'GET' : 'POST',
        agent: false,
        ca: [...provider.trustBundle('control-plane')],
        servername: 'osm-pages.cluster.local',
        headers,
      }
      request(`https://127.0.0.1:${port}${path}`, options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as never }))
      })
        .once('error', reject)
        .end(body && JSON.stringify(body))
    })

  it('shows its pages to a token of the account of osm-dashboard, and no other page', async () => {
    await expect(ask('/debug/policy?uuid=x', 'own')).resolves.toEqual({
      status: 200,
      body: { path: '/debug/policy', query: { uuid: 'x' } },
    })
    await expect(ask('/debug/config', 'own')).resolves.toMatchObject({ status: 404 })
    expect(reviewed).toEqual([expect.objectContaining({ spec: { token: 'own', audiences: [audience] } })])
  })

  it.each([undefined, 'nonsense', 'of-another-account', 'without-audience'])(
    'shows nothing to the token %s, and signs nothing for it',
    async (token) => {
      await expect(ask('/debug/status', token)).resolves.toMatchObject({ status: 401 })
      const csr = writeKeyRequest(await generateKeyPairFor({ algorithm: 'ECDSA' }))
      await expect(ask(DASHBOARD_CERTIFICATE_PATH, token, { csr })).resolves.toMatchObject({ status: 401 })
      expect(lines.join()).not.toContain('osm-dashboard.cluster.local')
    },
  )

  it('reviews a token again after a minute', async () => {
    for (const at of [0, 59_000, 61_000]) {
      time = at
      await ask('/debug/status', 'own')
    }
    expect(reviewed).toHaveLength(2)
  })

  it('reviews a few tokens of one address, and then none until later, but the one that it knows', async () => {
    await ask('/debug/status', 'own')
    const statuses: number[] = []
    for (let n = 0; n < 12; n += 1) statuses.push((await ask('/debug/status', `guess-${n}`)).status)
    expect(statuses.filter((status) => status === 429)).toHaveLength(3)
    expect(reviewed).toHaveLength(10)
    await expect(ask('/debug/status', 'own')).resolves.toMatchObject({ status: 200 })
  })

  it('signs a certificate of the page for a proven key, and tells no key', async () => {
    const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
    const { status, body } = await ask(DASHBOARD_CERTIFICATE_PATH, 'own', { csr: writeKeyRequest(pair) })
    expect(status).toBe(200)
    const certificate = new X509Certificate(String(body.chain))
    expect(certificate.publicKey.export({ type: 'spki', format: 'der' })).toEqual(Buffer.from(pair.publicKey))
    expect(certificate.subjectAltName).toBe('DNS:osm-dashboard.cluster.local, DNS:osm-dashboard.osm-system.svc')
    expect(JSON.stringify(body)).not.toContain('PRIVATE KEY')
    const audit = lines.find((line) => line.includes('certificate issued') && line.includes('osm-dashboard.'))
    expect(JSON.parse(audit ?? '{}')).toMatchObject({ askedBy: 'dashboard', keyHolder: 'dashboard' })
    await expect(ask(DASHBOARD_CERTIFICATE_PATH, 'own', { csr: 'none' })).resolves.toMatchObject({ status: 400 })
  })
})
