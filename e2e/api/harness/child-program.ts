import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** How to start a program. */
export interface ChildProgramOptions {
  /** For messages. */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** File that takes both of its outputs. */
  readonly logFile: string
  readonly cwd?: string
}

const lastCharacters = 4000
const gracePeriodMs = 10_000

/** A program of the test run. It dies with this process, however that ends. */
export class ChildProgram {
  readonly name: string
  readonly logFile: string
  /** Resolves when it has ended: to `exit code <n>`, to the name of a signal, or to why it could not be started. */
  readonly ended: Promise<string>
  readonly #child: ChildProcess

  constructor({ name, file, args, env, logFile, cwd }: ChildProgramOptions) {
    this.name = name
    this.logFile = logFile
    const log = openSync(logFile, 'a')
    try {
      // setpriv becomes the program, so that signals reach it.
      this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', file, ...args], {
        env,
        stdio: ['ignore', log, log],
        ...(cwd !== undefined && { cwd }),
      })
    } finally {
      closeSync(log)
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        resolve(error.message)
      })
      this.#child.once('exit', (code, signal) => {
        resolve(signal ?? `exit code ${String(code)}`)
      })
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Exit code, or undefined while it runs and after a signal. */
  get exitCode(): number | undefined {
    return this.#child.exitCode ?? undefined
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Stops it until it is sent `SIGCONT`. Comes back when no thread of it runs any more: a busy machine takes its time for a signal. */
  async pause(): Promise<void> {
    this.signal('SIGSTOP')
    while (this.isRunning && !isStopped(this.pid)) await sleep(1)
  }

  /** Asks it to end, and makes it if it does not within ten seconds. */
  async stop(): Promise<void> {
    if (!this.isRunning) return
    const ask = (): void => {
      this.signal('SIGTERM')
      // A program that is paused handles no other signal.
      this.signal('SIGCONT')
    }
    await endProcess(this.#child, ask, gracePeriodMs)
  }

  /** Ends it at once, whatever it is doing. */
  async kill(): Promise<void> {
    if (this.isRunning) await endProcess(this.#child, 'SIGKILL')
  }

  /** All that it printed. */
  log(): string {
    return readFileSync(this.logFile, 'utf8')
  }

  /** The end of what it printed, for messages. */
  lastWords(): string {
    return this.log().slice(-lastCharacters)
  }
}

/**
 * Has a process end, and waits for it. One that has ended already is left alone.
 *
 * @param ask - has it end; by SIGTERM if absent
 * @param graceMs - after which it is killed; it is waited for without a bound if absent
 */
export async function endProcess(
  child: ChildProcess,
  ask: NodeJS.Signals | (() => void) = 'SIGTERM',
  graceMs?: number,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  if (typeof ask === 'string') child.kill(ask)
  else ask()
  const timer = graceMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), graceMs)
  await exited
  clearTimeout(timer)
}

/** True if every thread of a process is stopped, or the process is gone. */
function isStopped(pid: number | undefined): boolean {
  const tasks = `/proc/${String(pid)}/task`
  try {
    return readdirSync(tasks).every((task) => /^State:\s+[TtZX]/m.test(readFileSync(`${tasks}/${task}/status`, 'utf8')))
  } catch (error) {
    // A thread ended while it was looked at: the next look tells.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return false
    throw error
  }
}
