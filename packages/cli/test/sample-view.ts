import type { ProxyStatus } from '@osm-ts/core'

import type { LiveView } from '../src/live/live-view.js'
import type { TrafficRow } from '../src/live/traffic-log.js'

const startedAt = Date.parse('2026-01-02T03:04:05Z')

function row(client: string, namespace: string, target: string, path: string, more: Partial<TrafficRow>): TrafficRow {
  const status = more.last?.status ?? (more.allowed ? 200 : 403)
  return {
    client,
    namespace,
    target,
    path,
    allowed: 0,
    denied: 0,
    statuses: {},
    servers: {},
    rate: 1,
    ...more,
    last: { time: startedAt + 60_000, client, namespace, target, path, status, durationMs: 3, ...more.last },
  }
}

/** A proxy that has applied what it should have. */
export function proxyStatus(
  instance: string,
  namespace: string,
  account: string,
  more: Partial<ProxyStatus> = {},
): ProxyStatus {
  const version = Buffer.from(instance.repeat(4)).toString('base64url').slice(0, 32)
  return {
    uuid: `uuid-of-${instance}`,
    name: `${namespace}/${instance}`,
    identity: `${account}.${namespace}`,
    class: 'envoy',
    connected: true,
    ready: true,
    state: 'applied',
    wantedVersion: version,
    appliedVersion: version,
    revision: 3,
    appliedRevision: 3,
    lastReport: '2026-01-02T03:05:00Z',
    rejected: [],
    denied: [],
    conditions: [],
    ...more,
  }
}

/** A bookstore that has run for a minute, with a problem in its YAML. */
export function sampleView(): LiveView {
  const proxies = [
    proxyStatus('bookbuyer-0', 'bookbuyer', 'bookbuyer'),
    proxyStatus('bookthief-0', 'bookthief', 'bookthief'),
    proxyStatus('bookstore-v1-0', 'bookstore', 'bookstore'),
    proxyStatus('bookstore-v2-0', 'bookstore', 'bookstore', { state: 'rejected' }),
    proxyStatus('bookwarehouse-0', 'bookwarehouse', 'bookwarehouse'),
    proxyStatus('tcp-client-0', 'tcp-demo', 'tcp-client', { state: 'stale', connected: false }),
  ]
  const last = (status: number, more: { server?: string; error?: string }) =>
    ({ time: 0, client: '', namespace: '', target: '', path: '', status, durationMs: 1, ...more }) as const
  const thief = last(0, { error: 'ECONNRESET' })
  const fix = (
    name: string,
    namespace: string,
    target: string,
    path: string,
    seen: typeof thief,
    more: Partial<TrafficRow>,
  ) => row(name, namespace, target, path, { ...more, last: { ...seen, client: name, namespace, target, path } })
  return {
    folder: 'examples/bookstore/mesh',
    mode: 'explicit',
    controllerUrl: 'http://127.0.0.1:41873',
    startedAt,
    now: startedAt + 61_000,
    traffic: [
      fix('bookbuyer-0', 'bookbuyer', 'bookstore', '/books-bought', last(200, { server: 'bookstore-v1' }), {
        allowed: 61,
      }),
      fix('bookbuyer-0', 'bookbuyer', 'bookstore', '/buy-a-book/new', last(200, { server: 'bookstore-v2' }), {
        allowed: 61,
      }),
      fix('bookstore-v1-0', 'bookstore', 'bookwarehouse', '/restock-books', last(200, { server: 'bookwarehouse' }), {
        allowed: 46,
        rate: 0.8,
      }),
      fix('bookthief-0', 'bookthief', 'bookstore', '/books-bought', last(200, { server: 'bookstore-v1' }), {
        allowed: 61,
      }),
      fix('bookthief-0', 'bookthief', 'bookstore', '/buy-a-book/new', last(403, {}), { denied: 61 }),
      fix('bookthief-0', 'bookthief', 'bookwarehouse', '/restock-books', thief, { denied: 61 }),
      fix('tcp-client-0', 'tcp-demo', 'tcp-echo', 'tcp:9000', last(200, { server: 'tcp-echo' }), { allowed: 60 }),
    ],
    splits: [
      {
        name: 'bookstore/bookstore-split',
        apex: 'bookstore',
        sample: 183,
        since: startedAt,
        backends: [
          { service: 'bookstore-v1', share: 0.75, answers: 139 },
          { service: 'bookstore-v2', share: 0.25, answers: 44 },
        ],
      },
    ],
    proxies,
    elsewhere: new Set(),
    certificates: new Map(
      proxies.slice(0, 5).map(({ name, identity }) => {
        const [account = '', namespace = ''] = identity.split('.')
        return [name, { uris: [`spiffe://cluster.local/${namespace}/${account}`] }]
      }),
    ),
    problems: [
      {
        code: 'OSM_SPEC_REGEX',
        severity: 'error',
        message:
          '/books-( is not valid RE2 syntax: missing closing ); write an expression that matches the whole path, such as /books-.*',
        object: { kind: 'HTTPRouteGroup', namespace: 'bookstore', name: 'bookstore-service-routes' },
        field: 'spec.matches[0].pathRegex',
        origin: { kind: 'file', file: 'examples/bookstore/mesh/traffic-specs.yaml', line: 11, column: 18 },
      },
    ],
    notices: ['03:05:01 bookstore/bookstore-v2-0 exited: code 1'],
  }
}
