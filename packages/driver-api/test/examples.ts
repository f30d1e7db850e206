/**
 * The documents of `docs/design/proxy-policy.md`.
 *
 * First: the bookbuyer of OSM's demo calls the bookstore, whose traffic a TrafficSplit divides between two versions. Second: in explicit mode, a ledger
 * calls a MySQL server, which speaks first.
 */
import type { Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '../src/index.js'
import {
  compareAllowRules,
  compareText,
  type HttpAllowRule,
  type InboundPart,
  type MeshPart,
  type OutboundPart,
  type Part,
  type PartHash,
  type PrincipalsPart,
  type Protocol,
  type ProxyPart,
  type ProxyPolicy,
  type SetMemberKind,
  type TrustPart,
  type UpstreamPart,
} from '../src/policy/index.js'
import { PartBag } from './part-bag.js'

const trust: TrustPart = {
  kind: 'trust',
  id: 'trust',
  trustDomain: 'cluster.local',
  roots: ['-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIB…\n-----END CERTIFICATE-----\n'],
  minVersion: 'TLSv1_2',
  maxVersion: 'TLSv1_3',
  cipherSuites: [],
  ecdhCurves: [],
  alpn: 'osm',
}

const mesh: MeshPart = {
  kind: 'mesh',
  id: 'mesh',
  meshName: 'osm',
  logLevel: 'error',
  accessLog: { enabled: true, format: 'json' },
  tracing: {
    provider: 'zipkin',
    host: 'jaeger.osm-system.svc.cluster.local',
    port: 9411,
    endpoint: '/api/v2/spans',
    sampledFraction: 1,
  },
  requestMetrics: true,
  connectTimeoutMs: 5000,
  tcpIdleTimeoutMs: 3_600_000,
  streamIdleTimeoutMs: 300_000,
  http1PerRequestLoadBalancing: false,
  http2PerRequestLoadBalancing: true,
  egressEnabled: false,
  withdrawalTimeoutMs: 30_000,
  activeHealthChecks: false,
}

type Common = Pick<
  ProxyPart,
  | 'kind'
  | 'id'
  | 'class'
  | 'identity'
  | 'principal'
  | 'spiffeId'
  | 'namespace'
  | 'workload'
  | 'locality'
  | 'cluster'
  | 'ipFamilies'
  | 'probes'
  | 'inbound'
  | 'ingress'
  | 'outboundBindings'
  | 'extensions'
>

function common(id: number, account: string, namespace: string, workload: string): Common {
  return {
    kind: 'proxy',
    id: `6e3d9f7a-31f4-4c8e-9d53-6f6f0f1a2b0${id}` as ProxyUUID,
    class: 'envoy',
    identity: `${account}.${namespace}` as ServiceIdentity,
    principal: principalOf(account, namespace),
    spiffeId: `spiffe://cluster.local/${account}/${namespace}` as SpiffeId,
    namespace,
    workload: { kind: 'Deployment', name: workload, instance: `${workload}-0` },
    locality: { region: '', zone: '', subZone: '' },
    cluster: '',
    ipFamilies: ['IPv4'],
    probes: [],
    inbound: [],
    ingress: [],
    outboundBindings: [],
    extensions: [],
  }
}

const transparentListen: ProxyPart['listen'] = {
  inbound: { address: '0.0.0.0', port: 15003 },
  outbound: { address: '0.0.0.0', port: 15001 },
  metrics: { address: '0.0.0.0', port: 15010 },
  admin: { address: '127.0.0.1', port: 15000 },
}

function principalOf(account: string, namespace: string): Principal {
  return `${account}.${namespace}.cluster.local` as Principal
}

function callers(id: string, ...principals: readonly Principal[]): PrincipalsPart {
  return { kind: 'principals', id, match: 'list', principals }
}

function hostsOf(name: string, namespace: string): readonly string[] {
  return ['', '.svc', '.svc.cluster', '.svc.cluster.local'].map((suffix) => `${name}.${namespace}${suffix}`)
}

function setOf(of: SetMemberKind, id: string, members: readonly Part[], bag: PartBag): PartHash {
  const refs = members.map((part) => ({ id: part.id, hash: bag.add(part) })).sort((a, b) => compareText(a.id, b.id))
  return bag.add({ kind: 'set', id, of, members: refs, sets: [] })
}

function upstream(name: string, namespace: string, port: number, protocol: Protocol, account: string): UpstreamPart {
  return {
    kind: 'upstream',
    id: `${namespace}/${name}|${port}`,
    service: { namespace, name },
    port,
    protocol,
    tls: {
      mode: 'mesh',
      serverName: `${name}.${namespace}.svc.cluster.local`,
      principals: [principalOf(account, namespace)],
    },
    discovery: { kind: 'endpoints' },
    loadBalancing: { policy: 'round-robin' },
  }
}

function endpoints({ id, port }: UpstreamPart, address: string, listenPort: number = port): Part {
  const [namespace = '', service = ''] = (id.split('|')[0] ?? '').split('/')
  const locality = { region: '', zone: '', subZone: '' }
  const identity = `${service}.${namespace}` as ServiceIdentity
  const where = { address, port: listenPort, weight: 1, priority: 0, locality, cluster: '' }
  return { kind: 'endpoints', id, endpoints: [{ ...where, identity, class: 'envoy' }] }
}

/** The client of the first example. */
export function bookbuyer(): ProxyPolicy {
  const bag = new PartBag()
  const outbound = (name: string, address: string, weights: Readonly<Record<string, number>>): OutboundPart => {
    const targets = Object.entries(weights).map(([version, weight]) => ({
      upstream: `bookstore/${version}|14001`,
      weight,
    }))
    return {
      kind: 'outbound',
      id: `bookstore/${name}|14001`,
      service: { namespace: 'bookstore', name },
      port: 14001,
      protocol: 'http',
      addresses: [address],
      hosts: hostsOf(name, 'bookstore'),
      shortHost: name,
      rules: { kind: 'http', routes: [{ match: {}, targets, timeoutMs: 0 }] },
    }
  }
  const called = [
    outbound('bookstore', '10.96.7.10', { 'bookstore-v1': 90, 'bookstore-v2': 10 }),
    outbound('bookstore-v1', '10.96.7.11', { 'bookstore-v1': 100 }),
    outbound('bookstore-v2', '10.96.7.12', { 'bookstore-v2': 100 }),
  ]
  const upstreams = ['bookstore-v1', 'bookstore-v2'].map((name) => upstream(name, 'bookstore', 14001, 'http', name))
  const addresses = upstreams.map((part, index) => endpoints(part, `10.244.1.${11 + index}`))
  const own = common(1, 'bookbuyer', 'bookbuyer', 'bookbuyer')
  return bag.collect({
    ...own,
    mode: 'transparent',
    addresses: ['10.244.1.10'],
    listen: transparentListen,
    trust: bag.add(trust),
    mesh: bag.add(mesh),
    outbound: setOf('outbound', 'outbound/bookbuyer.bookbuyer', called, bag),
    upstreams: setOf('upstream', 'upstream/bookbuyer.bookbuyer', upstreams, bag),
    endpoints: setOf('endpoints', 'endpoints/bookbuyer.bookbuyer', addresses, bag),
    clientRules: bag.add({
      kind: 'clientRules',
      id: own.identity,
      retries: [
        {
          outbound: 'bookstore/bookstore|14001',
          policy: { retryOn: ['5xx'], numRetries: 5, perTryTimeoutMs: 1000, backoffBaseIntervalMs: 1000 },
        },
      ],
      preFilters: [],
      egressCredentials: [],
      gateways: [],
    }),
  })
}

/** A server of the first example. */
export function bookstore(): ProxyPolicy {
  const bag = new PartBag()
  const buyer = bag.add(callers('bookstore/bookstore-v1', principalOf('bookbuyer', 'bookbuyer')))
  const allow: readonly HttpAllowRule[] = [
    {
      match: {
        path: { type: 'exact', value: '/books-bought' },
        methods: ['GET'],
        headers: [{ name: 'client-app', match: { type: 'exact', value: 'bookbuyer' } }],
      },
      allow: buyer,
    },
    { match: { path: { type: 'regex', value: '.*a-book.*new' }, methods: ['GET'] }, allow: buyer },
  ]
  const inbound = (name: string): InboundPart => ({
    kind: 'inbound',
    id: `bookstore/${name}|14001`,
    service: { namespace: 'bookstore', name },
    port: 14001,
    targetPort: 14001,
    protocol: 'http',
    serverNames: [`${name}.bookstore.svc.cluster.local`],
    rules: {
      kind: 'http',
      hosts: [name, ...hostsOf(name, 'bookstore')],
      allow: [...allow].sort(compareAllowRules),
      routeLimits: [],
    },
    rateLimits: {
      http: { bucket: { tokens: 50, intervalMs: 1000, burst: 10 }, statusCode: 429, responseHeaders: [] },
    },
  })
  return bag.collect({
    ...common(2, 'bookstore-v1', 'bookstore', 'bookstore-v1'),
    mode: 'transparent',
    addresses: ['10.244.1.11'],
    listen: transparentListen,
    inbound: [inbound('bookstore-v1'), inbound('bookstore')].map((part) => ({
      part: bag.add(part),
      id: part.id,
      local: { address: '127.0.0.1', port: 14001 },
    })),
    trust: bag.add(trust),
    mesh: bag.add(mesh),
  })
}

/** The client of the second example. */
export function ledger(): ProxyPolicy {
  const bag = new PartBag()
  const database = upstream('mysql', 'bank', 3306, 'tcp-server-first', 'mysql')
  const called: OutboundPart = {
    kind: 'outbound',
    id: 'bank/mysql|3306',
    service: { namespace: 'bank', name: 'mysql' },
    port: 3306,
    protocol: 'tcp-server-first',
    addresses: [],
    hosts: hostsOf('mysql', 'bank'),
    shortHost: 'mysql',
    rules: { kind: 'tcp', targets: [{ upstream: database.id, weight: 100 }] },
  }
  return bag.collect({
    ...common(3, 'ledger', 'bank', 'ledger'),
    mode: 'explicit',
    addresses: ['192.0.2.11'],
    listen: {
      outboundHttp: { address: '127.0.0.1', port: 20101 },
      metrics: { address: '127.0.0.1', port: 20102 },
      admin: { address: '127.0.0.1', port: 20103 },
    },
    outboundBindings: [{ id: called.id, listen: { address: '127.0.0.1', port: 20104 } }],
    trust: bag.add(trust),
    mesh: bag.add(mesh),
    outbound: bag.add({
      kind: 'set',
      id: 'outbound/ledger.bank',
      of: 'outbound',
      members: [],
      sets: [{ id: 'outbound/bank', hash: setOf('outbound', 'outbound/bank', [called], bag), shortNames: true }],
    }),
    upstreams: setOf('upstream', 'upstream/ledger.bank', [database], bag),
    endpoints: setOf('endpoints', 'endpoints/ledger.bank', [endpoints(database, '192.0.2.12', 20201)], bag),
  })
}

/** The server of the second example. */
export function mysql(): ProxyPolicy {
  const bag = new PartBag()
  const part: InboundPart = {
    kind: 'inbound',
    id: 'bank/mysql|3306',
    service: { namespace: 'bank', name: 'mysql' },
    port: 3306,
    targetPort: 3306,
    protocol: 'tcp-server-first',
    serverNames: ['mysql.bank.svc.cluster.local'],
    rules: { kind: 'tcp', allow: bag.add(callers('bank/mysql', principalOf('ledger', 'bank'))) },
  }
  return bag.collect({
    ...common(4, 'mysql', 'bank', 'mysql'),
    mode: 'explicit',
    addresses: ['192.0.2.12'],
    listen: {
      outboundHttp: { address: '127.0.0.1', port: 20202 },
      metrics: { address: '127.0.0.1', port: 20203 },
      admin: { address: '127.0.0.1', port: 20204 },
    },
    inbound: [
      {
        part: bag.add(part),
        id: part.id,
        listen: { address: '192.0.2.12', port: 20201 },
        local: { address: '127.0.0.1', port: 3306 },
      },
    ],
    trust: bag.add(trust),
    mesh: bag.add(mesh),
  })
}
