import fc from 'fast-check'

import type { Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '../../src/index.js'
import { compareBy, compareText, type PartOf } from '../../src/policy/index.js'
import {
  by,
  credentialRef,
  duration,
  fraction,
  hash,
  headers,
  host,
  ip,
  locality,
  name,
  port,
  principal,
  serviceAccount,
  socketAddress,
  sortedList,
  TRUST_DOMAIN,
} from './values.js'

export const proxyPart: fc.Arbitrary<PartOf<'proxy'>> = fc
  .record({
    id: fc.uuid().map((text) => text as ProxyUUID),
    account: serviceAccount,
    class: name,
    mode: fc.constantFrom('transparent' as const, 'explicit' as const),
    workload: fc.record({ kind: fc.constantFrom('Deployment', 'StatefulSet'), name, instance: name }),
    locality,
    cluster: fc.oneof(fc.constant(''), name),
    ipFamilies: sortedList(fc.constantFrom('IPv4' as const, 'IPv6' as const), compareText, { minLength: 1 }),
    addresses: sortedList(ip, compareText),
    socket: socketAddress,
    optionalListen: fc.record({ metrics: socketAddress, dns: socketAddress }, { requiredKeys: [] }),
    admin: fc.option(fc.record({ address: fc.constantFrom('127.0.0.1', '::1'), port }), { nil: undefined }),
    probes: sortedList(
      fc.record({
        container: name,
        probe: fc.constantFrom('liveness' as const, 'readiness' as const, 'startup' as const),
        listen: socketAddress,
        path: name.map((text) => `/${encodeURIComponent(text)}`),
        target: fc.record(
          {
            type: fc.constantFrom('http' as const, 'https' as const, 'tcp' as const, 'grpc' as const),
            port,
            path: fc.webPath(),
            headers,
            service: name,
          },
          { requiredKeys: ['type', 'port'] },
        ),
        timeoutMs: duration,
      }),
      compareBy<{ readonly container: string; readonly probe: string }>(by('container'), by('probe')),
    ),
    served: fc.tuple(
      ...[0, 1].map(() => sortedList(fc.record({ part: hash, id: name, local: socketAddress }), by('id'))),
    ),
    outboundBindings: sortedList(fc.record({ id: name, listen: socketAddress }), by('id')),
    trust: hash,
    mesh: hash,
    optional: fc.record(
      { outbound: hash, upstreams: hash, endpoints: hash, egress: hash, clientRules: hash, dns: hash },
      { requiredKeys: [] },
    ),
    extensions: fc.array(hash, { maxLength: 2 }),
  })
  .map(({ account, mode, socket, optionalListen, admin, served, outboundBindings, optional, ...rest }) => {
    const text = `${account.name}.${account.namespace}`
    const explicit = mode === 'explicit'
    const bind = (index: number) =>
      (served[index] ?? []).map((binding) => (explicit ? { ...binding, listen: socket } : binding))
    return {
      kind: 'proxy' as const,
      ...rest,
      identity: text as ServiceIdentity,
      principal: `${text}.${TRUST_DOMAIN}` as Principal,
      spiffeId: `spiffe://${TRUST_DOMAIN}/${account.name}/${account.namespace}` as SpiffeId,
      namespace: account.namespace,
      mode,
      listen: {
        ...optionalListen,
        ...(admin === undefined ? {} : { admin }),
        ...(explicit ? { outboundHttp: socket } : { inbound: socket, outbound: socket }),
      },
      inbound: bind(0),
      ingress: bind(1),
      outboundBindings: explicit ? outboundBindings : [],
      ...optional,
    }
  })

export const trustPart: fc.Arbitrary<PartOf<'trust'>> = fc.record({
  kind: fc.constant('trust' as const),
  id: fc.constant('trust' as const),
  trustDomain: fc.constant(TRUST_DOMAIN),
  roots: fc
    .array(fc.stringMatching(/^[A-Za-z0-9+/]{8}$/), { minLength: 1, maxLength: 2 })
    .map((bodies) => bodies.map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`)),
  minVersion: fc.constantFrom('TLS_AUTO' as const, 'TLSv1_2' as const, 'TLSv1_3' as const),
  maxVersion: fc.constantFrom(
    'TLS_AUTO' as const,
    'TLSv1_0' as const,
    'TLSv1_1' as const,
    'TLSv1_2' as const,
    'TLSv1_3' as const,
  ),
  cipherSuites: fc.array(name, { maxLength: 2 }),
  ecdhCurves: fc.array(name, { maxLength: 2 }),
  alpn: fc.constant('osm' as const),
})

export const meshPart: fc.Arbitrary<PartOf<'mesh'>> = fc.record(
  {
    kind: fc.constant('mesh' as const),
    id: fc.constant('mesh' as const),
    meshName: name,
    logLevel: fc.constantFrom(
      'trace' as const,
      'debug' as const,
      'info' as const,
      'warning' as const,
      'error' as const,
      'critical' as const,
      'off' as const,
    ),
    accessLog: fc.record(
      {
        enabled: fc.boolean(),
        format: fc.constantFrom('json' as const, 'text' as const),
        template: name,
        openTelemetry: fc.record(
          {
            host,
            port,
            connectTimeoutMs: duration,
            attributes: sortedList(fc.record({ key: name, value: fc.string() }), by('key')),
          },
          { requiredKeys: ['host', 'port', 'attributes'] },
        ),
      },
      { requiredKeys: ['enabled', 'format'] },
    ),
    tracing: fc.record({
      provider: fc.constantFrom('zipkin' as const, 'opentelemetry' as const),
      host,
      port,
      endpoint: name.map((text) => `/${text}`),
      sampledFraction: fraction,
    }),
    remoteLogging: fc.record(
      {
        host,
        port,
        endpoint: name.map((text) => `/${text}`),
        level: fc.constantFrom(0 as const, 1 as const, 2 as const),
        sampledFraction: fraction,
        authorization: credentialRef,
      },
      { requiredKeys: ['host', 'port', 'endpoint', 'level', 'sampledFraction'] },
    ),
    requestMetrics: fc.boolean(),
    connectTimeoutMs: duration,
    tcpIdleTimeoutMs: fc.nat(600_000),
    streamIdleTimeoutMs: fc.nat(600_000),
    http1PerRequestLoadBalancing: fc.boolean(),
    http2PerRequestLoadBalancing: fc.boolean(),
    egressEnabled: fc.boolean(),
    withdrawalTimeoutMs: fc.nat(30_000),
    activeHealthChecks: fc.boolean(),
    keepsOtherSpellings: fc.constant(true as const),
    keepsEscapedSlashes: fc.constant(true as const),
  },
  {
    requiredKeys: [
      'kind',
      'id',
      'meshName',
      'logLevel',
      'accessLog',
      'requestMetrics',
      'connectTimeoutMs',
      'tcpIdleTimeoutMs',
      'streamIdleTimeoutMs',
      'http1PerRequestLoadBalancing',
      'http2PerRequestLoadBalancing',
      'egressEnabled',
      'withdrawalTimeoutMs',
      'activeHealthChecks',
    ],
  },
)

export const principalsPart: fc.Arbitrary<PartOf<'principals'>> = fc.oneof(
  fc.record({
    kind: fc.constant('principals' as const),
    id: name,
    match: fc.constant('trustDomain' as const),
    trustDomain: fc.constant(TRUST_DOMAIN),
  }),
  fc.record({
    kind: fc.constant('principals' as const),
    id: name,
    match: fc.constant('list' as const),
    principals: sortedList(principal, compareText),
  }),
)
