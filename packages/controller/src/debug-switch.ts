import type { MeshConfigurator, Metrics, ProcessLogger } from '@osm-ts/core'
import { debugLimits, listen, type ListenAddress } from '@osm-ts/program'
import type { FastifyInstance } from 'fastify'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

/** What a {@link DebugSwitch} needs. */
export interface DebugSwitchOptions {
  readonly server: () => FastifyInstance
  readonly address: ListenAddress
  readonly configurator: MeshConfigurator
  /** `configured`: the server runs while MeshConfig says `enableDebugServer`. */
  readonly mode: 'always' | 'configured'
  readonly metrics: Metrics
  readonly logger: ProcessLogger
}

/** Starts and stops the debug server as MeshConfig says, one step after the other. */
export class DebugSwitch {
  readonly #options: DebugSwitchOptions
  #running: { readonly server: FastifyInstance; readonly port: number } | undefined
  /** The last of the steps; each begins when the one before has ended. */
  #steps: Promise<void> = Promise.resolve()
  #stopped: Promise<void> = Promise.resolve()

  constructor(options: DebugSwitchOptions) {
    this.#options = options
  }

  /** Port of the server; undefined while it does not run. */
  get port(): number | undefined {
    return this.#running?.port
  }

  /** Resolves when the server has stopped after the signal. */
  get stopped(): Promise<void> {
    return this.#stopped
  }

  /**
   * Brings the server to where it should be, and follows until the signal aborts.
   *
   * @throws OsmError with code `OSM_PROGRAM_LISTEN`
   */
  async start(signal: AbortSignal): Promise<void> {
    const { configurator, logger } = this.#options
    const leave = configurator.subscribe(({ before, after }) => {
      if (before.observability.enableDebugServer === after.observability.enableDebugServer) return
      this.#step(() => this.#turn(signal)).catch((error: unknown) => {
        // Debugging is not worth the mesh: the next switch tries again.
        logger.error({ reason: String(error) }, 'the debug server did not start')
      })
    })
    this.#stopped = untilAborted(signal).then(async () => {
      leave()
      await this.#step(() => this.#turn(signal))
    })
    await this.#step(() => this.#turn(signal))
  }

  #step(run: () => Promise<void>): Promise<void> {
    const step = this.#steps.then(run)
    this.#steps = step.catch(() => undefined)
    return step
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { server, address, configurator, mode, metrics, logger } = this.#options
    const wanted = mode === 'always' || configurator.current().observability.enableDebugServer
    if (signal.aborted || !wanted) {
      const running = this.#running
      this.#running = undefined
      if (running === undefined) return
      await running.server.close()
      logger.info({}, 'debug server stopped')
      return
    }
    if (this.#running !== undefined) return
    const made = server()
    const port = await listen(made, address, { name: 'debug', limits: debugLimits, metrics, logger })
    this.#running = { server: made, port }
    logger.info({ port }, 'debug server started')
  }
}
