import { connect, createServer } from 'node:net'

import type { PipyConfig } from '@osm-ts/driver-pipy'

import { connectProxy, socksProxy } from '@osm-ts/driver-testkit/testing'
import { type App, listening } from './apps.js'
import { SERVICE } from './base-config.js'
import { meshUpstream } from './configs.js'
import type { Shop } from './shop.js'

/** How gateways are told where to connect to. */
export const modes = ['http2tunnel', 'socks5'] as const
export type Mode = (typeof modes)[number]

/** A program that connects to one address, whatever it is told, and remembers that. */
export interface GatewayApp extends App {
  /** `host port` of each connection that it was to make. */
  readonly told: readonly string[]
  /** Connects elsewhere from now on. */
  readonly leadTo: (address: string) => void
}

export async function gatewayApp(mode: Mode, address: string): Promise<GatewayApp> {
  const told: string[] = []
  let target = address
  const dial = (host: string, port: number, whenConnected: () => void) => {
    told.push(`${host} ${port}`)
    const [real, realPort] = target.split(':')
    return connect({ host: real, port: Number(realPort) }, whenConnected)
  }
  const app = await listening(mode === 'socks5' ? socksProxy(dial) : connectProxy(dial))
  return {
    ...app,
    told,
    leadTo: (other) => {
      target = other
    },
  }
}

/** Takes connections, says what it is given, and nothing more. */
export async function oddGateway(words: Buffer | undefined): Promise<App> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.once('data', () => words !== undefined && socket.write(words))
    }),
  )
}

/** Where the two gateways are; one workload is both. */
const places = ['servedHttp', 'servedTcp'] as const

/** The sidecar of two gateways. */
export function gatewayConfig({ at }: Shop, apps: readonly App[], callers = 'client'): Partial<PipyConfig> {
  return {
    served: apps.map(({ address }, i) => ({
      id: `demo/gateway|${i}`,
      port: 1080 + i,
      listen: at[places[i] ?? 'servedTcp'],
      serverNames: [SERVICE],
      local: address,
      protocol: 'tcp',
      rules: { kind: 'tcp', callers },
    })),
  }
}

type Upstream = PipyConfig['upstreams'][string]

/** A client whose requests to hosts outside leave through the gateways, with these weights; those to `direct.test` leave directly. */
export function leavingConfig(
  { at, apps }: Shop,
  mode: Mode,
  weights: readonly number[],
  { name, extra }: { readonly name: (i: number) => string; readonly extra: Partial<Upstream> },
): Partial<PipyConfig> {
  const named: Upstream = {
    http2: false,
    addresses: { kind: 'named', port: 80 },
    connectTimeoutMs: 500,
    balancing: 'round-robin',
  }
  const rule = { port: 80, protocol: 'http', cidrs: [] } as const
  const to = (upstream: string) => [{ match: {}, shares: [{ upstream, weight: 1 }] }]
  return {
    listen: { outboundHttp: at.proxy, metrics: at.clientMetrics },
    accessLog: true,
    outside: [
      { ...rule, id: 'all', hosts: ['*.test'], routes: to('outside'), way: 'gateways' },
      { ...rule, id: 'direct', hosts: ['direct.test'], routes: to('direct') },
    ],
    ways: {
      gateways: {
        mode,
        shares: weights.flatMap((weight, i) => (weight > 0 ? [{ upstream: name(i), weight }] : [])),
      },
    },
    upstreams: {
      outside: named,
      direct: {
        ...named,
        addresses: { kind: 'endpoints', priorities: [[{ address: apps.http.address, weight: 1 }]] },
      },
      ...Object.fromEntries(
        weights.map((_, i) => [
          name(i),
          meshUpstream([at[places[i] ?? 'servedTcp']], { http2: true, connectTimeoutMs: 1_000, ...extra }),
        ]),
      ),
    },
  }
}
