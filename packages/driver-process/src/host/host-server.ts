import {
  type ControllerContext,
  type DebugRequest,
  type DebugResponse,
  OsmError,
  type ProxyRef,
  validateApplyReport,
  validateProxyObservation,
  type ApplyReport,
  type ProxyObservation,
} from '@osm-ts/driver-api'
import { canonicalJson, type PartHash } from '@osm-ts/driver-api/policy'

import { processError } from '../wire/failure.js'
import { answer, serveWatch } from '../wire/calls.js'
import { hostService, type Message } from '../wire/services.js'
import { serveSocket, type SocketServer } from '../wire/server.js'
import {
  brokerMessage,
  credentialMessage,
  policyUpdateMessage,
  readCredentialRef,
  readObservation,
  serverTrustMessage,
} from '../wire/values.js'
import type { RelayedTelemetry } from './relayed-telemetry.js'

/** What a {@link HostServer} passes on to. */
export interface HostServerOptions {
  readonly context: ControllerContext
  /** Path of the socket to serve on. */
  readonly socket: string
  readonly telemetry: RelayedTelemetry
  /** Shows a page of the driver; of whichever process serves it at the time. */
  readonly page: (request: DebugRequest) => Promise<DebugResponse>
  /** Paths that are mounted already: a process that was started again mounts them again. */
  readonly mounted: Set<string>
}

/** Serves the context of a started driver on a socket, and forgets the sessions of its proxies when it closes. */
export class HostServer {
  readonly #options: HostServerOptions
  readonly #sessions = new Map<string, ProxyRef>()
  readonly #watches = new Set<Promise<void>>()
  /** Serving, or about to: anyone who closes it while it starts waits for that. */
  #server: Promise<SocketServer> | undefined

  constructor(options: HostServerOptions) {
    this.#options = options
  }

  /** @throws OsmError with code `OSM_DRIVER_SOCKET` */
  async start(): Promise<void> {
    this.#server = serveSocket(this.#options.socket, hostService, this.#implementation())
    await this.#server
  }

  /** Ends every call. The proxies of the driver are no longer connected. */
  async close(): Promise<void> {
    // Why it could not start, start() has said.
    const server = await this.#server?.catch(() => undefined)
    await server?.close()
    await Promise.all(this.#watches)
    const sessions = [...this.#sessions.keys()]
    this.#sessions.clear()
    await Promise.all(sessions.map((session) => this.#options.context.proxies.disconnected(session)))
  }

  #implementation() {
    const { context, telemetry } = this.#options
    const { meshCatalog, certManager, proxies, configurator, msgBroker } = context
    return {
      ...this.#calls(),
      WatchServerCredential: this.#watch((_, signal) => context.proxyServiceCert.watch(signal), serverTrustMessage),
      WatchMeshConfig: this.#watch((_, signal) => configurator.watch(signal), asIs),
      WatchPolicies: this.#watch(
        ({ session }, signal) => meshCatalog.policies.watch(this.#proxy(session), signal),
        policyUpdateMessage,
      ),
      WatchIdentity: this.#watch(
        ({ session, key }, signal) =>
          certManager.identity(this.#proxy(session), signal, key === 'proxy' ? { key } : {}),
        credentialMessage,
      ),
      WatchCredential: this.#watch(
        ({ session, credential }, signal) =>
          certManager.credentials(this.#proxy(session), readCredentialRef(credential), signal),
        credentialMessage,
      ),
      WatchTrustBundles: this.#watch((_, signal) => certManager.trustBundles(signal), asIs),
      WatchEvictions: this.#watch((_, signal) => proxies.evictions(signal), asIs),
      Subscribe: this.#watch(({ topic }, signal) => msgBroker.subscribe(topic, signal), brokerMessage),
      DeclareMetrics: answer(async ({ metrics }: Message<'metricDeclarations'>) => {
        telemetry.declare(metrics)
        return {}
      }),
      Measure: answer(async ({ measurements }: Message<'measurements'>) => {
        telemetry.measure(measurements)
        return {}
      }),
      Log: answer(async ({ entries }: Message<'logEntries'>) => {
        telemetry.log(entries)
        return {}
      }),
    } satisfies Record<keyof typeof hostService, unknown>
  }

  #calls() {
    const { meshCatalog, proxies, configurator } = this.#options.context
    return {
      Authenticate: answer(async ({ certificate }: { readonly certificate: Uint8Array }) => {
        const proxy = await proxies.authenticate(certificate)
        this.#sessions.set(proxy.session, proxy)
        return proxy
      }),
      Disconnected: answer(async ({ session }: { readonly session: string }) => {
        if (this.#sessions.delete(session)) await proxies.disconnected(session)
        return {}
      }),
      Report: answer(async (report: Message<'applyReport'>) => {
        check('apply report', validateApplyReport(report))
        await proxies.report(report as ApplyReport) // that is what was checked
        return {}
      }),
      Observe: answer(async (message: Message<'proxyObservation'>) => {
        const observation = readObservation(message)
        check('observation', validateProxyObservation(observation))
        await proxies.observe(observation as ProxyObservation) // as above
        return {}
      }),
      // Whatever is no hash is not held.
      GetPart: answer(async ({ hash }: Message<'partRequest'>) => ({
        part: canonicalJson(await meshCatalog.parts.get(hash as PartHash)),
      })),
      GetMeshConfig: answer(async () => configurator.current()),
      MountPage: answer(async ({ path }: { readonly path: string }) => this.#mount(path)),
    }
  }

  #mount(path: string): Message<'empty'> {
    const { context, mounted, page } = this.#options
    if (!path.startsWith('/debug/'))
      throw processError('OSM_DRIVER_PROTOCOL', `${JSON.stringify(path)} is not a path below /debug/`)
    if (!mounted.has(path)) context.debugHandlers.register(path, page)
    mounted.add(path)
    return {}
  }

  #watch<Value, Item>(
    open: (request: Message<'watchRequest'>, signal: AbortSignal) => AsyncIterable<Value>,
    messageOf: (value: Value) => Partial<Item>,
  ) {
    return serveWatch(open, messageOf, (done) => {
      this.#watches.add(done)
      void done.finally(() => this.#watches.delete(done))
    })
  }

  /** The driver says which session it means; whose it is the host knows by itself. */
  #proxy(session: string): ProxyRef {
    const proxy = this.#sessions.get(session)
    if (proxy !== undefined) return proxy
    throw new OsmError('OSM_PROXY_EVICTED', `there is no session ${JSON.stringify(session)} of this driver`)
  }
}

/** @throws OsmError with code `OSM_DRIVER_PROTOCOL` */
function check(what: string, [issue]: ReturnType<typeof validateApplyReport>): void {
  if (issue !== undefined)
    throw processError('OSM_DRIVER_PROTOCOL', `${issue.pointer} of the ${what}: ${issue.message}`)
}

/** Of values that are their messages. */
function asIs<T>(value: T): T {
  return value
}
