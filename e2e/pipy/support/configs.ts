import type { PipyConfig } from '@osm-ts/driver-pipy'

import { principalOf, SERVICE } from './base-config.js'
import type { Shop } from './shop.js'

type Upstream = PipyConfig['upstreams'][string]

/** An upstream of one or more addresses, by mutual TLS. */
export function meshUpstream(addresses: readonly string[], extra: Partial<Upstream> = {}): Upstream {
  return {
    http2: false,
    addresses: { kind: 'endpoints', priorities: [addresses.map((address) => ({ address, weight: 1 }))] },
    tls: { serverName: SERVICE, principals: [principalOf('server')] },
    connectTimeoutMs: 2_000,
    balancing: 'round-robin',
    ...extra,
  }
}

/** The client may call the service by HTTP and TCP. */
export function clientConfig({ at }: Shop): Partial<PipyConfig> {
  return {
    listen: { outboundHttp: at.proxy, metrics: at.clientMetrics },
    called: [
      {
        id: 'demo/server|8080',
        port: 8080,
        addresses: [],
        hosts: ['server', 'server.demo'],
        routes: [{ match: {}, shares: [{ upstream: 'http', weight: 1 }] }],
      },
      {
        id: 'demo/server|9000',
        port: 9000,
        addresses: [],
        listen: at.clientTcp,
        hosts: ['server.demo'],
        shares: [{ upstream: 'tcp', weight: 1 }],
      },
    ],
    upstreams: { http: meshUpstream([at.servedHttp]), tcp: meshUpstream([at.servedTcp]) },
  }
}

/** The client may call an address without a sidecar, by the host `direct`. */
export function withDirect(client: Partial<PipyConfig>, address: string): Partial<PipyConfig> {
  const direct: Upstream = {
    http2: false,
    addresses: { kind: 'endpoints', priorities: [[{ address, weight: 1 }]] },
    connectTimeoutMs: 1_000,
    balancing: 'round-robin',
  }
  const called: PipyConfig['called'][number] = {
    id: 'direct',
    port: 80,
    addresses: [],
    hosts: ['direct'],
    routes: [{ match: {}, shares: [{ upstream: 'direct', weight: 1 }] }],
  }
  return { ...client, called: [...(client.called ?? []), called], upstreams: { ...client.upstreams, direct } }
}

/** The server serves `GET` below `/books` to the client, and its TCP port. */
export function serverConfig({ at, apps }: Shop, callers = 'client'): Partial<PipyConfig> {
  return {
    served: [
      {
        id: 'demo/server|8080',
        port: 8080,
        listen: at.servedHttp,
        serverNames: [SERVICE],
        local: apps.http.address,
        protocol: 'http',
        rules: {
          kind: 'http',
          allow: [{ match: { path: { prefix: '/books' }, methods: ['GET'] }, callers }],
          limits: [],
        },
      },
      {
        id: 'demo/server|9000',
        port: 9000,
        listen: at.servedTcp,
        serverNames: [SERVICE],
        local: apps.tcp.address,
        protocol: 'tcp',
        rules: { kind: 'tcp', callers },
      },
    ],
  }
}
