import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createLogger,
  defaultCertificateSettings,
  MemoryCaStore,
  MeshCertificateManager,
  Metrics,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { proveKey } from '@osm-ts/kubernetes'
import { dashboardLimits, listen } from '@osm-ts/program'

import type { WatchedMesh } from '../mesh-watch.js'
import { PageAccess } from './page-access.js'
import { type PageCredential, pageCredentials } from './page-credential.js'
import { type PageServer, pageServer } from './page-server.js'

const serverName = 'osm-dashboard.osm-system.svc'
const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const user = { username: 'jane', uid: '7', groups: ['readers'], extra: { scopes: ['all'] } }
const permission = {
  verb: 'get',
  group: 'config.openservicemesh.io',
  resource: 'meshconfigs',
  subresource: 'dashboard',
  namespace: 'osm-system',
  name: 'osm-mesh-config',
}

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

describe('the page in a cluster', () => {
  const abort = new AbortController()
  const logged: string[] = []
  const logger = createLogger('test', 'info', { write: (line) => void logged.push(line) })
  let provider: TresorProvider
  let server: PageServer
  let credential: PageCredential
  let port: number
  let time = 0
  let isAllowed = true
  let posted: unknown[] = []

  const post = async (path: string, body: unknown): Promise<unknown> => {
    posted.push(body)
    if (path.endsWith('/subjectaccessreviews')) return { status: { allowed: isAllowed } }
    const { token } = (body as { readonly spec: { readonly token: string } }).spec
    if (token === 'broken') throw new Error('the API server does not answer')
    if (token === 'of-the-api-server') return { status: { authenticated: true, audiences: ['kubernetes'], user } }
    return { status: token.startsWith('good') ? { authenticated: true, audiences: ['page'], user } : {} }
  }

  beforeAll(async () => {
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const manager = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal: abort.signal,
    })
    let attempts = 0
    const credentials = pageCredentials({
      controllers: {
        roots: async () => provider.trustBundle('control-plane'),
        sign: async (csr) => {
          attempts += 1
          if (attempts === 1) throw new Error('no controller is ready')
          const der = Buffer.from(csr.replace(/-----.*-----|\s/g, ''), 'base64')
          const publicKey = proveKey({ form: 'request', request: der }, '')
          if (!Buffer.isBuffer(publicKey)) throw new Error(publicKey.message)
          const holder = { id: 'page', commonName: '', place: 'dashboard', publicKey } as const
          const subject = {
            kind: 'control-plane',
            name: 'osm-dashboard',
            dnsNames: [serverName],
            ipAddresses: [],
            holder,
          } as const
          return (await manager.issueCertificate(subject, { keep: false })).chain
        },
      },
      clock: systemClock,
      logger,
      signal: abort.signal,
    })
    const first = await credentials.next()
    if (first.done === true) throw new Error('there is no credential')
    credential = first.value
    const watched: WatchedMesh = {
      load: async () => Promise.reject(new Error('not asked')),
      openApi: async () => Promise.reject(new Error('no controller is ready')),
      traffic: async () => [],
      policy: async () => Promise.reject(new Error('secret reason')),
      mesh: { title: 'control plane in namespace osm-system', version: '0' },
      cwd: '/',
      now: () => Date.now(),
    }
    const file = (type: string, text: string) => ({ type, content: Buffer.from(text) })
    server = pageServer({
      watched,
      files: new Map([
        ['index.html', file('text/html', '<p>page</p>')],
        ['page.css', file('text/css', 'p{}')],
      ]),
      access: new PageAccess({ api: { post }, audience: 'page', permission, monotonic: () => time }),
      audience: 'page',
      credential,
      logger,
      signal: abort.signal,
    })
    const options = { name: 'dashboard', limits: dashboardLimits, metrics: new Metrics(), logger }
    port = await listen(server.app, { host: '127.0.0.1', port: 0 }, options)
  })

  afterAll(async () => {
    abort.abort()
    await Promise.all([server.app.close(), server.stopped])
    provider.close()
  })

  beforeEach(() => {
    // Earlier answers of the API server do not count any more.
    time += 60_000
    isAllowed = true
    posted = []
  })

  const ask = (path: string, { method = 'GET', headers = {}, body }: Asked = {}, until?: string) =>
    new Promise<{
      readonly status: number
      readonly headers: Readonly<Record<string, unknown>>
      readonly text: string
    }>((resolve, reject) => {
      const ca = [...provider.trustBundle('control-plane')]
      const options = { method, headers, ca, servername: serverName, agent: false }
      const sent = request(`https://127.0.0.1:${port}${path}`, options, (response) => {
        let text = ''
        const end = (): void => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
          sent.destroy()
        }
        response.setEncoding('utf8').once('end', end)
        response.on('data', (piece: string) => {
          text += piece
          if (until !== undefined && text.includes(until)) end()
        })
      })
      sent.once('error', reject).end(body)
    })
  const bearer = (token: string): Asked => ({ headers: { authorization: `Bearer ${token}` } })
  const cookie = (token: string): Asked => ({ headers: { cookie: `a=b; __Host-osm-dashboard=${token}` } })

  it('has a key that no one else has seen, and tries again until a controller has signed for it', () => {
    expect(credential.key).toContain('PRIVATE KEY')
    expect(new X509Certificate(credential.cert).subjectAltName).toContain(serverName)
    expect(logged.join()).toContain('no controller is ready')
    expect(logged.join()).not.toContain('PRIVATE KEY')
  })

  it('is shown to a bearer whom the API server knows and permits', async () => {
    const { status, text, headers } = await ask('/', bearer('good'))
    expect([status, text]).toEqual([200, '<p>page</p>'])
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(posted).toEqual([
      expect.objectContaining({ kind: 'TokenReview', spec: { token: 'good', audiences: ['page'] } }),
      expect.objectContaining({
        kind: 'SubjectAccessReview',
        spec: {
          user: 'jane',
          uid: '7',
          groups: ['readers'],
          extra: { scopes: ['all'] },
          resourceAttributes: permission,
        },
      }),
    ])
    const events = await ask('/api/events', bearer('good'), 'event: fault')
    expect(events.text).toContain('control plane in namespace osm-system')
    expect(posted).toHaveLength(2)
  })

  it.each(['bad', 'of-the-api-server', 'x'.repeat(9_000), 'two words'])(
    'is not shown for a token such as %.20s',
    async (token) => {
      for (const path of ['/', '/index.html', '/api/events', '/api/policy?uuid=x'])
        await expect(ask(path, bearer(token))).resolves.toMatchObject({
          status: 401,
          headers: { 'www-authenticate': 'Bearer realm="osm dashboard"' },
        })
      await expect(
        ask('/api/why', { method: 'POST', headers: { ...json, authorization: `Bearer ${token}` }, body: '{}' }),
      ).resolves.toMatchObject({ status: 401 })
    },
  )

  it('is not shown without a token, and sends browsers to the form', async () => {
    await expect(ask('/api/events')).resolves.toMatchObject({ status: 401 })
    await expect(ask('/')).resolves.toMatchObject({ status: 303, headers: { location: 'login' }, text: '' })
    const login = await ask('/login')
    expect(login.text).toContain('kubectl create token')
    expect(login.text).toContain('--audience page')
    await expect(ask('/page.css')).resolves.toMatchObject({ status: 200 })
    expect(posted).toEqual([])
  })

  it('is not shown to an account without the right, and not any more once it was withdrawn', async () => {
    isAllowed = false
    const refused = await ask('/api/policy?uuid=x', bearer('good'))
    expect(refused.status).toBe(403)
    expect(refused.text).toContain('Role osm-dashboard-viewer')
    time += 31_000
    isAllowed = true
    await expect(ask('/', bearer('good'))).resolves.toMatchObject({ status: 200 })
    isAllowed = false
    time += 31_000
    await expect(ask('/index.html', bearer('good'))).resolves.toMatchObject({ status: 403 })
  })

  it('keeps the token of the form in a cookie that scripts and other sites cannot use', async () => {
    const good = { method: 'POST', headers: form, body: 'token=good-1' }
    const { status, headers } = await ask('/login', good)
    expect([status, headers.location]).toEqual([303, './'])
    expect(headers['set-cookie']).toEqual(['__Host-osm-dashboard=good-1; Path=/; Secure; HttpOnly; SameSite=Strict'])
    await expect(ask('/index.html', cookie('good-1'))).resolves.toMatchObject({ status: 200 })
    await expect(ask('/index.html', cookie('bad'))).resolves.toMatchObject({ status: 401 })
    const bad = await ask('/login', { ...good, body: 'token=bad<b>' })
    expect(bad).toMatchObject({ status: 303, headers: { location: 'login?notice=unknown' }, text: '' })
    expect(bad.headers['set-cookie']).toBeUndefined()
    const out = await ask('/logout', { method: 'POST', headers: form })
    expect(String(out.headers['set-cookie'])).toContain('Max-Age=0')
  })

  it.each([
    ['unknown', 'does not accept this token'],
    ['forbidden', 'may not see the page'],
    ['busy', 'Try again in a few seconds'],
  ])('says in the form why a token was refused: %s', async (notice, text) => {
    const { status, text: shown } = await ask(`/login?notice=${notice}`)
    expect(status).toBe(200)
    expect(shown).toContain(text)
    expect(shown).toContain('aria-invalid="true"')
  })

  it.each(['<b>', 'toString', '__proto__', 'unknown&notice=busy'])(
    'shows no notice for an address that asks for %s',
    async (notice) => {
      const { status, text } = await ask(`/login?notice=${encodeURIComponent(notice)}`)
      expect([status, text.includes('alert'), text.includes('<b>')]).toEqual([200, false, false])
    },
  )

  it('refuses what another site has a browser send', async () => {
    const headers = { ...form, 'sec-fetch-site': 'cross-site' }
    await expect(ask('/login', { method: 'POST', headers, body: 'token=good' })).resolves.toMatchObject({ status: 403 })
    const question = {
      method: 'POST',
      headers: { ...cookie('good').headers, ...json, 'sec-fetch-site': 'same-site' },
      body: '{}',
    }
    await expect(ask('/api/why', question)).resolves.toMatchObject({ status: 403 })
  })

  it('bounds the reviews that guesses cost', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => (await ask('/index.html', bearer(`guess-${n}`))).status),
    )
    expect(statuses).toContain(429)
    expect(posted.length).toBeLessThanOrEqual(50)
  })

  it('shows nothing while the API server does not answer, and logs no token', async () => {
    await expect(ask('/index.html', bearer('broken'))).resolves.toMatchObject({ status: 500 })
    expect(logged.join()).not.toMatch(/good|guess|broken/)
  })
})
