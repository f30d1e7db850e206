import type { OutboundPart, UpstreamPart } from '@osm-ts/driver-api'
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
const nasty = `'; "x" $HOME \${A} \\ # %[path] \u00e9 -i --`

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
