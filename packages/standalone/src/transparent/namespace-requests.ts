import { isRecord } from '@osm-ts/driver-api/toolkit'

import { readLines } from '../process/read-lines.js'
import { startChild, type Child } from '../process/child.js'
import type { ProcessRegistry } from '../process/process-registry.js'
import type { LoopbackRequest, ProgramCommand } from '../workload/instance-placement.js'

/** A helper that no one has requested this long is ended. */
const IDLE_MS = 3000

/**
 * The helper: it asks on the loopback address of the network namespace that it runs in, and tells statuses. Node.js can't enter a network
 * namespace by itself, so that a process is needed inside.
 */
const helper = `
const http = require('node:http')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, port, path } = JSON.parse(line)
  const answer = (status) => process.stdout.write(JSON.stringify({ id, status }) + '\\n')
  const request = http.request({ host: '127.0.0.1', port, path, method, agent: false, timeout: 2000 }, (response) => {
    response.resume()
    answer(response.statusCode)
  })
  request.on('timeout', () => request.destroy(new Error('timeout')))
  request.on('error', () => answer(0))
  request.end()
}).on('close', () => process.exit())
`

/** Requests over the loopback of a network namespace. */
export class NamespaceRequests {
  readonly #command: (argv: readonly [string, ...string[]]) => ProgramCommand
  readonly #interpreter: string
  readonly #processes: ProcessRegistry
  readonly #environment: Readonly<Record<string, string>>
  readonly #waiting = new Map<number, (status: number) => void>()
  #child: Promise<Child> | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0

  constructor(options: {
    readonly command: (argv: readonly [string, ...string[]]) => ProgramCommand
    readonly interpreter: string
    readonly processes: ProcessRegistry
    readonly environment: Readonly<Record<string, string>>
  }) {
    this.#command = options.command
    this.#interpreter = options.interpreter
    this.#processes = options.processes
    this.#environment = options.environment
  }

  readonly request: LoopbackRequest = async (question, signal) => {
    signal.throwIfAborted()
    clearTimeout(this.#idle)
    const child = await (this.#child ??= this.#start())
    const id = (this.#lastId += 1)
    try {
      const status = await new Promise<number>((resolve, reject) => {
        this.#waiting.set(id, resolve)
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
        child.stdin?.write(`${JSON.stringify({ id, ...question })}\n`)
      })
      if (status === 0) throw new Error(`no answer on port ${question.port}`)
      return status
    } finally {
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) this.#endWhenIdle()
    }
  }

  /** Ends the helper. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    const child = await this.#child?.catch(() => undefined)
    child?.stdin?.end()
    await child?.endWithin(IDLE_MS)
  }

  async #start(): Promise<Child> {
    try {
      const command = this.#command([this.#interpreter, '-e', helper])
      // What it might say wrong would be about its end, which shows by itself.
      const child = await startChild(
        { ...command, env: this.#environment, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
        this.#processes,
      )
      child.stderr?.resume()
      if (child.stdout !== null) readLines(child.stdout, (line) => this.#answered(line))
      void child.exited.then(() => {
        this.#child = undefined
        for (const resolve of this.#waiting.values()) resolve(0)
      })
      return child
    } catch (error) {
      this.#child = undefined
      throw error
    }
  }

  #answered(line: string): void {
    const answer: unknown = JSON.parse(line)
    if (isRecord(answer) && typeof answer.id === 'number' && typeof answer.status === 'number')
      this.#waiting.get(answer.id)?.(answer.status)
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#child?.then((child) => child.stdin?.end()), IDLE_MS)
    this.#idle.unref()
  }
}
