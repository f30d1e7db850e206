import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

import type { ProcessRegistry } from './process-registry.js'

/** Output of a program that has ended is waited for this long. */
const OUTPUT_WITHIN_MS = 500

/** How to start a program. */
export interface ChildOptions {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  /** `pipe` gives {@link Child.stdin}; the child sees its end when this process ends, however that happens. */
  readonly stdin?: 'pipe'
  /** `pipe` gives the stream; a number is an open file. */
  readonly stdout: 'pipe' | number
  readonly stderr: 'pipe' | number
  /** Open files that the child gets as 3, 4, … */
  readonly files?: readonly number[]
}

/** How a program ended. */
export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A program that was started, with everything that it starts itself: the leader of its own session. */
export class Child {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Resolves when the program has ended; what it left running is ended then. */
  readonly exited: Promise<ChildExit>
  #isRunning = true

  constructor(child: ChildProcess, pid: number, processes: ProcessRegistry) {
    this.pid = pid
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = child.stderr
    child.stdin?.on('error', () => undefined)
    this.exited = new Promise((resolve) =>
      child.once('exit', (code, signal) => {
        this.#isRunning = false
        sendSignal(-pid, 'SIGKILL')
        processes.remove(pid)
        // What it said last is still to be read. Somebody who has left the session may hold the pipes forever.
        const settle = (): void => resolve({ code, signal })
        child.once('close', settle)
        setTimeout(settle, OUTPUT_WITHIN_MS).unref()
      }),
    )
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Sends a signal to the program and what it started. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) sendSignal(-this.pid, signal)
  }

  /** Resolves when the program has ended by itself; ends it by force after the time. */
  async endWithin(graceMs: number): Promise<ChildExit> {
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs)
    try {
      return await this.exited
    } finally {
      clearTimeout(timer)
    }
  }
}

/**
 * Starts a program, without a shell, away from the terminal: Ctrl-C reaches this process alone, which ends its children in order.
 *
 * @throws the error of the system if it can't be started
 */
export async function startChild(options: ChildOptions, processes: ProcessRegistry): Promise<Child> {
  const { file, args, cwd, env, stdin, stdout, stderr, files = [] } = options
  const child = spawn(file, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...env },
    detached: true,
    stdio: [stdin ?? 'ignore', stdout, stderr, ...files],
  })
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => {
      // A program that was spawned has a number.
      if (child.pid !== undefined) resolve(child.pid)
    })
  })
  child.on('error', () => undefined)
  const started = new Child(child, pid, processes)
  processes.add(pid)
  return started
}

/** How a program ended, for people. */
export function describeExit({ code, signal }: ChildExit): string {
  return signal === null ? `exited with code ${String(code)}` : `was ended by ${signal}`
}

/** Sends a signal to a process, or to the group that a negative number names. False if there is none (any more), or it belongs to others. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
