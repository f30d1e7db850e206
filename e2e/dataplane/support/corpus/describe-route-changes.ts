import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { withHttp2 } from '../http2-call.js'
import { type LoadedClass, programs, startTestMesh, type TestMesh } from '../mesh.js'
import { account, document, meshConfig, service, workload } from '../yaml.js'

type Headers = Readonly<Record<string, string | readonly string[]>>

interface Sent {
  readonly path: string
  /** Host of the URL; the store of most routes if it is left out. */
  readonly host?: string
  readonly headers?: Headers
  /** Of the body in bytes; requests without one are GETs, others POSTs. */
  readonly size?: number
}

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

/** A request as the recording server has seen it. */
interface Recorded {
  readonly method: string
  readonly path: string
  readonly host: string
  readonly headers: Headers
}

type Client = (mesh: TestMesh, sent: Sent) => Promise<Got>

const clients: readonly (readonly [string, Client])[] = [
  ['HTTP/1.1', (mesh, sent) => overHttp1(mesh.proxyOf('shop/client'), sent)],
  ['HTTP/2', (mesh, sent) => overHttp2(mesh.proxyOf('shop/client'), sent)],
]

function httpRoute(name: string, rules: readonly object[]): string {
  return document('gateway.networking.k8s.io/v1', 'HTTPRoute', `shop/${name}`, {
    spec: { parentRefs: [{ group: '', kind: 'Service', name, port: 8080 }], rules },
  })
}

const store = { group: '', kind: 'Service', name: 'store', port: 8080 }
const below = (value: string): object => ({ matches: [{ path: { value } }] })
const redirect = (value: string, requestRedirect: object): object => ({
  ...below(value),
  filters: [{ type: 'RequestRedirect', requestRedirect }],
})
const rewrite = (value: string, urlRewrite: object): object => ({
  ...below(value),
  filters: [{ type: 'URLRewrite', urlRewrite }],
  backendRefs: [store],
})
const prefix = (replacePrefixMatch: string): object => ({ path: { type: 'ReplacePrefixMatch', replacePrefixMatch } })
const full = (replaceFullPath: string): object => ({ path: { type: 'ReplaceFullPath', replaceFullPath } })

/** What a filter does with headers. */
interface HeaderChanges {
  readonly set?: Readonly<Record<string, string>>
  readonly add?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
}

function modifier({ set = {}, add = {}, remove = [] }: HeaderChanges): object {
  const listed = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => ({ name, value }))
  return { set: listed(set), add: listed(add), remove }
}

const ofRequest = (changes: HeaderChanges): object => ({
  type: 'RequestHeaderModifier',
  requestHeaderModifier: modifier(changes),
})
const ofResponse = (changes: HeaderChanges): object => ({
  type: 'ResponseHeaderModifier',
  responseHeaderModifier: modifier(changes),
})

const documents: readonly string[] = [
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } }),
  account('shop/client'),
  workload('shop/client', { program: programs.idle }),
  account('shop/store'),
  workload('shop/store', { program: programs.recording, port: 8080 }),
  account('shop/audit'),
  workload('shop/audit', { program: programs.recording, port: 8080 }),
  service('shop/audit', 'audit', 8080, { protocol: 'http' }),
  ...['store', 'moved', 'lifted'].map((name) => service(`shop/${name}`, 'store', 8080, { protocol: 'http' })),
  httpRoute('store', [
    {
      ...below('/headers'),
      filters: [
        ofRequest({
          set: {
            'X-Set': 'a, "b" 100% é',
            'X-SET-absent': 'c',
            'x-empty': '',
            'user-agent': 'route',
            'x-both': 'route',
            'x-taken': 'route',
          },
          add: { 'X-Add': 'more', 'x-add-absent': 'first' },
          remove: ['X-Gone', 'x-gone-absent'],
        }),
        ofResponse({
          set: { Server: 'route' },
          add: { 'Set-Cookie': 'a=1', 'x-more': 'b' },
          remove: ['content-type', 'x-absent'],
        }),
      ],
      backendRefs: [
        {
          ...store,
          filters: [
            ofRequest({
              set: { 'x-backend': 'store', 'X-Both': 'store' },
              add: { 'x-add': 'last' },
              remove: ['x-taken'],
            }),
            ofResponse({ set: { 'x-more': 'store' }, add: { 'x-backend': 'store' } }),
          ],
        },
      ],
    },
    {
      ...below('/failing'),
      filters: [ofResponse({ set: { 'x-served': 'route' } })],
      backendRefs: [{ ...store, name: 'missing' }],
    },
    redirect('/scheme', { scheme: 'https' }),
    redirect('/host', { hostname: 'example.com', statusCode: 301 }),
    redirect('/port', { port: 9443 }),
    redirect('/usual', { scheme: 'https', hostname: 'example.com', port: 443 }),
    redirect('/http', { scheme: 'http', port: 80 }),
    redirect('/full', { statusCode: 307, ...full('/here') }),
    redirect('/prefix/a', { statusCode: 303, ...prefix('/new') }),
    redirect('/cut', { statusCode: 308, ...prefix('/') }),
    redirect('/enc%20oded', prefix('/b%2Dc')),
    rewrite('/api', { hostname: 'API.example.com', ...prefix('/') }),
    rewrite('/whole', full('/one')),
    rewrite('/deep', prefix('/v1/x')),
    {
      ...below('/copied'),
      filters: [
        ofRequest({ set: { 'x-copied': 'yes' } }),
        { type: 'URLRewrite', urlRewrite: { hostname: 'api.example.com', ...full('/one') } },
        { type: 'RequestMirror', requestMirror: { backendRef: { ...store, name: 'audit' } } },
      ],
      backendRefs: [{ ...store, filters: [ofRequest({ set: { 'x-backend': 'store' } })] }],
    },
  ]),
  httpRoute('moved', [redirect('/', { statusCode: 308, ...prefix('/new/') })]),
  httpRoute('lifted', [rewrite('/', prefix('/lifted'))]),
]

/** Where redirects lead, by path or host and path; undefined headers are those that nothing asks for. */
const locations: readonly (readonly [Sent, number, string])[] = [
  [{ path: '/scheme?a=b' }, 302, 'https://store.shop:443/scheme?a=b'],
  [{ path: '/host/a' }, 301, 'http://example.com:8080/host/a'],
  [{ path: '/port//a' }, 302, 'http://store.shop:9443/port/a'],
  [{ path: '/usual' }, 302, 'https://example.com/usual'],
  [{ path: '/http' }, 302, 'http://store.shop:80/http'],
  [{ path: '/full/a?b=/c?d' }, 307, 'http://store.shop:8080/here?b=/c?d'],
  [{ path: '/prefix/a/b%2Cc//d?e//f' }, 303, 'http://store.shop:8080/new/b%2Cc/d?e//f'],
  [{ path: '/prefix/a?b' }, 303, 'http://store.shop:8080/new?b'],
  [{ path: '/prefix/a/' }, 303, 'http://store.shop:8080/new/'],
  [{ path: '/cut' }, 308, 'http://store.shop:8080/'],
  [{ path: '/cut/a/' }, 308, 'http://store.shop:8080/a/'],
  [{ path: '/enc%20oded/%7Ea' }, 302, 'http://store.shop:8080/b%2Dc/%7Ea'],
  [{ host: 'moved.shop:8080', path: '/' }, 308, 'http://moved.shop:8080/new/'],
  [{ host: 'moved.shop:8080', path: '/?a' }, 308, 'http://moved.shop:8080/new/?a'],
  [{ host: 'moved.shop:8080', path: '/a%20b//c?d' }, 308, 'http://moved.shop:8080/new/a%20b/c?d'],
  [{ path: '/full', size: 6 }, 307, 'http://store.shop:8080/here'],
]

/** Where redirects lead by sidecars that leave escaped slashes to those of the called side. */
const escapedLocations: typeof locations = [
  [{ path: '/prefix/a/b%2Fc//d?e//f' }, 303, 'http://store.shop:8080/new/b%2Fc/d?e//f'],
]

/** What the store sees of requests that are rewritten. */
const rewritten: readonly (readonly [Sent, string, string])[] = [
  [{ path: '/api/a//b?c=d//e' }, 'api.example.com', '/a/b?c=d//e'],
  [{ path: '/api' }, 'api.example.com', '/'],
  [{ path: '/whole/a?c' }, 'store.shop:8080', '/one?c'],
  [{ path: '/deep/%7Ea' }, 'store.shop:8080', '/v1/x/%7Ea'],
  [{ path: '/deep/?a' }, 'store.shop:8080', '/v1/x/?a'],
  [{ path: '/deep?a' }, 'store.shop:8080', '/v1/x?a'],
  [{ host: 'lifted.shop:8080', path: '/' }, 'lifted.shop:8080', '/lifted/'],
  [{ host: 'lifted.shop:8080', path: '/a?b' }, 'lifted.shop:8080', '/lifted/a?b'],
  [{ path: '/whole', size: 200_000 }, 'store.shop:8080', '/one'],
]

/**
 * What routes change of messages, through sidecars of a class.
 *
 * @param load - of a class whose driver is a package: its sidecars send no copies, and refuse escaped slashes for clients too
 */
export function describeRouteChanges(sidecarClass: string, load?: () => Promise<LoadedClass>): void {
  describe(`changes of routes by class ${sidecarClass}`, () => {
    let mesh: TestMesh

    beforeAll(async () => {
      mesh = await startTestMesh({ 'mesh.yaml': documents }, { sidecarClass, loaded: await load?.() })
    })
    afterAll(async () => {
      await mesh.stop()
    })

    describe.each(clients)('for a client of %s', (_version, client) => {
      const call = (sent: Sent): Promise<Got> => client(mesh, sent)

      it('set, add and remove headers of requests and answers', async () => {
        const { status, headers, body } = await call({
          path: '/headers',
          headers: { 'x-set': ['1', '2'], 'x-add': ['a', 'b'], 'x-gone': ['1', '2'], 'X-Kept': 'as it is' },
        })
        const seen = (JSON.parse(body) as { readonly headers: Readonly<Record<string, string>> }).headers
        expect(status).toBe(200)
        expect(
          Object.fromEntries(
            Object.entries(seen)
              .filter(([name]) => name.startsWith('x-') || name === 'user-agent')
              .filter(([name]) => !name.startsWith('x-forwarded') && name !== 'x-request-id')
              // A list is one whatever stands behind its commas.
              .map(([name, value]) => [name, name === 'x-set' ? utf8(value) : value.replaceAll(', ', ',')]),
          ),
        ).toEqual({
          'x-set': 'a, "b" 100% é',
          'x-set-absent': 'c',
          'x-empty': '',
          'user-agent': 'route',
          'x-add': 'a,b,more,last',
          'x-add-absent': 'first',
          'x-kept': 'as it is',
          'x-backend': 'store',
          'x-both': 'store',
        })
        expect(headers).toMatchObject({
          server: 'route',
          'set-cookie': ['a=1'],
          'x-more': 'store',
          'x-backend': 'store',
        })
        expect(headers).not.toHaveProperty('content-type')
      })

      it('change answers that the sidecar gives itself', async () => {
        const { status, headers } = await call({ path: '/failing' })
        expect([status, headers['x-served']]).toEqual([500, 'route'])
      })

      it.each([...locations, ...(load === undefined ? escapedLocations : [])])(
        'redirect %j with %i to %s',
        async (sent, status, location) => {
          const got = await call(sent)
          expect([got.status, got.headers['location'], got.body]).toEqual([status, location, ''])
        },
      )

      it.each(rewritten)('of %j let the store see host %s and path %s', async (sent, host, path) => {
        const got = await call(sent)
        expect(got.status).toBe(200)
        expect(JSON.parse(got.body)).toMatchObject({ host, path })
      })

      it('redirect to the scheme that a request names, whatever a proxy says of another one', async () => {
        const { headers } = await call({ path: '/full', headers: { 'x-forwarded-proto': 'https' } })
        expect(headers['location']).toBe('http://store.shop:8080/here')
      })

      if (load !== undefined) return

      it('copy requests as they are sent on, with the changes of their backend and their bodies, once each', async () => {
        const seen = async (): Promise<readonly Recorded[]> => {
          const { body } = await call({ host: 'audit.shop:8080', path: '/open/seen' })
          return (JSON.parse(body) as { readonly requests: readonly Recorded[] }).requests
        }
        const send = (query: string) => call({ path: `/copied?${query}`, size: 6 })
        // A copy that cannot be sent yet is not sent later.
        await eventually(
          async () => {
            await send('first')
            return seen()
          },
          (requests) => requests.length > 0,
        )
        const { status, body } = await send('last')
        expect([status, JSON.parse(body)]).toEqual([200, expect.objectContaining({ path: '/one?last' })])
        const copies: Recorded[] = []
        await eventually(
          async () => {
            copies.push(...(await seen()).filter(({ path }) => path.endsWith('last')))
            return copies
          },
          ({ length }) => length > 0,
        )
        expect(copies).toEqual([
          expect.objectContaining({
            method: 'POST',
            path: '/one?last',
            host: 'api.example.com',
            headers: expect.objectContaining({ 'x-copied': 'yes', 'x-backend': 'store' }),
          }),
        ])
      })
    })
  })
}

/** Node reads headers of HTTP/1.1 byte by byte. */
function utf8(value: string): string {
  return value.includes('é') ? value : Buffer.from(value, 'latin1').toString('utf8')
}

async function overHttp1(proxyUrl: string, { path, host = 'store.shop:8080', headers = {}, size }: Sent): Promise<Got> {
  const { hostname, port } = new URL(proxyUrl)
  const method = size === undefined ? 'GET' : 'POST'
  const own = { host, ...headers } as Record<string, string | string[]>
  const where = { host: hostname, port, path: `http://${host}${path}`, agent: false }
  const request = httpRequest({ ...where, method, headers: own }).end('x'.repeat(size ?? 0))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

function overHttp2(proxyUrl: string, { path, host = 'store.shop:8080', headers = {}, size }: Sent): Promise<Got> {
  return withHttp2(
    proxyUrl,
    (session) =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ':authority': host,
          ':scheme': 'http',
          ':path': path,
          ':method': size === undefined ? 'GET' : 'POST',
          ...(headers as Record<string, string | string[]>),
        })
        let got: Got = { status: 0, headers: {}, body: '' }
        stream.on('response', ({ ':status': status = 0, ...rest }) => {
          got = { ...got, status, headers: rest }
        })
        stream.setEncoding('utf8').on('data', (part: string) => {
          got = { ...got, body: got.body + part }
        })
        stream.on('error', reject)
        stream.on('end', () => resolve(got))
        // A GET has ended already.
        if (size !== undefined) stream.end('x'.repeat(size))
      }),
  )
}
