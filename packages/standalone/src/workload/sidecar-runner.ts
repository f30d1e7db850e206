import { setTimeout as pause } from 'node:timers/promises'

import type { Action, SidecarPatch } from '@osm-ts/driver-api'
import type { Random } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { describeExit, startChild, type Child } from '../process/child.js'
import { KeptRunning, type ProgramEnd } from '../process/kept-running.js'
import { LogFile } from '../process/log-file.js'
import type { ProcessRegistry } from '../process/process-registry.js'
import { resolveValue, type ReferenceValues } from './sidecar-files.js'
import type { LoopbackRequest, InstancePlacement } from './instance-placement.js'

const LIMITS = { firstMs: 250, lastMs: 15_000, steadyMs: 30_000 }
const TRIM_LOG_MS = 10_000
/** The first questions follow each other faster than the driver asks for: most sidecars are ready long before its period is over. */
const FIRST_PERIOD_MS = 50
/** A sidecar that is not ready by then is a problem; it is still waited for. */
const READY_WITHIN_MS = 60_000

/** What becomes of a sidecar. */
export interface SidecarListener {
  readonly onStarted: (pid: number) => void
  readonly onReady: () => void
  /** It runs, but it has not become ready in time. */
  readonly onLate: () => void
  readonly onExited: (detail: string, failures: number) => void
}

/** What a sidecar is started with. */
export interface SidecarRunnerOptions {
  readonly patch: SidecarPatch
  readonly binary: string
  readonly values: ReferenceValues
  readonly placement: Pick<InstancePlacement, 'sidecar' | 'request'>
  readonly environment: Readonly<Record<string, string>>
  readonly logPath: string
  readonly processes: ProcessRegistry
  readonly listener: SidecarListener
  /** Most milliseconds for which it is drained; as long as its driver says if absent. */
  readonly maxDrainMs?: number
  readonly random: Random
}

/** The sidecar process of one instance. */
export class SidecarRunner {
  readonly #options: SidecarRunnerOptions
  readonly #log: LogFile
  readonly #kept: KeptRunning

  constructor(options: SidecarRunnerOptions) {
    this.#options = options
    this.#log = new LogFile(options.logPath)
    this.#kept = new KeptRunning({
      start: () => this.#start(),
      onStarted: (child, signal) => this.#watch(child, signal),
      onEnded: (end) => options.listener.onExited(this.#describe(end), end.failures),
      restarts: () => true,
      limits: LIMITS,
      random: options.random,
    })
  }

  get pid(): number | undefined {
    return this.#kept.child?.pid
  }

  /** Resolves when the sidecar has ended for good. */
  async run(): Promise<void> {
    try {
      await this.#kept.run()
    } finally {
      this.#log.close()
    }
  }

  /** Has it accept nothing new, and gives clients the time to learn of it. */
  async drain(signal: AbortSignal): Promise<void> {
    const { patch, maxDrainMs = Infinity } = this.#options
    const { drain } = patch
    const child = this.#kept.child
    if (drain === undefined || child === undefined) return
    await this.#act(drain.action, child, signal)
    // Rejects when there is no more time for that.
    await pause(Math.min(drain.minMs, maxDrainMs), undefined, { signal }).catch(() => undefined)
  }

  /** Ends it; by force after `graceMs`. */
  end(graceMs: number): Promise<void> {
    return this.#kept.end(async (child) => {
      await this.#act(this.#options.patch.quit, child, AbortSignal.timeout(graceMs))
      await child.endWithin(graceMs)
    })
  }

  async #start(): Promise<Child> {
    const { patch, binary, values, placement, environment, processes } = this.#options
    const args = patch.sidecar.args.map((value) => resolveValue(value, values))
    const own = patch.sidecar.env.map(({ name, value }) => [name, resolveValue(value, values)] as const)
    const command = placement.sidecar([binary, ...args], patch.sidecar.security.runAsUser)
    const env = { ...environment, ...Object.fromEntries(own) }
    return startChild({ ...command, env, stdout: this.#log.fd, stderr: this.#log.fd }, processes)
  }

  async #watch({ pid }: Child, signal: AbortSignal): Promise<void> {
    this.#options.listener.onStarted(pid)
    await this.#untilReady(signal)
    while (!signal.aborted) {
      await pause(TRIM_LOG_MS, undefined, { signal }).catch(() => undefined)
      this.#log.trim()
    }
  }

  async #untilReady(signal: AbortSignal): Promise<void> {
    const { patch, placement, listener } = this.#options
    const { http, periodMs } = patch.ready
    const began = performance.now()
    let isLate = false
    let waitMs = Math.min(FIRST_PERIOD_MS, periodMs)
    while (!signal.aborted) {
      if (await answers(placement.request, http, signal)) {
        listener.onReady()
        return
      }
      if (!isLate && performance.now() - began > READY_WITHIN_MS) {
        isLate = true
        listener.onLate()
      }
      await pause(waitMs, undefined, { signal }).catch(() => undefined)
      waitMs = Math.min(waitMs * 2, periodMs)
    }
  }

  /** An action that fails is followed by the end of the process anyway. */
  async #act(action: Action, child: Child, signal: AbortSignal): Promise<void> {
    switch (action.kind) {
      case 'signal':
        child.signal(action.signal)
        return
      case 'http':
        await this.#options.placement.request(action, signal).catch(() => undefined)
        return
      case 'command':
        await this.#runCommand(
          action.command.map((value) => resolveValue(value, this.#options.values)),
          signal,
        )
    }
  }

  async #runCommand([file, ...args]: readonly string[], signal: AbortSignal): Promise<void> {
    if (file === undefined) return
    const { patch, placement, environment, processes } = this.#options
    const command = placement.sidecar([file, ...args], patch.sidecar.security.runAsUser)
    try {
      const child = await startChild(
        { ...command, env: environment, stdout: this.#log.fd, stderr: this.#log.fd },
        processes,
      )
      const kill = (): void => child.signal('SIGKILL')
      signal.addEventListener('abort', kill, { once: true })
      if (signal.aborted) kill()
      await child.exited
      signal.removeEventListener('abort', kill)
    } catch {
      // As with the other actions.
    }
  }

  #describe({ exit, error }: ProgramEnd): string {
    if (exit === undefined) return `${this.#options.binary} can't be started: ${errorMessage(error)}`
    const line = exit.code === 0 ? '' : this.#log.lastLine()
    return line === '' ? describeExit(exit) : `${describeExit(exit)}: ${line}`
  }
}

async function answers(
  request: LoopbackRequest,
  { port, path, status }: SidecarPatch['ready']['http'],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await request({ method: 'GET', port, path }, signal)) === status
  } catch {
    return false
  }
}
