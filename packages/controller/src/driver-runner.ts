import type { DriverHost, DriverRegistry, MeshConfig, MeshConfigurator, ProcessLogger } from '@osm-ts/core'
import { allowedClasses, driverConfig } from '@osm-ts/core'
import { askProbe, type Driver, type HealthProbes } from '@osm-ts/driver-api'

/** What {@link DriverRunner} needs. */
export interface DriverRunnerOptions {
  readonly registry: DriverRegistry
  readonly host: DriverHost
  readonly configurator: MeshConfigurator
  readonly proxyServer: {
    readonly address: string
    readonly port: (sidecarClass: string, config: MeshConfig) => number
  }
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
}

interface Started {
  readonly driver: Driver
  readonly probes: HealthProbes
  cancelled: Error | undefined
}

/** Starts the proxy control planes of the classes that MeshConfig allows, and knows their health. */
export class DriverRunner {
  readonly #options: DriverRunnerOptions
  readonly #started = new Map<string, Started>()

  constructor(options: DriverRunnerOptions) {
    this.#options = options
  }

  /**
   * Starts the default class and every other allowed class that has a driver. A class other than the default that fails is logged and left out.
   *
   * @throws OsmError if the default class has no driver or its driver does not start
   */
  async start(): Promise<void> {
    const { registry, configurator, logger } = this.#options
    const config = configurator.current()
    await this.#startOne(registry.install(config.sidecar.sidecarClass))
    for (const name of allowedClasses(config)) {
      if (this.#started.has(name)) continue
      try {
        await this.#startOne(registry.get(name))
      } catch (error) {
        logger.warn(
          { driver: name, reason: error instanceof Error ? error.message : String(error) },
          'a driver that is not the default did not start',
        )
      }
    }
  }

  /** Classes whose proxy control plane was started, sorted. */
  classes(): readonly string[] {
    return [...this.#started.keys()].sort()
  }

  /** True if the proxy control plane of the default class answers its readiness probe. */
  async ready(): Promise<boolean> {
    return this.#ask('readiness')
  }

  /** True if the proxy control plane of the default class answers its liveness probe. */
  async alive(): Promise<boolean> {
    return this.#ask('liveness')
  }

  async #ask(which: keyof HealthProbes): Promise<boolean> {
    const { registry, signal } = this.#options
    const started = this.#started.get(registry.installed?.name.toLowerCase() ?? '')
    return started !== undefined && started.cancelled === undefined && askProbe(started.probes[which], signal)
  }

  async #startOne(driver: Driver): Promise<void> {
    const { registry, host, configurator, proxyServer, logger, signal } = this.#options
    const name = driver.name.toLowerCase()
    const own = new AbortController()
    const context = host.contextFor(driver, {
      address: proxyServer.address,
      port: proxyServer.port(name, configurator.current()),
      driverConfig: driverConfig(configurator.current(), name),
      logger: logger.child(`driver-${name}`),
      signal: AbortSignal.any([signal, own.signal]),
      onCancel: (reason) => {
        const started = this.#started.get(name)
        if (started !== undefined) started.cancelled = reason
        logger.error({ driver: name, reason: reason.message }, 'a driver has ended itself')
        own.abort(reason)
      },
    })
    const probes = await registry.start(context, name)
    this.#started.set(name, { driver, probes, cancelled: undefined })
    logger.info({ driver: name }, 'proxy control plane started')
  }
}
