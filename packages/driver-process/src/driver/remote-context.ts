import type { Client } from '@grpc/grpc-js'
import type { ControllerContext, DebugHandlers, DriverMetrics, OsmError, ProxyRef } from '@osm-ts/driver-api'

import { callUnary, pull } from '../wire/calls.js'
import { fromServiceError } from '../wire/failure.js'
import { type Document, hostService, type Method, type WatchRequest } from '../wire/services.js'
import type { MetricDeclaration } from '../wire/telemetry.js'
import { Outbox } from './outbox.js'

/** The part of a context that is plain data. */
export type StartData = Pick<
  ControllerContext,
  'contract' | 'proxyServerAddress' | 'proxyServerPort' | 'osmNamespace' | 'driverConfig'
>

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

type WatchName = {
  [Name in keyof typeof hostService]: (typeof hostService)[Name] extends Method<WatchRequest, Document> ? Name : never
}[keyof typeof hostService]

/** The context of a host in another process. Its calls reject with the errors of the contract, as those of a host in the same process do. */
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
  const ask = async <T, Request>(method: Method<Request, Document>, request: Partial<Request>): Promise<T> =>
    // What the host says is what the contract says it is.
    JSON.parse((await call(method, request)).json) as T
  const watch = <T>(name: WatchName, request: Partial<WatchRequest>, until: AbortSignal): AsyncIterable<T> =>
    read<T>(client, hostService[name], request, until)
  const send = async <Response>(method: Method<Document, Response>, value: unknown): Promise<void> => {
    await call(method, { json: JSON.stringify(value) })
  }
  const outbox = new Outbox({
    declare: (list) => send(hostService.DeclareMetrics, list),
    measure: (list) => send(hostService.Measure, list),
    log: (list) => send(hostService.Log, list),
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
    proxyServiceCert: { watch: (until) => watch('WatchServerCredential', {}, until) },
    configurator: {
      current: () => ask(hostService.GetMeshConfig, {}),
      watch: (until) => watch('WatchMeshConfig', {}, until),
    },
    meshCatalog: {
      policies: { watch: (proxy, until) => watch('WatchPolicies', session(proxy), until) },
      parts: { get: (hash) => ask(hostService.GetPart, { hash }) },
    },
    certManager: {
      identity: (proxy, until) => watch('WatchIdentity', session(proxy), until),
      trustBundles: (until) => watch('WatchTrustBundles', {}, until),
      credentials: (proxy, ref, until) =>
        watch('WatchCredential', { ...session(proxy), credential: JSON.stringify(ref) }, until),
    },
    msgBroker: { subscribe: (topic, until) => watch('Subscribe', { topic }, until) },
    proxies: {
      authenticate: (certificate) => ask(hostService.Authenticate, { certificate }),
      disconnected: (ended) => tell(call(hostService.Disconnected, { session: ended })),
      evictions: (until) => watch('WatchEvictions', {}, until),
      report: (report) => tell(send(hostService.Report, report)),
      observe: (observation) => tell(send(hostService.Observe, observation)),
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

async function* read<T>(
  client: Client,
  method: Method<WatchRequest, Document>,
  request: Partial<WatchRequest>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  try {
    // What the host says is what the contract says it is.
    for await (const json of pull(client, method, request, signal)) yield JSON.parse(json) as T
  } catch (error) {
    throw hostError(error)
  }
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
