import { join } from 'node:path'
import type { Random } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { AddressTable } from '../addresses/virtual-addresses.js'
import { describeExit, startChild, type Child } from '../process/child.js'
import { KeptRunning, type ProgramEnd } from '../process/kept-running.js'
import { LogFile } from '../process/log-file.js'
import { MARK, type ProcessRegistry } from '../process/process-registry.js'
import { readLines } from '../process/read-lines.js'
import type { StatePaths } from '../state/state-folder.js'
import { writeFileAtomic } from '../state/write-file.js'
import type { MeshEvent } from '../types.js'
import {
  parseControllerReady,
  type ControllerConfig,
  type ControllerInput,
  type ControllerReady,
} from './controller-config.js'

const LIMITS = { firstMs: 200, lastMs: 10_000, steadyMs: 30_000 }
const GRACE_MS = 3000
const TRIM_LOG_MS = 10_000

/** What a controller process is started with. */
export interface ControllerProcessOptions {
  /** Bundle or module. */
  readonly program: string
  /** The program that runs it: Node.js. */
  readonly interpreter: string
  readonly config: Omit<ControllerConfig, 'virtualAddresses'>
  readonly addresses: AddressTable
  readonly paths: StatePaths
  readonly processes: ProcessRegistry
  readonly environment: Readonly<Record<string, string>>
  readonly emit: (event: MeshEvent) => void
  readonly random: Random
  readonly onReady: (ready: ControllerReady) => void
  /** It ended, or did not start; it is started again. */
  readonly onFailure: (message: string, failures: number) => void
}

/** The controller as a child process. When it dies it is started again at the same ports: sidecars find it where it was, and keep what they have meanwhile. */
export class ControllerProcess {
  readonly #options: ControllerProcessOptions
  readonly #log: LogFile
  readonly #kept: KeptRunning
  #ready: ControllerReady | undefined

  constructor(options: ControllerProcessOptions) {
    this.#options = options
    this.#log = new LogFile(join(options.paths.logs, 'controller.log'))
    this.#kept = new KeptRunning({
      start: () => this.#start(),
      onStarted: (child, signal) => this.#watch(child, signal),
      onEnded: (end) => this.#ended(end),
      restarts: () => true,
      limits: LIMITS,
      random: options.random,
    })
  }

  get pid(): number | undefined {
    return this.#kept.child?.pid
  }

  /** What it said when everything listened; undefined while it does not. */
  get ready(): ControllerReady | undefined {
    return this.#ready
  }

  /** Resolves when it has ended for good. */
  async run(): Promise<void> {
    const trimming = setInterval(() => this.#log.trim(), TRIM_LOG_MS)
    try {
      await this.#kept.run()
    } finally {
      clearInterval(trimming)
      this.#log.close()
    }
  }

  /** Ends it. */
  end(): Promise<void> {
    return this.#kept.end(async (child) => {
      child.signal('SIGTERM')
      await child.endWithin(GRACE_MS)
    })
  }

  async #start(): Promise<Child> {
    const { program, interpreter, config, addresses, paths, processes, environment } = this.#options
    const file = join(paths.run, 'controller.json')
    const content: ControllerConfig = { ...config, virtualAddresses: addresses.current() }
    writeFileAtomic(file, `${JSON.stringify(content)}\n`)
    const env = { ...environment, [MARK]: paths.folder }
    return startChild(
      { file: interpreter, args: [program, file], env, stdin: 'pipe', stdout: 'pipe', stderr: this.#log.fd },
      processes,
    )
  }

  async #watch(child: Child, signal: AbortSignal): Promise<void> {
    const { emit, onReady, addresses } = this.#options
    emit({ type: 'controller', state: 'started', pid: child.pid })
    const tell = (): void => {
      const input: ControllerInput = { virtualAddresses: addresses.current() }
      child.stdin?.write(`${JSON.stringify(input)}\n`)
    }
    // Whatever changed between the writing of the configuration and now is told right away.
    tell()
    const end = addresses.subscribe(tell)
    signal.addEventListener('abort', end, { once: true })
    if (child.stdout === null) return
    readLines(child.stdout, (line) => {
      const ready = parseControllerReady(line)
      if (ready === undefined) return
      this.#ready = ready
      emit({ type: 'controller', state: 'ready', detail: ready.debugUrl })
      onReady(ready)
    })
  }

  #ended({ exit, error, restartInMs, failures }: ProgramEnd): void {
    this.#ready = undefined
    const said = exit?.code === 0 ? '' : this.#log.lastLine()
    const how = exit === undefined ? describeError(error) : describeExit(exit)
    const detail = said === '' ? how : `${how}: ${said}`
    this.#options.emit({ type: 'controller', state: 'exited', detail })
    if (restartInMs !== undefined) this.#options.onFailure(`the controller ${detail}`, failures)
  }
}

function describeError(error: unknown): string {
  return `could not be started: ${errorMessage(error)}`
}
