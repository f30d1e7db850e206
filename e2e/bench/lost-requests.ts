import { until } from '@osm-ts/driver-api/toolkit'

import { openSocket } from '@osm-ts/driver-testkit/testing'
import { RawClient } from '../dataplane/support/differential/raw-http.js'
import { bytesThroughProxy } from '../dataplane/support/differential/raw-request.js'
import {
  account,
  egress,
  meshConfig,
  routeGroup,
  service,
  trafficSplit,
  trafficTarget,
  upstreamTrafficSetting,
  workload,
} from '../dataplane/support/yaml.js'
import { type MeshPrograms, proxyAddress, startSidecarMesh } from './sidecar-mesh.js'
import { round } from './statistics.js'

/** What became of requests while policies changed. Every request is counted, on both sides. */
export interface LostRequests {
  /** Changes that every sidecar has applied before the next one was made. */
  readonly changes: number
  readonly seconds: number
  readonly sent: number
  /** Answered 200. */
  readonly answered: number
  /** `sent` less `answered`. */
  readonly lost: number
  /** Requests that the servers have had. More than `answered`: some were sent twice, or answers were lost. */
  readonly served: number
  /** Whatever was not answered 200, by what came instead. Status 0: nothing. */
  readonly failures: Readonly<Record<string, number>>
}

/** What is measured. */
export interface LostRequestsOptions extends MeshPrograms {
  readonly changes: number
  /** Server that tells in each answer how many requests it has had. */
  readonly server: string
  /** Program of a workload that does nothing. */
  readonly idle: string
}

const AUTHORITY = 'store.shop:8080'
const PATH = '/books/1?delay=5'
/** One after the other on a connection that is kept, and each on one of its own. */
const KEPT = 3
const FRESH = 3

/** Changes policies of a mesh with real sidecars under load. */
export async function measureLostRequests(options: LostRequestsOptions): Promise<LostRequests> {
  const mesh = await startSidecarMesh(options, {
    'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } })],
    'workloads.yaml': workloads(options),
    ...Object.fromEntries(changes.map(({ file, at }) => [file, at(0)])),
  })
  try {
    const load = new Load(proxyAddress(mesh, 'shop/client'))
    const start = performance.now()
    for (let n = 1; n <= options.changes; n += 1) {
      const change = changes[n % changes.length]
      if (change === undefined) break
      await mesh.apply(change.file, ...change.at(n))
      await load.goesOn()
    }
    const counted = await load.stop()
    return { changes: options.changes, seconds: round((performance.now() - start) / 1000), ...counted }
  } finally {
    await mesh.stop()
  }
}

/** Kinds of changes, each in its own file. None of them takes the client's access away, and none makes sidecars send a request again. */
const changes: readonly { readonly file: string; readonly at: (n: number) => readonly string[] }[] = [
  { file: 'split.yaml', at: (n) => [trafficSplit('shop/store', 'store', { v1: 1 + n, v2: 300 - n })] },
  {
    file: 'access.yaml',
    at: (n) => [
      routeGroup('shop/store', [
        { name: 'read', pathRegex: '/books/.*', methods: ['GET'] },
        { name: 'other', pathRegex: `/other-${n}` },
      ]),
      ...(['v1', 'v2'] as const).map((version) =>
        trafficTarget(`shop/${version}`, {
          to: `shop/${version}`,
          from: n % 2 === 1 ? ['shop/client', 'shop/thief'] : ['shop/client'],
          rules: [{ kind: 'HTTPRouteGroup', name: 'store' }],
        }),
      ),
    ],
  },
  {
    file: 'client-settings.yaml',
    at: (n) => [
      upstreamTrafficSetting('shop/v1', {
        host: 'v1.shop.svc.cluster.local',
        connectionSettings: { tcp: { maxConnections: 1000 + n }, http: { maxPendingRequests: 1000 + n } },
      }),
    ],
  },
  {
    file: 'server-settings.yaml',
    at: (n) => [
      upstreamTrafficSetting('shop/v2', {
        host: 'v2.shop.svc.cluster.local',
        rateLimit: { local: { http: { requests: 1_000_000 + n, unit: 'second' } } },
      }),
    ],
  },
  {
    file: 'egress.yaml',
    at: (n) => [egress('shop/out', { from: ['shop/client'], hosts: [`host-${n}.example.com`], ports: ['80/http'] })],
  },
]

/** The client, and the versions of a store; the apex selects both. */
function workloads({ server, idle }: LostRequestsOptions): readonly string[] {
  return [
    ...(['client', 'thief'] as const).flatMap((name) => [
      account(`shop/${name}`),
      workload(`shop/${name}`, { program: idle }),
    ]),
    ...(['v1', 'v2'] as const).flatMap((name) => [
      account(`shop/${name}`),
      workload(`shop/${name}`, { program: server, port: 8080 }),
      service(`shop/${name}`, name, 8080, { protocol: 'http' }),
    ]),
    service('shop/store', 'v1', 8080, { protocol: 'http' }),
  ]
}

/** Requests without pause until it is stopped. */
class Load {
  readonly #workers: readonly Promise<void>[]
  readonly #served = new Map<string, number>()
  readonly #failures = new Map<string, number>()
  #running = true
  #sent = 0
  #answered = 0

  constructor(proxy: { readonly host: string; readonly port: number }) {
    this.#workers = Array.from({ length: KEPT + FRESH }, (_, n) => this.#work(proxy, n < KEPT))
  }

  /** A change after which nothing is sent would show nothing. */
  async goesOn(): Promise<void> {
    const before = this.#answered
    await until(() => Promise.resolve(this.#answered > before), 'an answer after a change')
  }

  async stop(): Promise<Pick<LostRequests, 'sent' | 'answered' | 'lost' | 'served' | 'failures'>> {
    this.#running = false
    await Promise.all(this.#workers)
    return {
      sent: this.#sent,
      answered: this.#answered,
      lost: this.#sent - this.#answered,
      served: [...this.#served.values()].reduce((sum, count) => sum + count, 0),
      failures: Object.fromEntries(this.#failures),
    }
  }

  async #work(proxy: { readonly host: string; readonly port: number }, keep: boolean): Promise<void> {
    const client = new RawClient(() => openSocket(proxy, undefined))
    const request = bytesThroughProxy(AUTHORITY, {
      method: 'GET',
      target: PATH,
      headers: keep ? [] : [['connection', 'close']],
    })
    while (this.#running) {
      this.#sent += 1
      const { status, body } = await client.ask(request)
      if (status === 200) this.#count(body)
      else this.#fail(`${status} ${body}`.trim())
    }
    client.close()
  }

  #count(body: string): void {
    const { server, served } = JSON.parse(body) as { readonly server: string; readonly served: number }
    this.#answered += 1
    this.#served.set(server, Math.max(served, this.#served.get(server) ?? 0))
  }

  #fail(what: string): void {
    this.#failures.set(what, (this.#failures.get(what) ?? 0) + 1)
  }
}
