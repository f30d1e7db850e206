import type {
  Capabilities,
  ControllerContext,
  Driver,
  InjectorContext,
  Logger,
  SidecarPatch,
  StartedDriver,
} from '@osm-ts/driver-api'
import { commandEndpoint, type CommandOptions, RemoteDriver } from '@osm-ts/driver-process'

const RESIDENT_MB = 512
const RESIDENT_INTERVAL_MS = 1_000

/** What a {@link CommandDriver} is run with. */
export type CommandDriverOptions = Pick<CommandOptions, 'name' | 'command' | 'folder' | 'environment'>

interface Process {
  readonly driver: RemoteDriver
  readonly end: AbortController
}

/**
 * A driver in another language, as the checks want to have one. A process of it serves one start at a time, so that each of two starts at once has its own; one whose start was
 * refused is not used again, as a host replaces it.
 */
export class CommandDriver implements Driver {
  readonly #options: CommandDriverOptions
  /** Declares and patches. */
  readonly #first: Process
  readonly #processes = new Set<Process>()
  /** Have been started, and stopped. */
  #idle: Process[] = []

  private constructor(options: CommandDriverOptions, first: Process) {
    this.#options = options
    this.#first = first
    this.#processes.add(first)
  }

  /** @throws OsmError as `RemoteDriver.connect` does */
  static async open(options: CommandDriverOptions): Promise<CommandDriver> {
    return new CommandDriver(options, await connect(options))
  }

  get name(): string {
    return this.#first.driver.name
  }

  get contract(): Driver['contract'] {
    return this.#first.driver.contract
  }

  get capabilities(): Capabilities {
    return this.#first.driver.capabilities
  }

  get configSchema(): Driver['configSchema'] {
    return this.#first.driver.configSchema
  }

  patch(context: InjectorContext): Promise<SidecarPatch> {
    return this.#first.driver.patch(context)
  }

  async start(context: ControllerContext): Promise<StartedDriver> {
    const process = this.#idle.pop() ?? (await this.#another())
    try {
      const started = await process.driver.start(context)
      const release = (): void => void this.#idle.push(process)
      context.signal.addEventListener('abort', release, { once: true })
      if (context.signal.aborted) release()
      return started
    } catch (error) {
      await this.#close(process)
      throw error
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#idle = []
    await Promise.all([...this.#processes].map((process) => this.#close(process)))
  }

  async #another(): Promise<Process> {
    const process = await connect(this.#options)
    this.#processes.add(process)
    return process
  }

  async #close(process: Process): Promise<void> {
    this.#processes.delete(process)
    process.end.abort()
    await process.driver.stopped
  }
}

async function connect({ name, ...options }: CommandDriverOptions): Promise<Process> {
  const end = new AbortController()
  const nothing = (): void => undefined
  const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const driver = await RemoteDriver.connect({
    name,
    // A package may call itself as it likes.
    expected: '',
    open: commandEndpoint({ ...options, name, residentMb: RESIDENT_MB, residentIntervalMs: RESIDENT_INTERVAL_MS }),
    logger,
    random: Math.random,
    signal: end.signal,
  })
  return { driver, end }
}
