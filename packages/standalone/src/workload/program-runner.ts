import { setTimeout as pause } from 'node:timers/promises'

import { isOsmError, OsmError } from '@osm-ts/driver-api'
import type { Random } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { StandaloneErrorCode } from '../errors.js'
import { describeExit, startChild, type Child, type ChildExit } from '../process/child.js'
import { findExecutable, isFolder } from '../process/find-executable.js'
import { KeptRunning, type ProgramEnd } from '../process/kept-running.js'
import type { ProcessRegistry } from '../process/process-registry.js'
import { readLines } from '../process/read-lines.js'
import { untilListening } from './listening.js'
import type { WorkloadProgram } from './desired-instances.js'
import type { InstancePlacement } from './instance-placement.js'

const LIMITS = { firstMs: 500, lastMs: 30_000, steadyMs: 10_000 }
/** A program that listens on none of its ports by then takes traffic all the same: it may listen when it likes. */
const LISTENS_WITHIN_MS = 5000

/** What becomes of a program. */
export interface ProgramListener {
  readonly onStarted: () => void
  /** It listens on its ports, as far as can be told. */
  readonly onListening: () => void
  /** It has been running for long enough to be called well. */
  readonly onSteady: () => void
  /** `error`: it could not be started. */
  readonly onEnded: (end: {
    readonly detail: string
    readonly error?: OsmError
    readonly failures: number
    readonly isFinal: boolean
  }) => void
  readonly onLine: (stream: 'stdout' | 'stderr', line: string) => void
}

/** What a program is started with. */
export interface ProgramRunnerOptions {
  readonly program: WorkloadProgram
  readonly placement: InstancePlacement
  /** The whole environment; requested with every start. */
  readonly environment: () => Readonly<Record<string, string>>
  readonly restartPolicy: () => 'Always' | 'OnFailure' | 'Never'
  readonly processes: ProcessRegistry
  readonly listener: ProgramListener
  readonly random: Random
}

/** The process of one instance of a workload. */
export class ProgramRunner {
  readonly #options: ProgramRunnerOptions
  readonly #kept: KeptRunning
  #lastError = ''

  constructor(options: ProgramRunnerOptions) {
    this.#options = options
    this.#kept = new KeptRunning({
      start: () => this.#start(),
      onStarted: (child, signal) => this.#watch(child, signal),
      onEnded: (end) => this.#ended(end),
      restarts: (exit) => this.#restarts(exit),
      limits: LIMITS,
      random: options.random,
    })
  }

  get pid(): number | undefined {
    return this.#kept.child?.pid
  }

  /** Resolves when the program has ended for good. */
  run(): Promise<void> {
    return this.#kept.run()
  }

  /** Asks it to end; ends it by force after `graceMs`. */
  end(graceMs: number): Promise<void> {
    return this.#kept.end(async (child) => {
      child.signal('SIGTERM')
      await child.endWithin(graceMs)
    })
  }

  async #start(): Promise<Child> {
    const { program, placement, environment, processes } = this.#options
    const env = environment()
    const command = placement.program(executable(program, env.PATH))
    try {
      return await startChild({ ...command, cwd: program.cwd, env, stdout: 'pipe', stderr: 'pipe' }, processes)
    } catch (cause) {
      const reason = errorMessage(cause)
      throw commandError(`${program.command.join(' ')} can't be started: ${reason}`, cause)
    }
  }

  async #watch(child: Child, signal: AbortSignal): Promise<void> {
    const { listener, placement } = this.#options
    listener.onStarted()
    this.#lastError = ''
    if (child.stdout !== null) readLines(child.stdout, (line) => listener.onLine('stdout', line))
    if (child.stderr !== null) {
      readLines(child.stderr, (line) => {
        if (line.trim() !== '') this.#lastError = line.trim()
        listener.onLine('stderr', line)
      })
    }
    const ports = placement.ports.map(({ port, localPort }) => localPort ?? port)
    const { networkNamespace } = placement
    await untilListening(
      {
        pid: child.pid,
        ports,
        withinMs: LISTENS_WITHIN_MS,
        ...(networkNamespace !== undefined && { networkNamespace }),
      },
      signal,
    )
    if (signal.aborted) return
    listener.onListening()
    await pause(LIMITS.steadyMs, undefined, { signal }).then(listener.onSteady, () => undefined)
  }

  #ended({ exit, error, restartInMs, failures }: ProgramEnd): void {
    const again = restartInMs === undefined ? '' : `; it is started again in ${restartInMs / 1000} s`
    const said = this.#lastError === '' ? '' : `: ${this.#lastError}`
    const detail = exit === undefined ? describeError(error) : describeExit(exit) + said
    this.#options.listener.onEnded({
      detail: detail + again,
      ...(isOsmError(error) && { error }),
      failures,
      isFinal: restartInMs === undefined,
    })
  }

  #restarts(exit: ChildExit | undefined): boolean {
    const failed = exit === undefined || exit.code !== 0
    switch (this.#options.restartPolicy()) {
      case 'Always':
        return true
      case 'OnFailure':
        return failed
      case 'Never':
        // What did not start may be mended meanwhile.
        return exit === undefined
    }
  }
}

/** The program by its path, looked up where the workload would look it up: what is missing is told before anything is started. */
function executable(
  { command: [name = '', ...args], cwd }: WorkloadProgram,
  path: string | undefined,
): readonly [string, ...string[]] {
  if (!isFolder(cwd)) {
    const code: StandaloneErrorCode = 'OSM_STANDALONE_WORKING_DIR'
    throw new OsmError(code, `there is no folder ${cwd}; write a path relative to this file, or an absolute one`)
  }
  const file = findExecutable(name, cwd, path)
  if (file !== undefined) return [file, ...args]
  const where = name.includes('/') ? `in ${cwd}` : 'on PATH'
  throw commandError(`${JSON.stringify(name)} can't be started: there is no such program ${where} (ENOENT)`, undefined)
}

function commandError(message: string, cause: unknown): OsmError<StandaloneErrorCode> {
  return new OsmError('OSM_STANDALONE_COMMAND', message, { cause })
}

function describeError(error: unknown): string {
  return errorMessage(error)
}
