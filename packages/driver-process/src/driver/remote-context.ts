import type { Client } from '@grpc/grpc-js'
import type {
  ControllerContext,
  DebugHandlers,
  DriverMetrics,
  Eviction,
  MeshConfigView,
  OsmError,
  ProxyRef,
  TrustBundle,
} from '@osm-ts/driver-api'
import type { Part } from '@osm-ts/driver-api/policy'

import { callUnary, pull } from '../wire/calls.js'
import { fromServiceError } from '../wire/failure.js'
import { hostService, type Message, type Method } from '../wire/services.js'
import type { MetricDeclaration } from '../wire/telemetry.js'
import {
  logEntryMessage,
  readBrokerMessage,
  readCredential,
  readPolicyUpdate,
  readServerTrust,
  type StartData,
} from '../wire/values.js'
import { Outbox } from './outbox.js'

/** What a {@link remoteContext} is made of. */
export interface RemoteContextOptions {
  /** Of the host's socket. */
  readonly client: Client
  readonly data: StartData
  /** Handlers of debug pages by path, for `Driver.Debug`. */
  readonly pages: Map<string, Parameters<DebugHandlers['register']>[1]>
  readonly cancel: (reason: Error) => void
  readonly signal: AbortSignal
}

/** How long the host may take for one answer. It only looks things up. */
const HOST_DEADLINE_MS = 30_000

type WatchRequest = Message<'watchRequest'>

/** The context of a host in another process. What the host sends is what the contract says it is. Its calls reject with the errors of the contract, as those of a host in the same process do. */
export function remoteContext(options: RemoteContextOptions): ControllerContext {
  const { client, data, pages, cancel, signal } = options
  const call = async <Request, Response>(
    method: Method<Request, Response>,
    request: Partial<Request>,
  ): Promise<Response> => {
    try {
      return await callUnary(client, method, request, { deadlineMs: HOST_DEADLINE_MS, signal })
    } catch (error) {
      throw hostError(error)
    }
  }
  const watch = <T, Item>(
    method: Method<WatchRequest, Item>,
    request: Partial<WatchRequest>,
    until: AbortSignal,
    valueOf: (item: Item) => T,
  ): AsyncIterable<T> => read(client, method, request, until, valueOf)
  const outbox = new Outbox({
    declare: async (metrics) => void (await call(hostService.DeclareMetrics, { metrics })),
    measure: async (measurements) => void (await call(hostService.Measure, { measurements })),
    log: async (list) => void (await call(hostService.Log, { entries: list.map(logEntryMessage) })),
  })
  const session = (proxy: ProxyRef) => ({ session: proxy.session })
  // A host that has told the driver to stop has forgotten its proxies already.
  const tell = async (told: Promise<unknown>): Promise<void> => {
    await told.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }
  return {
    ...data,
    proxyServiceCert: { watch: (until) => watch(hostService.WatchServerCredential, {}, until, readServerTrust) },
    configurator: {
      current: () => call(hostService.GetMeshConfig, {}).then(meshConfigView),
      watch: (until) => watch(hostService.WatchMeshConfig, {}, until, meshConfigView),
    },
    meshCatalog: {
      policies: {
        watch: (proxy, until) => watch(hostService.WatchPolicies, session(proxy), until, readPolicyUpdate),
      },
      parts: {
        get: async (hash) => JSON.parse((await call(hostService.GetPart, { hash })).part) as Part,
      },
    },
    certManager: {
      identity: (proxy, until, { key } = {}) =>
        watch(hostService.WatchIdentity, { ...session(proxy), ...(key && { key }) }, until, readCredential),
      trustBundles: (until) => watch(hostService.WatchTrustBundles, {}, until, (bundle): TrustBundle => bundle),
      credentials: (proxy, credential, until) =>
        watch(hostService.WatchCredential, { ...session(proxy), credential }, until, readCredential),
    },
    msgBroker: { subscribe: (topic, until) => watch(hostService.Subscribe, { topic }, until, readBrokerMessage) },
    proxies: {
      authenticate: async (certificate) => (await call(hostService.Authenticate, { certificate })) as ProxyRef,
      disconnected: (ended) => tell(call(hostService.Disconnected, { session: ended })),
      evictions: (until) => watch(hostService.WatchEvictions, {}, until, (eviction) => eviction as Eviction),
      report: (report) => tell(call(hostService.Report, report)),
      observe: (observation) => tell(call(hostService.Observe, observation)),
    },
    debugHandlers: {
      register: (path, handler) => {
        pages.set(path, handler)
        call(hostService.MountPage, { path }).catch((error: unknown) => {
          outbox.logger.warn({ path, reason: String(error) }, 'a debug page could not be mounted')
        })
      },
    },
    metrics: remoteMetrics(outbox),
    logger: outbox.logger,
    cancel,
    signal,
  }
}

async function* read<T, Item>(
  client: Client,
  method: Method<WatchRequest, Item>,
  request: Partial<WatchRequest>,
  signal: AbortSignal,
  valueOf: (item: Item) => T,
): AsyncGenerator<T, void, undefined> {
  try {
    for await (const item of pull(client, method, request, signal)) yield valueOf(item)
  } catch (error) {
    throw hostError(error)
  }
}

function meshConfigView(message: Message<'meshConfig'>): MeshConfigView {
  return message as MeshConfigView
}

function hostError(error: unknown): OsmError {
  return fromServiceError(error, 'the host of this driver')
}

function remoteMetrics(outbox: Outbox): DriverMetrics {
  const declared = (declaration: MetricDeclaration) => {
    outbox.declare(declaration)
    return (labels: Readonly<Record<string, string>>, value: number): void =>
      outbox.measure({ name: declaration.name, labels, value })
  }
  return {
    counter: (name, help, labels) => {
      const observe = declared({ kind: 'counter', name, help, labels, buckets: [] })
      return { inc: (values, by = 1) => observe(values, by) }
    },
    gauge: (name, help, labels) => ({ set: declared({ kind: 'gauge', name, help, labels, buckets: [] }) }),
    histogram: (name, help, labels, buckets) => ({
      observe: declared({ kind: 'histogram', name, help, labels, buckets }),
    }),
  }
}
