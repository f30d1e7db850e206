import type { OutboundPart, ProbeBinding, ProxyPart, UpstreamPart } from '@osm-ts/driver-api/policy'
import { called, callers, everybody, served, type TestPolicy, together } from '@osm-ts/driver-testkit'

const buyer = callers('bookbuyer.default.cluster.local')
const thief = callers('bookthief.default.cluster.local')

const split: Partial<OutboundPart> = {
  rules: {
    kind: 'http',
    routes: [
      {
        match: { path: { type: 'prefix', value: '/beta' }, methods: ['GET'] },
        targets: [{ upstream: 'default/two|8080', weight: 1 }],
        timeoutMs: 0,
      },
      {
        match: {},
        targets: [
          { upstream: 'default/one|8080', weight: 90 },
          { upstream: 'default/two|8080', weight: 10 },
        ],
        timeoutMs: 0,
      },
    ],
  },
}

const tcp: Partial<OutboundPart> = {
  protocol: 'tcp',
  rules: {
    kind: 'tcp',
    targets: [
      { upstream: 'default/db|8080', weight: 3 },
      { upstream: 'default/gone|8080', weight: 1 },
    ],
  },
}
const tcpUpstream: Partial<UpstreamPart> = { protocol: 'tcp' }
const shared: Partial<OutboundPart> = { ...tcp, addresses: ['10.1.0.3', 'fd00::3'] }
const database: Partial<OutboundPart> = {
  ...tcp,
  addresses: ['10.1.0.4'],
  rules: { kind: 'tcp', targets: [{ upstream: 'default/gone|8080', weight: 1 }] },
}
const nasty = `'; "x" $HOME \${A} \\ # %[path] \u00e9 -i --`

const toOne = { upstream: 'default/one|8080', weight: 1 }
const one = [toOne]

/** Everything that a route can change. */
const changing: Partial<OutboundPart> = {
  rules: {
    kind: 'http',
    routes: [
      {
        match: { path: { type: 'segments', value: '/old' } },
        targets: [],
        timeoutMs: 0,
        redirect: {
          status: 301,
          scheme: 'https',
          host: 'example.com',
          port: 8443,
          path: { type: 'prefix', value: '/new' },
        },
      },
      {
        match: { path: { type: 'exact', value: '/here' } },
        targets: [],
        timeoutMs: 0,
        redirect: { status: 307, path: { type: 'full', value: '/there' } },
        responseHeaders: { set: [{ name: 'x-moved', value: 'yes' }] },
      },
      {
        match: { path: { type: 'exact', value: '/safe' } },
        targets: [],
        timeoutMs: 0,
        redirect: { status: 308, scheme: 'https' },
      },
      {
        match: { path: { type: 'exact', value: '/port' } },
        targets: [],
        timeoutMs: 0,
        redirect: { status: 302, port: 81 },
      },
      {
        match: { path: { type: 'segments', value: '/api' } },
        targets: one,
        timeoutMs: 1_500,
        rewrite: { host: 'api.example', path: { type: 'prefix', value: '' } },
        requestHeaders: {
          add: [{ name: 'x-more', value: 'a' }],
          remove: ['x-secret'],
          set: [{ name: 'x-set', value: '100%' }],
        },
      },
      {
        match: {
          queryParameters: [
            { name: 'a.b', match: { type: 'exact', value: 'x y' } },
            { name: 'kind', match: { type: 'regex', value: 'fish|w.*e' } },
          ],
        },
        targets: [
          { ...toOne, weight: 3, requestHeaders: { set: [{ name: 'x-to', value: 'one' }] } },
          {
            upstream: 'default/two|8080',
            weight: 1,
            requestHeaders: { set: [{ name: 'x-to', value: 'two' }] },
            responseHeaders: { remove: ['server'] },
          },
        ],
        timeoutMs: 0,
        errorWeight: 4,
      },
      { match: {}, targets: [], timeoutMs: 0, errorWeight: 1, errorStatus: 503 },
    ],
  },
}

/** Values that would be something else in haproxy.cfg, or in its formats. */
const hostile: Partial<OutboundPart> = {
  rules: {
    kind: 'http',
    routes: [
      {
        match: { path: { type: 'segments', value: `/${nasty}` } },
        targets: one,
        timeoutMs: 0,
        requestHeaders: {
          set: [
            { name: "x'%[path]#$", value: nasty },
            { name: 'x-empty', value: '' },
          ],
        },
        responseHeaders: { add: [{ name: 'x-%', value: `${nasty} %` }], remove: ["-m'"] },
        rewrite: { path: { type: 'prefix', value: `/${nasty}` } },
      },
      {
        match: { queryParameters: [{ name: 'a', match: { type: 'exact', value: nasty } }] },
        targets: [],
        timeoutMs: 0,
        redirect: { status: 302, path: { type: 'full', value: `/${nasty}` } },
      },
      {
        match: { queryParameters: [{ name: "a'),b", match: { type: 'exact', value: '' } }] },
        targets: one,
        timeoutMs: 0,
      },
      {
        match: { methods: ['GET'] },
        targets: one,
        timeoutMs: 0,
        requestHeaders: { set: [{ name: 'x-a', value: 'a\n  daemon' }] },
      },
      {
        match: { methods: ['PUT'] },
        targets: [],
        timeoutMs: 0,
        redirect: { status: 302, host: "a' b" },
      },
      { match: {}, targets: one, timeoutMs: 0, rewrite: { path: { type: 'full', value: '/a\nglobal' } } },
    ],
  },
}

/** Where connections are redirected to, and what they are for. */
const redirects: Partial<ProxyPart> = {
  mode: 'transparent',
  addresses: ['10.0.0.7'],
  listen: {
    inbound: { address: '0.0.0.0', port: 15_003 },
    outbound: { address: '0.0.0.0', port: 15_001 },
    metrics: { address: '0.0.0.0', port: 15_010 },
    admin: { address: '127.0.0.1', port: 15_000 },
  },
}

/** A policy where connections are redirected: no port that is served has its own address. */
function redirected({ changes, parts }: TestPolicy, more: Partial<ProxyPart> = {}): TestPolicy {
  const inbound = (changes.inbound ?? []).map(({ part, id, local }) => ({ part, id, local }))
  return { changes: { ...changes, ...redirects, inbound, ...more }, parts }
}

const probeOf = (
  at: readonly [port: number, path: string],
  target: ProbeBinding['target'],
  container = 'app',
): ProbeBinding => ({
  container,
  probe: at[0] === 15_902 ? 'readiness' : at[0] === 15_903 ? 'startup' : 'liveness',
  listen: { address: '0.0.0.0', port: at[0] },
  path: at[1],
  target,
  timeoutMs: 1_500,
})

const probes: readonly ProbeBinding[] = [
  probeOf([15_901, '/osm-liveness-probe'], {
    type: 'http',
    port: 8080,
    path: "/alive?deep=1&at=%20'x'",
    headers: [
      { name: 'Host', value: 'app.example' },
      { name: 'X-Probe', value: '%[path] "a" ' },
      { name: 'x-empty', value: '' },
    ],
  }),
  probeOf([15_901, '/osm-liveness-probe/cache'], { type: 'tcp', port: 6379 }, 'cache'),
  probeOf([15_901, '/osm-liveness-probe/bad'], { type: 'http', port: 6379, path: '/\nglobal' }, 'bad'),
  probeOf([15_902, '/osm-readiness-probe'], { type: 'https', port: 8443, path: '/ready' }),
  probeOf([15_902, '/grpc.health.v1.Health/Check'], { type: 'grpc', port: 9000 }, 'rpc'),
  probeOf([15_903, '/osm-startup-probe'], { type: 'https', port: 8444, path: '/' }),
]

/** Policies that are kept as pairs of document and haproxy.cfg. */
export const examples: Readonly<Record<string, TestPolicy>> = {
  empty: { changes: { listen: { admin: { address: '127.0.0.1', port: 15_000 } } }, parts: [] },
  'http-rules': served('bookstore', 17_001, 8080, [
    { match: { path: { type: 'exact', value: '/books' }, methods: ['GET', 'HEAD'] }, allow: buyer },
    {
      match: {
        path: { type: 'regex', value: '/buy(/.+|)' },
        headers: [
          { name: 'user', match: { type: 'regex', value: 'a.*z' } },
          { name: 'x-debug', match: { type: 'present' }, invert: true },
          { name: 'x-kind', match: { type: 'prefix', value: 'no' }, invert: true },
        ],
      },
      allow: thief,
    },
    { match: { methods: ['OPTIONS'] }, allow: everybody },
  ]),
  'hostile-strings': served('bookstore', 17_001, 8080, [
    { match: { path: { type: 'exact', value: nasty } }, allow: buyer },
    { match: { path: { type: 'prefix', value: nasty }, methods: [nasty] }, allow: buyer },
    { match: { headers: [{ name: 'x-a', match: { type: 'exact', value: nasty } }] }, allow: buyer },
    { match: { headers: [{ name: "x'a", match: { type: 'exact', value: 'x' } }] }, allow: buyer },
    { match: { path: { type: 'exact', value: '/\nglobal\n  daemon' } }, allow: buyer },
    { match: { path: { type: 'regex', value: '(a+)+$' } }, allow: buyer },
  ]),
  tcp: together(
    served('db', 17_002, 5432, buyer),
    called([{ name: 'db', endpoints: [17_003], outbound: tcp, upstream: tcpUpstream }], {
      outboundBindings: [{ id: 'default/db|80', listen: { address: '127.0.0.1', port: 17_004 } }],
    }),
  ),
  split: called(
    [
      { name: 'one', endpoints: [17_005, 17_006] },
      { name: 'shop', endpoints: [], outbound: split },
      { name: 'two', endpoints: [17_007] },
    ],
    { listen: { outboundHttp: { address: '127.0.0.1', port: 17_008 }, admin: { address: '127.0.0.1', port: 15_000 } } },
  ),
  routes: called(
    [
      { name: 'one', endpoints: [17_005] },
      { name: 'shop', endpoints: [], outbound: changing },
      { name: 'two', endpoints: [17_007] },
    ],
    { listen: { outboundHttp: { address: '127.0.0.1', port: 17_008 } } },
  ),
  'hostile-routes': called(
    [
      { name: 'one', endpoints: [17_005] },
      { name: 'shop', endpoints: [], outbound: hostile },
    ],
    { listen: { outboundHttp: { address: '127.0.0.1', port: 17_008 } } },
  ),
  'redirects-nothing': redirected({ changes: {}, parts: [] }),
  redirects: redirected(
    together(
      served('bookstore', 0, 8080, [{ allow: buyer }]),
      served('books', 0, 8080, buyer, { id: 'default/books|8080', serverNames: ['books.default.svc.cluster.local'] }),
      // The administration of the proxy itself.
      served('forged', 0, 15_000, everybody),
      called([
        { name: 'gone', endpoints: [15_001], outbound: database, upstream: tcpUpstream },
        { name: 'db', endpoints: [17_003], outbound: shared, upstream: tcpUpstream },
        { name: 'shop', endpoints: [17_005], outbound: { addresses: ['10.1.0.1', '10.1.0.2'], port: 8000 } },
      ]),
    ),
  ),
  probes: redirected({ changes: {}, parts: [] }, { probes }),
  deny: served('bookstore', 17_001, 8080, 'deny'),
  grpc: together(
    served('rpc', 17_001, 8080, [{ allow: everybody }], { protocol: 'grpc' }),
    called([{ name: 'rpc', endpoints: [17_009], outbound: { protocol: 'grpc' }, upstream: { protocol: 'grpc' } }], {
      listen: { outboundHttp: { address: '127.0.0.1', port: 17_008 } },
    }),
  ),
  'calls-itself': together(
    { ...served('bookstore', 17_001, 8080, [{ allow: everybody }]) },
    called(
      [
        {
          name: 'one',
          endpoints: [17_008],
        },
      ],
      { listen: { outboundHttp: { address: '127.0.0.1', port: 17_008 } } },
    ),
  ),
}
