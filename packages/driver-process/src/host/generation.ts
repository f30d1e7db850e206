import { join } from 'node:path'

import {
  type ControllerContext,
  type DebugRequest,
  type DebugResponse,
  type HealthProbes,
  isOsmError,
} from '@osm-ts/driver-api'

import type { DeclaredDriver } from './declaration.js'
import { DriverClient, type StartCall } from './driver-client.js'
import type { DriverEndpoint } from './endpoint.js'
import { HostServer, type HostServerOptions } from './host-server.js'
import type { DriverLimits } from './limits.js'
import { sleepUnlessAborted } from './child-process.js'

const UNANSWERED_PINGS = 2
/** How long a process whose socket is gone may take to end. */
const LAST_WORDS_MS = 2_000

/** What a start needs beside the process. */
export type StartPorts = Pick<HostServerOptions, 'telemetry' | 'mounted' | 'page'>

/** One process of a driver, from its first answer to its end. */
export class Generation {
  readonly client: DriverClient
  readonly declared: DeclaredDriver
  /** Resolves once, with why this process is of no use any more. */
  readonly failed: Promise<Error>
  readonly #endpoint: DriverEndpoint
  readonly #limits: DriverLimits
  readonly #over = new AbortController()
  #fail: (reason: Error) => void = () => undefined
  #server: HostServer | undefined
  #started: StartCall | undefined

  private constructor(endpoint: DriverEndpoint, client: DriverClient, declared: DeclaredDriver, limits: DriverLimits) {
    this.#endpoint = endpoint
    this.client = client
    this.declared = declared
    this.#limits = limits
    this.failed = new Promise((resolve) => {
      this.#fail = resolve
    })
    void endpoint.ended.then(this.#fail)
    void this.#watchPings()
  }

  /**
   * Asks a process what it is. Closes the endpoint if it gives no answer that will do.
   *
   * @param driver - its name for people, and the class that it must be of where that is another one; empty: any
   */
  static async open(
    { name, expected = name }: { readonly name: string; readonly expected?: string },
    endpoint: DriverEndpoint,
    limits: DriverLimits,
    signal: AbortSignal,
  ): Promise<Generation> {
    const client = new DriverClient(name, endpoint.socket, limits)
    try {
      // A process that ends says more about it than a call that is not answered.
      const declared = await Promise.race([client.describe(expected, signal), endpoint.ended.then(rethrow)])
      return new Generation(endpoint, client, declared, limits)
    } catch (error) {
      client.close()
      const reason = await reasonOf(error, endpoint, signal)
      await endpoint.close()
      throw reason
    }
  }

  /** Probes of the proxy control plane, while it runs. */
  get probes(): HealthProbes | undefined {
    return this.#started?.probes
  }

  /** Gives this process up. */
  fail(reason: unknown): void {
    void reasonOf(reason, this.#endpoint, this.#over.signal).then(this.#fail)
  }

  /** @throws OsmError as `DriverClient.start` does */
  async start(context: ControllerContext, ports: StartPorts, serial: number): Promise<void> {
    const socket = join(this.#endpoint.folder, `host-${serial}.sock`)
    this.#server = new HostServer({ context, socket, ...ports })
    await this.#server.start()
    const { contract, proxyServerAddress, proxyServerPort, osmNamespace, driverConfig } = context
    const data = { contract, proxyServerAddress, proxyServerPort, osmNamespace, driverConfig }
    const started = await Promise.race([
      this.client.start(data, socket, context.cancel.bind(context), context.signal),
      this.failed.then(rethrow),
    ]).catch(async (error: unknown) => rethrow(await reasonOf(error, this.#endpoint, this.#over.signal)))
    this.#started = started
    void started.ended.then((reason) => {
      if (!this.#over.signal.aborted && this.#started === started) this.fail(reason)
    })
  }

  /** Tells the driver to stop, and forgets its proxies. Its process continues. */
  async stop(): Promise<void> {
    const started = this.#started
    this.#started = undefined
    started?.stop()
    await this.#server?.close()
    this.#server = undefined
  }

  page(request: DebugRequest): Promise<DebugResponse> {
    return this.client.debug(request)
  }

  /** Ends everything of this process, and the process if it is ours. */
  async close(): Promise<void> {
    this.#over.abort()
    await this.stop()
    this.client.close()
    await this.#endpoint.close()
  }

  async #watchPings(): Promise<void> {
    const { signal } = this.#over
    const { pingIntervalMs } = this.#limits
    let unanswered = 0
    while (await sleepUnlessAborted(pingIntervalMs, signal)) {
      try {
        await this.client.ping(signal)
        unanswered = 0
      } catch (error) {
        unanswered += 1
        if (unanswered >= UNANSWERED_PINGS) this.fail(error)
      }
    }
  }
}

/** Why a process is of no use. One that can't be reached may be about to end, and says more when it has. */
async function reasonOf(error: unknown, endpoint: DriverEndpoint, signal: AbortSignal): Promise<Error> {
  const reason = error instanceof Error ? error : new Error(String(error))
  if (!isOsmError(error, 'OSM_DRIVER_UNAVAILABLE')) return reason
  return Promise.race([endpoint.ended, sleepUnlessAborted(LAST_WORDS_MS, signal).then(() => reason)])
}

function rethrow(reason: Error): never {
  throw reason
}
